"""The price book: a dated snapshot of instance types and prices, and readers for other price files."""
