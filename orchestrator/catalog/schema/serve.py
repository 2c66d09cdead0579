"""A job of kind `serve`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from orchestrator.catalog.field_types import (
    Count,
    Fraction,
    Latency,
    Name,
    Positive,
    Rate,
    Section,
    Text,
    UsdPerDay,
    choice,
    reader,
    required,
    setting,
    words,
)
from orchestrator.catalog.route_text import condition
from orchestrator.catalog.schema.common import Engine, Job, LifecycleChoice, ModelRef, Quantization
from orchestrator.catalog.url import environment_name, url
from orchestrator.model.job import Lifecycle, Pattern, Task

Condition = Annotated[
    tuple[str, str, float | str],
    reader(condition),
    WithJsonSchema({"type": "string", "examples": ["prompt_words < 50", "header:x-tier == gold"]}),
]
Tokens = Annotated[float, Field(ge=0, le=1e8, allow_inf_nan=False)]
Replica = Annotated[int, Field(ge=0, le=10_000)]
EnvironmentName = Annotated[
    str, reader(environment_name), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})
]
Url = Annotated[str, reader(url), WithJsonSchema({"type": "string", "pattern": "^https?://"})]


class Rule(Section):
    """A routing rule; the first that matches decides."""

    when: Condition | None = setting(
        None,
        "`SUBJECT OPERATOR VALUE` with subject prompt_words, prompt_tokens, header:NAME, path or model "
        "and operator <, <=, >, >=, == or !=.",
        otherwise="always matches; the last rule must",
        alias="if",
    )
    to: Text = required("The part of `models` that answers.")
    max_tokens: Positive | None = setting(None, "Most tokens an answer may have.", otherwise="the engine's limit")


class Traffic(Section):
    """Expected load."""

    requests_per_second: Rate = setting(1.0, "Mean requests per second.", otherwise="`1`")
    peak: Rate | None = setting(
        None,
        "Requests per second at the peak.",
        otherwise="mean times 1 (constant), 2 (predictable), 3 (spiky) or 4 (unpredictable)",
    )
    prompt_tokens: Count | None = setting(
        None, "Mean tokens of a prompt.", otherwise="`256`, or half the context if shorter"
    )
    output_tokens: Tokens | None = setting(
        None, "Mean tokens of an answer.", otherwise="`128` (or what the context leaves) to generate, else `0`"
    )
    pattern: choice(Pattern) = setting(Pattern.CONSTANT, "Shape of the load over a day.")
    share: dict[Name, Fraction] = setting(
        {},
        "Share of requests each part takes, such as `{small: 0.6}`; parts not named share the rest.",
        otherwise="with two routed parts 0.6 for the first rule's, 0.4 for the other; else equal",
    )


class Slo(Section):
    """Latency objectives at the 99th percentile."""

    ttft_p99: Latency | None = setting(None, "Time to the first token.", otherwise="none")
    itl_p99: Latency | None = setting(None, "Time between two tokens.", otherwise="none")
    latency_p99: Latency | None = setting(None, "Time of a whole request.", otherwise="none")


class Replicas(Section):
    """Bounds on replicas of each part."""

    min: Replica = setting(1, "Replicas at least; 0 scales to zero.")
    max: Annotated[int, Field(ge=1, le=10_000)] | None = setting(
        None, "Replicas at most.", otherwise="`cluster.max_workers`, or `min` if larger"
    )
    warm: Replica = setting(0, "Replicas kept ready beyond what the load needs.")


class Speculative(Section):
    """Speculative decoding: guess several tokens, verify them at once."""

    method: words("ngram") = required("`ngram` guesses from the text so far.")


class Overflow(Section):
    """An OpenAI-compatible endpoint that takes what the own replicas cannot."""

    to: Url = required("Base URL of the endpoint.")
    key_env: EnvironmentName = setting("OVERFLOW_KEY", "Environment variable with the key; never the key itself.")
    max_spend: UsdPerDay = setting(
        "$10/day", "Spend at most so much there.", otherwise="`$10/day`", validate_default=True
    )


class Serve(Job):
    """A service, which does not end."""

    placeholders: ClassVar[dict[str, Any]] = {"models": {"unknown": "?"}}

    kind: Literal["serve"] = required("`serve`.")
    models: dict[Name, ModelRef] = required(
        "Part name → a card of `models`, or `run:NAME`; each part is placed by itself.", min_length=1
    )
    route: Annotated[tuple[Rule, ...], Field(strict=False, min_length=1)] | None = setting(
        None, "Rules that choose the part for requests to the model `auto`.", otherwise="the largest part takes all"
    )
    task: choice(Task) = setting(Task.GENERATE, "`generate` text, `embed` it or `classify` it.")
    traffic: Traffic = setting(Traffic(), "Expected load of the whole service.", otherwise="the defaults of its keys")
    slo: Slo = setting(Slo(), "Latency objectives.", otherwise="none")
    replicas: Replicas = setting(Replicas(), "Bounds on replicas.", otherwise="the defaults of its keys")
    quantization: Quantization | None = setting(None, "Quantised weights.", otherwise="none")
    speculative: Speculative | None = setting(None, "Speculative decoding.", otherwise="none")
    engine: Engine = setting(Engine(), "Engine settings.", otherwise="the defaults of its keys")
    overflow: Overflow | None = setting(
        None, "Where requests go that find no capacity.", otherwise="nowhere: they wait or fail"
    )
    sharing: bool = setting(
        True, "Small models may have a part of an accelerator beside those of other services, or of this one."
    )
    lifecycle: LifecycleChoice = setting(
        Lifecycle.AUTO, "`spot`, `on-demand`, or `auto`: spot with an on-demand base, or on-demand, as the SLO needs."
    )
