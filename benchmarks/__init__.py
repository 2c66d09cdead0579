"""Benchmarks: each module prints one JSON document; README.md says how to read them."""
