"""One Ray cluster for fine-tuning, nightly batch inference and serving, on the cheapest suitable hardware."""

__version__ = "0.1.0"
