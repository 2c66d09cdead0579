"""YAML to model: strict schema, every fault at once with file:line:col."""

from orchestrator.catalog.fault import CatalogError, Fault
from orchestrator.catalog.inputs import missing_inputs
from orchestrator.catalog.read import load, load_text

__all__ = ["CatalogError", "Fault", "load", "load_text", "missing_inputs"]
