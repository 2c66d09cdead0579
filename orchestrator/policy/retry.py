"""What to do after a driver ended: done, again later, or given up."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.model.instant import to_iso
from orchestrator.model.run import Attempt, AttemptState, RunState
from orchestrator.policy.action import CloseRun, Resubmit
from orchestrator.policy.observed import Driver, DriverStatus

BAD_INPUT_EXIT_CODE = 2
"""Drivers end with 2 when the user's input cannot be used: trying again changes nothing."""

SIGNAL_EXIT_CODES = frozenset({-9, -15, 137, 143})
"""SIGKILL and SIGTERM, as Python and as a shell report them: somebody else ended the driver."""

DRIVER_ERROR = "JOB_ENTRYPOINT_COMMAND_ERROR"
"""Ray's error type (2.60, `JobErrorType`) for a driver that exited by itself; the others are the cluster's doing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """How often to try again. Delays double from `base_s` up to `cap_s`, over deaths and failures separately."""

    max_failures: int = 2
    max_deaths: int = 10
    base_s: float = 5.0
    cap_s: float = 600.0


class Ending(StrEnum):
    """How a driver ended."""

    SUCCEEDED = "succeeded"
    STOPPED = "stopped"
    FAILED = "failed"
    BAD_INPUT = "bad-input"
    DIED = "died"


def ending(driver: Driver | None) -> Ending:
    """How the driver ended; None = Ray no longer knows it, so it went down with the head."""
    if driver is None:
        return Ending.DIED
    if driver.status is DriverStatus.SUCCEEDED:
        return Ending.SUCCEEDED
    if driver.status is DriverStatus.STOPPED:
        return Ending.STOPPED
    if driver.exit_code is None:
        return Ending.FAILED if driver.error_type == DRIVER_ERROR else Ending.DIED
    if driver.exit_code in SIGNAL_EXIT_CODES:
        return Ending.DIED
    return Ending.BAD_INPUT if driver.exit_code == BAD_INPUT_EXIT_CODE else Ending.FAILED


def after_end(
    attempts: Sequence[Attempt],
    driver: Driver | None,
    how: Ending,
    *,
    resubmittable: bool,
    rule: RetryRule,
    now: datetime,
) -> Resubmit | CloseRun:
    """What follows the end of the last of `attempts`."""
    last = attempts[-1]
    reason = last.reason if last.state.over else _reason(driver, how)
    if how is Ending.SUCCEEDED:
        return CloseRun(run_id=last.run_id, attempt=last.number, state=RunState.SUCCEEDED, reason=reason)
    if how is Ending.STOPPED:
        return CloseRun(run_id=last.run_id, attempt=last.number, state=RunState.STOPPED, reason=reason)
    died = how is Ending.DIED
    counted = AttemptState.DIED if died else AttemptState.FAILED
    before = sum(attempt.state is counted for attempt in attempts[:-1])
    allowed = rule.max_deaths if died else rule.max_failures
    if how is Ending.BAD_INPUT or not resubmittable or before >= allowed:
        tries = f" after {before + 1} attempts that {counted.value}" if before >= allowed else ""
        return CloseRun(run_id=last.run_id, attempt=last.number, state=RunState.FAILED, reason=reason + tries)
    wait = timedelta(seconds=min(rule.cap_s, rule.base_s * 2**before))
    return Resubmit(
        run_id=last.run_id, attempt=last.number + 1, died=died, reason=reason, not_before=to_iso(now + wait)
    )


def _reason(driver: Driver | None, how: Ending) -> str:
    match how:
        case Ending.SUCCEEDED:
            return "driver finished"
        case Ending.STOPPED:
            return "stopped by the user"
        case Ending.BAD_INPUT:
            return "driver refused its input (exit code 2)"
        case Ending.DIED if driver is None:
            return "driver lost with the head: Ray no longer knows it"
        case Ending.DIED | Ending.FAILED:
            assert driver is not None
            code = "" if driver.exit_code is None else f" (exit code {driver.exit_code})"
            what = driver.error_type if how is Ending.DIED and driver.exit_code is None else ""
            return f"driver {how.value}{code}{': ' + what if what else ''}"
