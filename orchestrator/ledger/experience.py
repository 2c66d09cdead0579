"""What the ledger's own runs teach about the estimates."""

from sqlalchemy import Connection

from orchestrator.estimate.calibration import Experience
from orchestrator.ledger import events
from orchestrator.model.event import Event

MEASURED = "measured"
"""Kind of the events that hold an experience; runs on emulated nodes never get one."""


def experience(connection: Connection) -> tuple[Experience, ...]:
    """All experience of the ledger, oldest first; events of another form (of an older version) are passed over."""
    found = (_experience(event) for event in events.of_kinds(connection, MEASURED))
    return tuple(one for one in found if one is not None)


def as_event(one: Experience, *, at: str, job: str, run_id: str) -> Event:
    """The event that keeps an experience."""
    faster = "as fast as" if one.speed_ratio == 1 else f"{one.speed_ratio:.2f} times as fast as"
    return Event(
        at=at,
        kind=MEASURED,
        message=f"ran {faster} estimated on {one.accelerator}",
        job=job,
        run_id=run_id,
        data=(
            ("accelerator", one.accelerator),
            ("family", one.family),
            ("speed_ratio", one.speed_ratio),
            ("task", one.task),
        ),
    )


def _experience(event: Event) -> Experience | None:
    data = dict(event.data)
    ratio = data.get("speed_ratio")
    names = [data.get(key) for key in ("family", "accelerator", "task")]
    if not isinstance(ratio, int | float) or ratio <= 0 or not all(isinstance(name, str) for name in names):
        return None
    return Experience(family=str(names[0]), accelerator=str(names[1]), task=str(names[2]), speed_ratio=float(ratio))
