"""Makes a torch training loop survive interruptions. Three calls do it:

    session = Session(interval_s=600, total_steps=1000, model=model, optimizer=optimizer, order=order)
    session.restore()                                      # 1. continue where the last attempt stopped
    while session.step < session.total_steps:
        loss = train_one_step(order.take(batch_size))
        session.after_step(tokens=..., loss=loss)          # 2. saves when the interval or a notice asks for it
    return session.done(accuracy=...)                      # 3. the last word

On an interruption notice the session saves at once and the loop goes on; shortly before the deadline it saves a last
time and then waits for the node to go, so that no step is done twice. `docs/training.md` shows a whole loop.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Any

from orchestrator.runtime import snapshot
from orchestrator.runtime.link import Link, Notice, RayLink

logger = logging.getLogger(__name__)

POLL_S = 1.0
"""How often the workers look for a notice together; EC2 gives two minutes."""

PROGRESS_S = 2.0
"""How often metrics are reported."""

UNSAID_DEADLINE_S = 120.0
"""Ray 2.60 waits so long when a drain has no deadline (`DEFAULT_PREEMPTION_DEADLINE_S`)."""

PATIENCE_S = 60.0
"""How long past its deadline a node is waited for before training goes on."""


class Due(IntFlag):
    """What rank 0 wants all workers to do after a step."""

    NOTHING = 0
    POLL = 1
    PROGRESS = 2
    SAVE = 4
    LAST_SAVE = 8


@dataclass(slots=True)
class Pace:
    """What has been measured since the last report. Times are seconds."""

    since: float
    steps: int = 0
    tokens: int = 0
    last_step_at: float = 0.0
    slow_step_s: float = 0.0
    slow_save_s: float = 0.0

    def took(self, now: float, tokens: int) -> None:
        """Counts a step. `slow_step_s` is the longest of late: a maximum that fades by a tenth with every step."""
        self.steps += 1
        self.tokens += tokens
        self.slow_step_s = max(0.9 * self.slow_step_s, now - self.last_step_at)

    def metrics(self, now: float) -> dict[str, float]:
        """Mean step time and tokens per second of the window; nothing for an empty one."""
        elapsed_s = now - self.since
        if not self.steps or elapsed_s <= 0:
            return {}
        return {"step_time_s": elapsed_s / self.steps, "tokens_per_s": self.tokens / elapsed_s}

    def restart(self, now: float) -> None:
        """Begins a new window."""
        self.since, self.steps, self.tokens = now, 0, 0


class Session:
    """One worker's part in a run. `step` counts optimizer steps over all attempts; `facts` survive interruptions too.

    `parts` are saved and restored by name: all that has `state_dict` and `load_state_dict`. The random generators of
    Python, NumPy and torch are saved as well.
    """

    def __init__(
        self,
        *,
        interval_s: float,
        total_steps: int,
        link: Link | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        **parts: snapshot.Part,
    ) -> None:
        self.interval_s = interval_s
        self.total_steps = total_steps
        self.step = 0
        self.facts: dict[str, float] = {}
        self.link = link or RayLink()
        self._clock, self._sleep = clock, sleep
        self._parts = parts
        now = clock()
        self._pace = Pace(since=now, last_step_at=now)
        self._saved_at = self._polled_at = self._reported_at = now
        self._notice: Notice | None = None
        self._deadline_at: float | None = None
        self._metrics: dict[str, float] = {}

    def restore(self, **notes: str | float) -> int:
        """Goes back to the newest committed checkpoint, if there is one, and returns the step to continue from.

        `notes` go into the event that says so.
        """
        notes |= {"node_id": self.link.node_id}
        with self.link.snapshot() as folder:
            if folder is None:
                self._tell("started", **notes)
            else:
                self.facts = snapshot.load(folder, self.link.rank, self._parts)
                self.step = int(self.facts.pop("step"))
                self._metrics = self.facts.pop("metrics")
                self._tell("resumed", saved_at=self.facts.pop("saved_at"), **notes)
        now = self._clock()
        self._saved_at = self._polled_at = self._reported_at = now
        self._pace = Pace(since=now, last_step_at=now)
        return self.step

    def after_step(self, *, tokens: int = 0, **metrics: float) -> None:
        """To be called after every optimizer step by every worker; `tokens` are those of all workers in this step."""
        now = self._clock()
        self.step += 1
        self._metrics = metrics
        self._pace.took(now, tokens)
        due = Due(self.link.agree(self._wish(now)))
        noticed = Due.POLL in due and self._poll(now)
        if Due.LAST_SAVE in due:
            self._save("deadline")
            self._wait_for_the_end()
        elif noticed:
            self._save("notice")
            if Due.LAST_SAVE in Due(self.link.agree(self._wish(self._clock()))):
                self._wait_for_the_end()
        elif Due.SAVE in due:
            self._save("last step" if self.step == self.total_steps else "interval")
        elif Due.PROGRESS in due:
            self._tell("progress")
        self._pace.last_step_at = self._clock()

    def done(self, **metrics: float) -> dict[str, Any]:
        """Reports the end. Return its value from the training function: the driver gets it as the run's metrics."""
        self._metrics = {**self._metrics, **self.facts, **metrics}
        self._tell("finished")
        return {"step": self.step, **self._metrics}

    def _wish(self, now: float) -> Due:
        wish = Due.NOTHING
        if now - self._polled_at >= POLL_S:
            wish |= Due.POLL
        if now - self._reported_at >= PROGRESS_S:
            wish |= Due.PROGRESS
        if now - self._saved_at >= self.interval_s or self.step == self.total_steps:
            wish |= Due.SAVE
        if self._deadline_at is not None and now + self._reserve_s() >= self._deadline_at:
            wish |= Due.LAST_SAVE
        return wish

    def _reserve_s(self) -> float:
        """Time to keep before a deadline: one more step, a save (twice as slow as any so far), and a second."""
        return self._pace.slow_step_s + 2 * self._pace.slow_save_s + 1.0

    def _poll(self, now: float) -> bool:
        """Looks for a notice; True when there is a new one."""
        self._polled_at = now
        notice = self.link.notice()
        if notice is None or notice == self._notice:
            return False
        self._notice = notice
        self._deadline_at = notice.deadline_at_s or now + UNSAID_DEADLINE_S
        self._tell("preemption-notice", deadline_in_s=self._deadline_at - now)
        return True

    def _save(self, reason: str) -> None:
        began_at = self._clock()
        facts = {**self.facts, "step": self.step, "saved_at": began_at, "metrics": self._metrics}
        with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
            snapshot.save(Path(folder), self.link.rank, self._parts, facts)
            self._tell("checkpoint", Path(folder), reason=reason, began_at=began_at)
        self._saved_at = self._clock()
        self._pace.slow_save_s = max(self._pace.slow_save_s, self._saved_at - began_at)

    def _tell(self, event: str, folder: Path | None = None, **data: Any) -> None:
        now = self._clock()
        metrics = {**self._metrics, **self._pace.metrics(now), **data}
        place = {"event": event, "step": self.step, "total_steps": self.total_steps, "at": now}
        self.link.report({**metrics, **place}, folder)
        self._reported_at = self._clock()
        self._pace.restart(self._reported_at)

    def _wait_for_the_end(self) -> None:
        """Every further step would be lost. Ray restarts the workers at the deadline, which ends this wait."""
        assert self._deadline_at is not None
        logger.info("saved at step %d; waiting for the node to go", self.step)
        while self._clock() < self._deadline_at + PATIENCE_S:
            self._sleep(0.2)
        logger.warning("the node is still here %d s after its deadline; training goes on", PATIENCE_S)
        self._deadline_at = None
