"""A job of kind `batch`."""

from typing import Annotated, Literal

from pydantic import WithJsonSchema

from orchestrator.catalog.field_types import (
    Clock,
    Count,
    DatedLocation,
    Duration,
    Instances,
    Section,
    Size,
    Span,
    Text,
    WholeCount,
    reader,
    required,
    setting,
    words,
)
from orchestrator.catalog.schema.common import Engine, Job, LifecycleChoice, ModelRef, Place, Quantization
from orchestrator.catalog.template import template
from orchestrator.catalog.window import cron, timezone
from orchestrator.model.job import Lifecycle

Cron = Annotated[str, reader(cron), WithJsonSchema({"type": "string", "examples": ["0 2 * * *"]})]
Timezone = Annotated[str, reader(timezone), WithJsonSchema({"type": "string", "examples": ["America/New_York"]})]
Template = Annotated[
    str, reader(template), WithJsonSchema({"type": "string", "examples": ["Score this item: {{ text }}"]})
]


class Schedule(Section):
    """When the job starts by itself, and by when it must be done."""

    cron: Cron = required("Five fields: minute, hour, day of month, month, day of week.")
    timezone: Timezone = setting("UTC", "IANA time zone of `cron` and `done_by`.")
    done_by: Clock | None = setting(
        None, "Time of day by which a run must be done; over midnight for windows up to 16 h.", otherwise="no deadline"
    )
    overlap: words("skip", "queue") = setting(
        "skip",
        "What happens to a start while the run before still works: `skip` it, or `queue` it until that run ends.",
    )


class Batch(Job):
    """Batch inference: one output row for every input row."""

    kind: Literal["batch"] = required("`batch`.")
    model: ModelRef = required("A card of `models`, or `run:NAME` for the result of a train job.")
    schedule: Schedule | None = setting(None, "Starts by itself at these times.", otherwise="runs when submitted")
    input: DatedLocation | None = setting(
        None,
        "Parquet files (globs and `{date}` allowed).",
        otherwise="`<cluster.storage>/input/<job>/date={date}/*.parquet`",
    )
    output: DatedLocation | None = setting(
        None, "Folder of the results (`{date}` allowed).", otherwise="`<cluster.storage>/output/<job>/date={date}`"
    )
    id_column: Text = setting("id", "Column of `input` with a unique id; each id gets one output row.")
    prompt: Template = setting("{{ prompt }}", "Jinja template of the prompt; columns of `input` are its variables.")
    rows: WholeCount | None = setting(
        None, "Rows of one run, such as `5M`.", otherwise="10,000 are assumed in the plan; a run takes all of the input"
    )
    prompt_tokens: Count | None = setting(
        None, "Mean tokens of a prompt.", otherwise="`256`, or half the context if shorter"
    )
    output_tokens: Count | None = setting(
        None, "Mean tokens of an answer, and about the most it may have.", otherwise="`64`, or what the context leaves"
    )
    instances: Instances = setting(
        Span(), "Number of instances at most, or `{min, max}`.", otherwise="up to `cluster.max_workers`"
    )
    data_location: Place | None = setting(
        None,
        "Region or zone id that holds the input, such as `us-west-2` or `use1-az4`; what reading it costs is counted.",
        otherwise="beside the machines",
    )
    data_size: Size | None = setting(None, "Size of the input.", otherwise="not counted")
    lifecycle: LifecycleChoice = setting(Lifecycle.SPOT, "`spot`, `on-demand`, or `auto`: the window decides.")
    max_duration: Duration | None = setting(None, "A run is stopped after so long.", otherwise="no limit")
    quantization: Quantization | None = setting(None, "Quantised weights.", otherwise="none")
    engine: Engine = setting(Engine(), "Engine settings.", otherwise="the defaults of its keys")
