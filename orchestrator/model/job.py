"""A catalog entry: TrainJob | BatchJob | ServeJob, all durations in seconds and all money in USD."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from orchestrator.model.card import Dtype, ModelCard


class Kind(StrEnum):
    """What a job is: work with an end (train, batch) or a service without one (serve)."""

    TRAIN = "train"
    BATCH = "batch"
    SERVE = "serve"


class JobClass(StrEnum):
    """Who goes first when capacity or budget is short, most important first."""

    SERVE = "serve"
    DEADLINE = "deadline"
    BATCH = "batch"
    BEST_EFFORT = "best-effort"


class Lifecycle(StrEnum):
    """Which market a job may use; AUTO lets cost, deadline and latency objective decide."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    AUTO = "auto"


class Method(StrEnum):
    """How a training job changes the weights."""

    LORA = "lora"
    FULL = "full"


class Pattern(StrEnum):
    """Shape of a service's traffic over the day."""

    CONSTANT = "constant"
    PREDICTABLE = "predictable"
    SPIKY = "spiky"
    UNPREDICTABLE = "unpredictable"


class Task(StrEnum):
    """What a served model does."""

    GENERATE = "generate"
    EMBED = "embed"
    CLASSIFY = "classify"


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every job has. `accelerators` empty = any; `cpu` in it allows CPU-only instances by name."""

    name: str
    job_class: JobClass
    priority: int = 0
    accelerators: tuple[str, ...] = ()
    lifecycle: Lifecycle = Lifecycle.AUTO
    max_price_usd_per_hour: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRule:
    """When and where a training run saves its state."""

    interval_s: float
    keep: int
    storage: str
    recovery: str = "auto-restart"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainJob(Common):
    """A fine-tune. `tokens` is per epoch, None = measured from the data; `min_instances..max_instances` nodes.

    `data_location` is the region or zone id that holds the data, of `data_gb` GB (1e9 bytes); None = where it runs.
    `heldout` is data on which accuracy is measured before and after, None = `heldout.parquet` beside `data`, if any.
    """

    model: ModelCard
    method: Method
    data: str
    tokens: float | None
    epochs: float
    precision: Dtype
    batch_size: int
    gradient_accumulation: int
    gradient_checkpointing: bool
    sequence_tokens: int
    min_instances: int
    max_instances: int
    max_duration_s: float | None
    deadline_s: float | None
    retrain: str
    checkpoint: CheckpointRule
    learning_rate: float
    lora_rank: int
    seed: int
    prompt_column: str
    completion_column: str
    heldout: str | None = None
    data_location: str | None = None
    data_gb: float | None = None

    @property
    def kind(self) -> Kind:
        """Always `train`."""
        return Kind.TRAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A nightly window: starts by `cron` in `timezone`; `done_by` is "HH:MM" local time, None = no deadline."""

    cron: str
    timezone: str
    done_by: str | None
    overlap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """vLLM settings that a catalog may set; None = the engine's or the placement's choice."""

    max_num_seqs: int | None = None
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    enforce_eager: bool = False
    dtype: Dtype | None = None
    tensor_parallel_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchJob(Common):
    """Batch inference: every input row with an id becomes one output row.

    `window_s` = seconds from the scheduled start to `done_by`. `data_location` and `data_gb` as in TrainJob.
    """

    model: ModelCard
    schedule: Schedule | None
    window_s: float | None
    input: str
    output: str
    id_column: str
    prompt: str
    rows: float | None
    prompt_tokens: float
    output_tokens: float
    max_instances: int
    max_duration_s: float | None
    quantization: Dtype | None
    engine: Engine
    max_accuracy_drop: float | None = None
    data_location: str | None = None
    data_gb: float | None = None

    @property
    def kind(self) -> Kind:
        """Always `batch`."""
        return Kind.BATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One routing rule; `when` is None for the rule that always matches. First match wins.

    `when` is `(subject, operator, value)` with subject `prompt_words`, `prompt_tokens`, `header:NAME`, `path` or
    `model`, operator one of `< <= > >= == !=`, value a number or a string.
    """

    when: tuple[str, str, float | str] | None
    to: str
    max_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Expected load of a service: mean and peak requests per second, mean tokens per request."""

    requests_per_second: float
    peak_requests_per_second: float
    prompt_tokens: float
    output_tokens: float
    pattern: Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Latency objective at the 99th percentile, in seconds; None = not set."""

    ttft_p99_s: float | None = None
    itl_p99_s: float | None = None
    latency_p99_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """Bounds on replicas, and how many are kept warm beyond the load."""

    min: int
    max: int
    warm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """An external OpenAI-compatible endpoint that takes what the own tiers cannot."""

    to: str
    key_env: str
    max_spend_usd_per_day: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeJob(Common):
    """A service. `models` maps part name → card; with several parts each part is placed on its own.

    `traffic_share` of a part is the assumed share of requests its routes take (they sum to 1). With `sharing` a part
    may be given a share of an accelerator, beside other small services.
    """

    models: tuple[tuple[str, ModelCard], ...]
    traffic_share: tuple[tuple[str, float], ...]
    routes: tuple[Route, ...]
    task: Task
    traffic: Traffic
    slo: Slo
    replicas: Replicas
    quantization: Dtype | None
    max_accuracy_drop: float | None
    speculative_method: str | None
    engine: Engine
    overflow: Overflow | None
    sharing: bool = True

    @property
    def kind(self) -> Kind:
        """Always `serve`."""
        return Kind.SERVE


Job = TrainJob | BatchJob | ServeJob
