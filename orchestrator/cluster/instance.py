"""An emulated instance as a file: what it is, what it costs, when it lived and why it ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from orchestrator.cluster.process import RecordedProcess
from orchestrator.cluster.state import StateDir, write_atomically
from orchestrator.model.offer import Market

IDLE = "idle"
WITH_NOTICE = "interrupted-with-notice"
WITHOUT_NOTICE = "interrupted-without-notice"
DOWN = "down"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """What one node type launches; it is the `node_config` that the autoscaler hands to the provider.

    Prices are USD per hour of one instance.
    """

    offer: str
    instance_type: str
    accelerator: str | None
    market: Market
    region: str
    zone: str
    price_usd_per_hour: Decimal
    on_demand_usd_per_hour: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRecord:
    """One emulated instance. Times are ISO 8601 UTC, "" = not yet; `end_reason` as in `NodeInterval`.

    `tags` are the autoscaler's; `notice_at` and `deadline_at` are set once an interruption was announced.
    """

    instance_id: str
    cluster: str
    node_type: str
    spec: LaunchSpec
    resources: Mapping[str, float]
    labels: Mapping[str, str]
    tags: Mapping[str, str]
    ray_node_id: str
    launched_at: str
    ready_at: str = ""
    notice_at: str = ""
    deadline_at: str = ""
    terminated_at: str = ""
    end_reason: str = ""
    machine: RecordedProcess | None = None
    metadata_port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What an instance shall do. `notice_s` 0 = without notice; `reason` is the end reason of `terminate`."""

    kind: Literal["terminate", "interrupt", "rebalance"]
    reason: str = UNKNOWN
    notice_s: float = 0.0
    issued_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Launches of one node type that the cloud refused, newest last; kept until a launch succeeds again."""

    node_type: str
    offer: str
    reason: str
    first_at: str
    last_at: str
    attempts: int = field(default=1)


_RECORD = TypeAdapter(InstanceRecord)
_ORDER = TypeAdapter(Order)
_REFUSAL = TypeAdapter(Refusal)


def save_record(state: StateDir, record: InstanceRecord) -> None:
    """Writes the record atomically."""
    write_atomically(_path(state.instances, record.instance_id), _RECORD.dump_json(record, indent=2))


def load_record(state: StateDir, instance_id: str) -> InstanceRecord | None:
    """The record of that instance, or None."""
    try:
        return _RECORD.validate_json(_path(state.instances, instance_id).read_bytes())
    except FileNotFoundError:
        return None


def load_records(state: StateDir) -> tuple[InstanceRecord, ...]:
    """All records, oldest launch first."""
    found = (_RECORD.validate_json(content) for content in _contents(state.instances))
    return tuple(sorted(found, key=lambda record: (record.launched_at, record.instance_id)))


def save_order(state: StateDir, instance_id: str, order: Order) -> None:
    """Gives the instance an order; the newest order counts."""
    write_atomically(_path(state.orders, instance_id), _ORDER.dump_json(order))


def load_order(state: StateDir, instance_id: str) -> Order | None:
    """The newest order for that instance, or None."""
    try:
        return _ORDER.validate_json(_path(state.orders, instance_id).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def save_refusal(state: StateDir, refusal: Refusal) -> None:
    """Writes the refusal of a node type atomically."""
    write_atomically(_path(state.refusals, refusal.node_type), _REFUSAL.dump_json(refusal))


def load_refusal(state: StateDir, node_type: str) -> Refusal | None:
    """The refusal of a node type, or None."""
    try:
        return _REFUSAL.validate_json(_path(state.refusals, node_type).read_bytes())
    except FileNotFoundError:
        return None


def load_refusals(state: StateDir) -> tuple[Refusal, ...]:
    """Node types whose launches are being refused, sorted by name."""
    return tuple(
        sorted((_REFUSAL.validate_json(content) for content in _contents(state.refusals)), key=lambda r: r.node_type)
    )


def clear_refusal(state: StateDir, node_type: str) -> None:
    """A launch of that type succeeded."""
    _path(state.refusals, node_type).unlink(missing_ok=True)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _contents(folder: Path) -> Iterator[bytes]:
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            yield path.read_bytes()
        except FileNotFoundError:
            continue
