"""Where the demo plays: its cluster, its ledger, and the commands a user would type."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape

from orchestrator.cli.demo.story import Story
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.ledger import events
from orchestrator.ledger.database import Database
from orchestrator.model.error import OperationError
from orchestrator.model.event import Event

QUIET_KINDS = frozenset({"progress"})
"""Events that would flood the terminal; steps that want them ask for them."""


@dataclass(slots=True)
class Stage:
    """One running cluster and the story told about it. `seen` is the number of the newest event that was looked at."""

    story: Story
    state: StateDir
    cluster: ClusterState
    database: Database
    shell: Mapping[str, str]
    seen: int = 0
    history: list[Event] = field(default_factory=list)

    def submit(self, module: str, job: str) -> str:
        """`ray job submit --working-dir . -- python -m MODULE --job JOB`, as typed; returns the submission id."""
        submission_id = f"demo-{job}"
        ray = str(Path(sys.executable).with_name("ray"))
        typed = f"ray job submit --working-dir . -- python -m {module} --job {job}"
        self.story.say(f"[bold green]$[/bold green] {typed}")
        command = [ray, "job", "submit", "--no-wait", "--submission-id", submission_id, "--working-dir", "."]
        done = subprocess.run(
            [*command, "--", "python", "-m", module, "--job", job],
            env={**os.environ, **self.shell},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise OperationError(f"`{typed}` failed: {(done.stderr or done.stdout).strip()[-500:]}")
        return submission_id

    def news(self) -> tuple[Event, ...]:
        """Events that nobody has looked at yet, oldest first; they join the history."""
        with self.database.read() as connection:
            found = events.after(connection, self.seen)
        if found:
            self.seen = found[-1][0]
        fresh = tuple(event for _, event in found)
        self.history.extend(fresh)
        return fresh

    def wait_for(
        self, job: str, kinds: tuple[str, ...], deadline_s: float, *, accept: Callable[[Event], bool] = lambda _: True
    ) -> Event:
        """Tells what happens until an event of that job and one of those kinds comes; a failed run ends the wait."""

        def probe() -> Event | None:
            wanted = None
            for event in self.news():
                if event.kind not in QUIET_KINDS and event.job in (job, ""):
                    self.story.say(f"[dim]{event.kind}:[/dim] {escape(event.message)}")
                if event.job == job and event.kind == "failed" and "failed" not in kinds:
                    raise OperationError(f"{job} failed: {event.message}")
                if wanted is None and event.job == job and event.kind in kinds and accept(event):
                    wanted = event
            return wanted

        return self.story.wait(f"{job}: {' or '.join(kinds)}", probe, deadline_s)


def figure(event: Event, name: str) -> float:
    """A number that the event carries; OperationError when it does not."""
    value = dict(event.data).get(name)
    if not isinstance(value, int | float):
        raise OperationError(f"event {event.kind} of {event.job} has no figure {name!r}: {dict(event.data)}")
    return float(value)
