"""What comes in over HTTP, checked; and how the nouns go out."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Scalar = str | FiniteFloat | int | bool
"""JSON's own: it has no word for infinity or "not a number"."""

MAX_CATALOG_CHARS = 1_000_000
MAX_MESSAGE_CHARS = 4_000
MAX_DATA_ITEMS = 50
MAX_BODY_BYTES = 4 * MAX_CATALOG_CHARS

REPORTED_KINDS = (
    "started",
    "progress",
    "checkpoint",
    "resumed",
    "preemption-notice",
    "interrupted",
    "finished",
    "failed",
)
"""Events that drivers report; others are the controller's own."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CatalogBody(_Body):
    """`PUT /v1/catalog`: the text, its name in messages, and the folder that its relative paths start from."""

    text: str = Field(max_length=MAX_CATALOG_CHARS)
    file: str = Field(default="catalog.yaml", max_length=1000)
    base_dir: str = Field(max_length=4000)


class RunBody(_Body):
    """`POST /v1/runs`: which job begins, with a catalog of its own or from the applied one. `kind`: what its driver
    runs."""

    job: str = Field(min_length=1, max_length=200)
    kind: Literal["train", "batch"] | None = None
    submission_id: str | None = Field(default=None, max_length=200)
    catalog_text: str | None = Field(default=None, max_length=MAX_CATALOG_CHARS)
    base_dir: str | None = Field(default=None, max_length=4000)


class EventBody(_Body):
    """`POST /v1/runs/{run_id}/events`: what a driver has to tell."""

    kind: Literal[REPORTED_KINDS]  # type: ignore[valid-type]
    message: str = Field(default="", max_length=MAX_MESSAGE_CHARS)
    data: dict[str, Scalar] = Field(default_factory=dict, max_length=MAX_DATA_ITEMS)
