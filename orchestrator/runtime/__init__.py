"""Thin adapters onto Ray Train, Data and Serve for drivers; they carry out, they do not decide."""
