"""Faults that the local cloud emulates, set at run time through `<state>/cloud/faults.json`."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.cluster.instance import LaunchSpec
from orchestrator.cluster.state import StateDir, write_atomically

LAUNCH_DELAY_S = 2.0
"""Default time from a launch request to a booting machine. EC2 needs tens of seconds; a demo should not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StockOut:
    """No capacity for offers that match every field that is set ("" matches any)."""

    offer: str = ""
    instance_type: str = ""
    zone: str = ""
    market: str = ""

    def hits(self, spec: LaunchSpec) -> bool:
        """Whether launches of that spec are refused."""
        wanted = (self.offer, self.instance_type, self.zone, self.market)
        actual = (spec.offer, spec.instance_type, spec.zone, spec.market.value)
        return any(wanted) and all(want in ("", got) for want, got in zip(wanted, actual, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """`launch_delay_s` before a machine boots, `boot_delay_s` more before Ray starts on it; both in seconds."""

    launch_delay_s: float = LAUNCH_DELAY_S
    boot_delay_s: float = 0.0
    stockouts: tuple[StockOut, ...] = ()

    def stockout(self, spec: LaunchSpec) -> StockOut | None:
        """The stock-out that refuses a launch of that spec, or None."""
        return next((stockout for stockout in self.stockouts if stockout.hits(spec)), None)


_FAULTS = TypeAdapter(Faults)


def load_faults(state: StateDir) -> Faults:
    """What is being emulated now; without a file, only the default launch delay."""
    try:
        return _FAULTS.validate_json(state.faults.read_bytes())
    except FileNotFoundError:
        return Faults()


def change_faults(state: StateDir, change: Callable[[Faults], Faults]) -> Faults:
    """Applies `change` under a lock, so that two callers do not lose each other's fault."""
    with locked(state.cloud / "faults.lock"):
        changed = change(load_faults(state))
        write_atomically(state.faults, _FAULTS.dump_json(changed, indent=2))
    return changed


def with_stockout(faults: Faults, stockout: StockOut) -> Faults:
    """The same faults plus one stock-out; adding it twice changes nothing."""
    return replace(faults, stockouts=tuple(dict.fromkeys((*faults.stockouts, stockout))))


def without_stockout(faults: Faults, stockout: StockOut) -> Faults:
    """The same faults less one stock-out."""
    return replace(faults, stockouts=tuple(other for other in faults.stockouts if other != stockout))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds an advisory lock on `path`; the operating system drops it if the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
