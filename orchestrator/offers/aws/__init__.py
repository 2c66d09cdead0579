"""Prices read from AWS: thin calls with paging and retries, and pure functions from their answers to price rows."""
