"""YAML to model: strict schema, every fault at once with file:line:col."""
