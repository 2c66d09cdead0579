"""One piece of advice: a sentence, the figures behind it, and where every threshold comes from."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class Topic(StrEnum):
    """What advice is about; the words are stable, programs may rely on them."""

    COST_PER_RUN = "cost-per-successful-run"
    TRAINING_HARDWARE = "training-hardware"
    SERVING_TIER = "serving-tier"
    SERVERLESS = "serverless-or-own"
    QUANTISE = "quantise-first"
    CARD_SIZE = "card-size"
    DISTIL = "distil"
    EDGE = "edge"
    IDLE = "idle-capacity"
    BUY = "buy-or-rent"
    OVERHEADS = "transfer-and-overheads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A named amount: money as Decimal in USD, else a float, or words. `unit` is "" for words and ratios.

    `of` says what it belongs to where several things are compared (a machine, an accelerator); `how` is the arithmetic,
    "" where the figure is an input.
    """

    name: str
    value: Decimal | float | str
    unit: str = ""
    how: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What a figure is compared with; `source` is who says so, or the formula it follows from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """`job` is "" for advice about the whole catalog; `part` a model of a service with several. `confidence` says what
    the advice rests on where that is weak, else ""."""

    topic: Topic
    recommendation: str
    figures: tuple[Figure, ...]
    thresholds: tuple[Threshold, ...]
    job: str = ""
    part: str = ""
    confidence: str = ""
