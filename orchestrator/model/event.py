"""An event: one line of what happened, for `events`, the ledger and the reports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Append-only fact. `at` is ISO 8601 UTC; empty strings mean "does not apply"; `data` values are JSON scalars."""

    at: str
    kind: str
    message: str
    job: str = ""
    run_id: str = ""
    node_id: str = ""
    data: tuple[tuple[str, str | float | int | bool], ...] = ()
