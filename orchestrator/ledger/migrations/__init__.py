"""Alembic's environment and the ledger's schema versions; run whenever a ledger is opened."""
