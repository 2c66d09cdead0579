"""The `cluster` section."""

import re
from typing import Annotated

from pydantic import Field, WithJsonSchema

from orchestrator.catalog.field_types import (
    Location,
    Percent,
    Positive,
    Section,
    UsdPerHour,
    choice,
    reader,
    required,
    setting,
)
from orchestrator.catalog.quantity import QuantityError, alternatives, shown
from orchestrator.catalog.suggest import nearest
from orchestrator.model.catalog import Provider
from orchestrator.model.offer import Market

DEFAULT_MAX_WORKERS = 64
FAMILIES = ("Standard", "G", "P", "Inf", "Trn", "DL", "F", "X", "HPC", "U")
"""EC2 quota families (Service Quotas, "Running On-Demand … instances"); Standard is A, C, D, H, I, M, R, T, Z."""

_MARKETS = (Market.SPOT.value, Market.ON_DEMAND.value)
QUOTA_KEYS = tuple(f"{family}-{market}" for family in FAMILIES for market in _MARKETS)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")


def _region(value: object) -> str:
    if not isinstance(value, str) or not _REGION.fullmatch(value):
        raise QuantityError(
            f"must be the name of an AWS region such as us-east-1, not {shown(value)}", _near_region(value)
        )
    return value


def _near_region(value: object) -> str | None:
    return nearest(value, ("us-east-1", "us-west-2", "eu-west-1")) if isinstance(value, str) else None


def _quota_key(value: object) -> str:
    if value in QUOTA_KEYS:
        return str(value)
    raise QuantityError(
        f"unknown quota; use FAMILY-MARKET with family {alternatives(FAMILIES)} and market {alternatives(_MARKETS)}",
        nearest(value, QUOTA_KEYS),
    )


Region = Annotated[
    str,
    reader(_region),
    WithJsonSchema({"type": "string", "pattern": f"^{_REGION.pattern}$", "examples": ["us-east-1"]}),
]
QuotaKey = Annotated[str, reader(_quota_key), WithJsonSchema({"type": "string", "enum": list(QUOTA_KEYS)})]
Vcpus = Annotated[int, Field(ge=0, le=10**7)]


class Engineer(Section):
    """What people's time costs while a run goes on."""

    cost: UsdPerHour = required("Somebody's time, such as `$180/h`.")
    share: Percent = setting(0.1, "Part of a run's time that somebody spends on it.", otherwise="`10%`")


class Cluster(Section):
    """The one Ray cluster, in one region."""

    provider: choice(Provider) = required(
        "Where nodes come from: `local` emulates instances on this machine, `aws` is EC2."
    )
    region: Region = required("The AWS region whose prices hold (with `local`, the one that is emulated).")
    storage: Location = required("Where checkpoints, models and results go: an s3:// URI or a local path.")
    budget: UsdPerHour | None = setting(
        None, "Cap on the peak price of everything that runs at once.", otherwise="no cap"
    )
    max_workers: Positive = setting(DEFAULT_MAX_WORKERS, "Cap on worker nodes.")
    quotas: dict[QuotaKey, Vcpus] = setting(
        {},
        "vCPUs you may run, by EC2 quota family and market, such as `G-spot: 192`.",
        otherwise="unlimited where absent",
    )
    engineer: Engineer | None = setting(
        None,
        "Counts people's time as a cost of runs, so that faster ones gain.",
        otherwise="not counted",
    )
