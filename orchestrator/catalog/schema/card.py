"""A card of the `models` section."""

from typing import Annotated

from pydantic import Field

from orchestrator.catalog.field_types import Count, Location, Section, choice, required, setting
from orchestrator.model.card import Dtype

_CONFIG = "read from config.json"
Layers = Annotated[int, Field(ge=1, le=10_000)]
Width = Annotated[int, Field(ge=1, le=10**6)]
Context = Annotated[int, Field(ge=1, le=10**8)]


class Card(Section):
    """A model: where it is, and the figures that memory and speed follow from."""

    source: Location = required("Hugging Face folder: an s3:// URI or a local path.")
    params: Count | None = setting(None, "Number of parameters, such as `8.03e9` or `8B`.", otherwise=_CONFIG)
    layers: Layers | None = setting(None, "Transformer layers.", otherwise=_CONFIG)
    hidden: Width | None = setting(None, "Width of the residual stream.", otherwise=_CONFIG)
    heads: Width | None = setting(None, "Attention heads.", otherwise=_CONFIG)
    kv_heads: Width | None = setting(None, "Key and value heads.", otherwise=f"{_CONFIG}, else `heads`")
    head_dim: Width | None = setting(None, "Width of a head.", otherwise=f"{_CONFIG}, else `hidden` / `heads`")
    context: Context | None = setting(None, "Longest sequence, in tokens.", otherwise=_CONFIG)
    dtype: choice(Dtype) | None = setting(
        None, "Number format of the stored weights.", otherwise=f"{_CONFIG}, else `bf16`"
    )
