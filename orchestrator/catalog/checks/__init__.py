"""Cross-checks: combinations of values that are each fine and together impossible."""
