"""Drivers for `ray job submit`, and the catalog."""
