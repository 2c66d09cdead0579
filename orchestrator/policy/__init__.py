"""Pure policies: what to do over time (routing, retries, moves to the next candidate)."""
