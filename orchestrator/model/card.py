"""A model card: the architecture figures that memory and throughput estimates need."""

from dataclasses import dataclass
from enum import StrEnum


class Dtype(StrEnum):
    """Number format of weights or activations."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def bytes_per_value(self) -> float:
        """Bytes one value takes, without quantisation scales (fp32 4, bf16 and fp16 2, int8 1, int4 0.5)."""
        return _BYTES_PER_VALUE[self]


_BYTES_PER_VALUE = {Dtype.FP32: 4.0, Dtype.BF16: 2.0, Dtype.FP16: 2.0, Dtype.INT8: 1.0, Dtype.INT4: 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """A decoder or encoder transformer; sizes as its config.json states them.

    `source` is an absolute path or a URI of a Hugging Face folder; for a `run:NAME` model it is that
    run's published result and `run` is NAME (the figures are then those of the run's base model).
    """

    name: str
    source: str
    params: float
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    context_tokens: int
    dtype: Dtype
    run: str | None = None
