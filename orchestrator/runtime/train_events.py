"""Tells the controller what a training run reports. Runs in Ray Train's controller process, next to the driver."""

import time
from typing import Any

from ray.train import Checkpoint, UserCallback

from orchestrator.runtime.controller import Controller, Scalar

PROGRESS_S = 10.0
"""How often `progress` goes into the event log."""


class TrainEvents(UserCallback):
    """Turns reports of a `Session` into events; it outlives workers, so it knows what an interruption cost."""

    def __init__(self, url: str, token_path: str, run_id: str) -> None:
        self._url, self._token_path, self._run_id = url, token_path, run_id
        self._controller: Controller | None = None
        self._newest_step = 0
        self._newest_at: float | None = None
        self._progress_at = 0.0
        self._interrupted = False

    def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Checkpoint | None) -> None:
        """One report of all workers; rank 0 speaks for them."""
        told = metrics[0]
        event = told.get("event")
        if event is None:  # a user's own `ray.train.report`
            return
        kind, message, data = describe(told, self._newest_step, self._newest_at, time.time())
        if kind == "progress" and told["at"] - self._progress_at < PROGRESS_S:
            kind = ""
        if kind:
            self._progress_at = told["at"]
            self._report(kind, message, data)
        if event in {"started", "resumed"}:
            self._interrupted = False
        self._newest_step, self._newest_at = int(told["step"]), float(told["at"])

    def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
        """Workers died or raised; told once for each interruption, although Ray may call this for every poll."""
        if self._interrupted:
            return
        self._interrupted = True
        rank, error = min(worker_exceptions.items())
        reason = str(error).strip().splitlines()[-1:] or [""]
        message = f"worker {rank} was lost after step {self._newest_step}: {type(error).__name__}"
        self._report("interrupted", message, {"step": self._newest_step, "reason": reason[0][:300]})

    def _report(self, kind: str, message: str, data: dict[str, Scalar]) -> None:
        print(f"{kind}: {message}", flush=True)  # Ray shows it in the driver's log
        if self._controller is None:  # made here: this object is pickled on its way from the driver
            self._controller = Controller(self._url, self._token_path)
        self._controller.report(self._run_id, kind, message, **data)


def describe(
    told: dict[str, Any], newest_step: int, newest_at: float | None, now: float
) -> tuple[str, str, dict[str, Scalar]]:
    """Event kind, message and data of a report; `newest_step` and `newest_at` are of the report before it."""
    step, total = int(told["step"]), int(told["total_steps"])
    data: dict[str, Scalar] = {
        name: value for name, value in told.items() if isinstance(value, str | int | float | bool) and name not in _OWN
    }
    data |= {"step": step, "total_steps": total}
    place = f"step {step}/{total}"
    match told["event"]:
        case "resumed":
            if newest_at is not None:
                data["lost_steps"] = max(0, newest_step - step)
                data["lost_s"] = round(max(0.0, newest_at - told["saved_at"]), 3) if newest_step > step else 0.0
                data["down_s"] = round(max(0.0, told["at"] - newest_at), 3)
            cost = f", {data['lost_steps']} steps lost, {data['down_s']:.0f} s down" if newest_at is not None else ""
            return "resumed", f"resumed at {place}{cost}", data
        case "checkpoint":
            data["commit_s"] = round(max(0.0, now - told["began_at"]), 3)
            return "checkpoint", f"saved {place} ({told['reason']})", data
        case "preemption-notice":
            return "preemption-notice", f"a node goes away in {told['deadline_in_s']:.0f} s, at {place}", data
        case "finished":
            # The driver says `finished` once the result is published.
            return "progress", f"all steps done, {place}", data
        case "started":
            return "started", f"training starts, {total} steps", data
        case _:
            loss = f", loss {told['loss']:.3f}" if "loss" in told else ""
            return "progress", f"{place}{loss}", data


_OWN = frozenset({"event", "began_at", "saved_at", "at"})
