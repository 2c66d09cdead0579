"""The whole catalog, version 1."""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.catalog.field_types import Name, Section, required, setting
from orchestrator.catalog.schema.batch import Batch
from orchestrator.catalog.schema.card import Card
from orchestrator.catalog.schema.cluster import Cluster
from orchestrator.catalog.schema.serve import Serve
from orchestrator.catalog.schema.train import Train

VERSION = 1
JOBS = {"train": Train, "batch": Batch, "serve": Serve}
AnyJob = Annotated[Train | Batch | Serve, Field(discriminator="kind")]


class Document(Section):
    """A job catalog for the orchestrator."""

    version: Literal[1] = setting(VERSION, "Version of this schema.")
    cluster: Cluster = required("The cluster.")
    models: dict[Name, Card] = setting({}, "Model cards by name.", otherwise="none")
    jobs: dict[Name, AnyJob] = setting({}, "Jobs by name.", otherwise="none")
