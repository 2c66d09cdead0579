"""A job of kind `train`."""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.catalog.field_types import (
    Duration,
    Instances,
    Location,
    Positive,
    Section,
    Size,
    Span,
    Text,
    WholeCount,
    choice,
    required,
    setting,
    words,
)
from orchestrator.catalog.schema.common import Job, LifecycleChoice, ModelRef, Place
from orchestrator.model.card import Dtype
from orchestrator.model.job import Lifecycle, Method

_NEVER_QUANTISED = "training never uses quantised numbers (quantise for serving instead); use bf16, fp16 or fp32"
Precision = choice(
    (Dtype.FP32, Dtype.BF16, Dtype.FP16),
    dict.fromkeys(("int8", "int4", "fp8", "fp4", "nf4", "INT8", "INT4", "FP8", "8bit", "4bit"), _NEVER_QUANTISED),
)
RETRAIN = ("never", "hourly", "daily", "weekly", "monthly", "quarterly", "yearly")
Epochs = Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)]
LearningRate = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class Checkpoint(Section):
    """When and where a run saves its state."""

    interval: Duration = setting(600.0, "Time between checkpoints.", otherwise="`10m`")
    keep: Positive = setting(3, "Newest checkpoints kept.")
    storage: Location | None = setting(None, "Where they go.", otherwise="`<cluster.storage>/checkpoints`")
    recovery: words("auto-restart", "manual") = setting(
        "auto-restart",
        "What follows an interruption: `auto-restart` resumes by itself, `manual` waits for a new submission.",
    )


class Train(Job):
    """A fine-tune, which ends."""

    kind: Literal["train"] = required("`train`.")
    model: ModelRef = required("A card of `models`, or `run:NAME` for the result of another train job.")
    method: choice(Method) = setting(Method.LORA, "`lora` trains an adapter and merges it, `full` trains all weights.")
    data: Location | None = setting(
        None,
        "Parquet files (globs allowed) with a prompt and a completion column.",
        otherwise="`<cluster.storage>/data/<job>/*.parquet`",
    )
    heldout: Location | None = setting(
        None,
        "Parquet files that are not trained on: accuracy is measured on them before and after.",
        otherwise="`heldout.parquet` beside `data`, if there is one",
    )
    tokens: WholeCount | None = setting(
        None,
        "Training tokens of one epoch, such as `40M`.",
        otherwise="1M are assumed in the plan; training takes all of the data",
    )
    epochs: Epochs = setting(1.0, "Passes over the data.", otherwise="`1`")
    precision: Precision = setting(Dtype.BF16, "Number format of computation; never quantised.")
    batch_size: Positive = setting(8, "Sequences per step on each accelerator.")
    gradient_accumulation: Positive = setting(1, "Steps whose gradients are summed before the weights change.")
    gradient_checkpointing: bool = setting(False, "Recompute activations: less memory, about a third more time.")
    sequence_length: Positive | None = setting(
        None, "Longest sequence, in tokens.", otherwise="2048, or `context` if shorter"
    )
    instances: Instances = setting(
        Span(min=1, max=1),
        "Number of instances, or `{min, max}`; one type, never mixed.",
        otherwise="`1`; without `max`: `min`",
    )
    data_location: Place | None = setting(
        None,
        "Region or zone id that holds the data, such as `us-west-2` or `use1-az4`; what reading it costs is counted.",
        otherwise="beside the machines",
    )
    data_size: Size | None = setting(None, "Size of that data.", otherwise="not counted")
    lifecycle: LifecycleChoice = setting(Lifecycle.AUTO, "`spot`, `on-demand`, or `auto`: the deadline decides.")
    max_duration: Duration | None = setting(None, "A run is stopped after so long.", otherwise="no limit")
    deadline: Duration | None = setting(None, "A run must be done so long after its submission.", otherwise="none")
    retrain: words(*RETRAIN) = setting("never", "How often the job is run again; for costs per month and for advice.")
    checkpoint: Checkpoint = setting(Checkpoint(), "Checkpoints.", otherwise="the defaults of its keys")
    learning_rate: LearningRate | None = setting(None, "Peak learning rate.", otherwise="2e-4 for lora, 3e-5 for full")
    lora_rank: Positive = setting(16, "Rank of the adapter; of no effect with `full`.")
    seed: Seed = setting(0, "Seed of every random choice of the run.")
    prompt_column: Text = setting("prompt", "Column of `data` that holds the prompt.")
    completion_column: Text = setting("completion", "Column of `data` that holds the wanted answer.")
