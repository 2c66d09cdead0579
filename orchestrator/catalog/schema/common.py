"""What every job may say, and the engine settings that batch and serve share."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from orchestrator.catalog.field_types import (
    Accelerators,
    Fraction,
    Percent,
    Positive,
    Section,
    Text,
    UsdPerHour,
    choice,
    required,
    setting,
)
from orchestrator.model.card import Dtype
from orchestrator.model.job import JobClass, Lifecycle

ModelRef = Text
Place = Annotated[str, Field(pattern=r"^[a-z]{2,5}[a-z0-9]*(-[a-z0-9]+)+$")]
"""A region or a zone id."""

Priority = Annotated[int, Field(ge=-(10**6), le=10**6)]
LifecycleChoice = choice(Lifecycle)


class Job(Section):
    """Keys of every kind of job."""

    placeholders: ClassVar[dict[str, Any]] = {"model": "?"}
    """Values that stand in for required keys that are missing or wrong, so that the other keys still get checked."""

    job_class: choice(JobClass) | None = setting(
        None,
        "Who waits when capacity or budget is short; most important first: serve, deadline, batch, best-effort.",
        otherwise="`serve` for serve, `batch` for batch; for train `deadline` with a deadline, else `batch`",
        alias="class",
    )
    priority: Priority = setting(0, "Order within the class; higher goes first.")
    accelerators: Accelerators = setting(
        (),
        "`any`, one accelerator type or a list of alternatives (`cpu` = machines without one). Never mixed in one run.",
        otherwise="`any`",
    )
    max_price: UsdPerHour | None = setting(
        None, "Highest price of one instance, such as `$3.20/h`.", otherwise="no limit"
    )


class Engine(Section):
    """Settings of the vLLM engine."""

    max_num_seqs: Positive | None = setting(None, "Sequences computed at once.", otherwise="placement's choice")
    gpu_memory_utilization: Fraction = setting(0.9, "Share of accelerator memory the engine may use.")
    max_model_len: Positive | None = setting(
        None, "Longest sequence served, in tokens.", otherwise="the model's `context`"
    )
    enforce_eager: bool = setting(False, "Run without CUDA graphs: faster start, slower tokens.")
    dtype: choice((Dtype.FP32, Dtype.BF16, Dtype.FP16)) | None = setting(
        None, "Number format of computation.", otherwise="the model's `dtype`"
    )
    tensor_parallel_size: Positive | None = setting(
        None, "Accelerators that share one copy of the model.", otherwise="placement's choice"
    )


class Quantization(Section):
    """Number format of the weights when serving."""

    weights: choice((Dtype.INT8, Dtype.INT4)) = required("`int8` or `int4`.")
    max_accuracy_drop: Percent | None = setting(
        None,
        "Largest loss of accuracy on your own data before the quantised model is refused.",
        otherwise="not checked",
    )
