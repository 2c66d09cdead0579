"""What applying a catalog changes, in words."""

from orchestrator.control.planning import Planned, choices
from orchestrator.model.job import Job


def changes(before: Planned | None, after: Planned) -> tuple[str, ...]:
    """One line per job that is added, removed, changed or placed elsewhere, by name."""
    old = {job.name: job for job in before.catalog.jobs} if before else {}
    new = {job.name: job for job in after.catalog.jobs}
    lines = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            lines.append(f"- {name}: removed")
        elif name not in old:
            lines.append(f"+ {name}: {new[name].kind.value} on {_places(after, new[name])}")
        else:
            lines.extend(_difference(before, after, old[name], new[name]))
    return tuple(lines)


def _difference(before: Planned | None, after: Planned, old: Job, new: Job) -> list[str]:
    was, now = _places(before, old) if before else "", _places(after, new)
    if was != now:
        return [f"~ {new.name}: {now} (was {was})"]
    return [] if old == new else [f"~ {new.name}: settings changed, still on {now}"]


def _places(planned: Planned, job: Job) -> str:
    found = planned.plan.job(job.name)
    if found is None:
        return "nothing"
    placements = [placement for _, placement in found.parts] or [found.placement]
    return ", ".join(options[0].offer if (options := choices(one)) else "nothing (unplaceable)" for one in placements)
