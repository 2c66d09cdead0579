"""The catalog's schema, one file per section: what may be written, with units and defaults."""
