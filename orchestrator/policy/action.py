"""Decisions of the controller: small values, each with an id derived from its content, so that none is done twice.

`StartDriver`, `StopDriver` and `DeployServices` change the world and are recorded before that; the others are changes
of the ledger alone and happen in the very transaction that records them.
"""

from dataclasses import dataclass

from orchestrator.model.run import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """Open the run of a scheduled start (ISO 8601 UTC) with its first attempt planned."""

    job: str
    start: str
    late_s: float

    @property
    def id(self) -> str:
        """One per job and start."""
        return f"submit:{self.job}:{self.start}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipStart:
    """Let a scheduled start pass, for `reason`."""

    job: str
    start: str
    reason: str

    @property
    def id(self) -> str:
        """One per job and start."""
        return f"skip:{self.job}:{self.start}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Note that a job cannot go on yet, for `reason`; `key` tells apart what is waiting (a start, a deployment)."""

    job: str
    key: str
    reason: str

    @property
    def id(self) -> str:
        """One per thing that waits and reason."""
        return f"wait:{self.job}:{self.key}:{self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmit:
    """Plan another attempt after the driver of the previous one died (`died`) or failed; not before `not_before`."""

    run_id: str
    attempt: int
    died: bool
    reason: str
    not_before: str

    @property
    def id(self) -> str:
        """One per run and attempt."""
        return f"resubmit:{self.run_id}:{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveToNext:
    """Plan another attempt on `to_offer`, because capacity of `from_offer` did not come within `waited_s`."""

    run_id: str
    attempt: int
    from_offer: str
    to_offer: str
    waited_s: float

    @property
    def id(self) -> str:
        """One per run and attempt."""
        return f"move:{self.run_id}:{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameOffer:
    """Hold against an offer that a service's model got no capacity of it since `since`; it is then placed elsewhere."""

    job: str
    part: str
    offer: str
    since: str
    waited_s: float

    @property
    def id(self) -> str:
        """One per model, offer and wait."""
        return f"blame:{self.job}:{self.part}:{self.offer}:{self.since}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRun:
    """End a run in `state`, after the attempt with that number."""

    run_id: str
    attempt: int
    state: RunState
    reason: str

    @property
    def id(self) -> str:
        """One per run."""
        return f"close:{self.run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDriver:
    """Hand an attempt to Ray under `submission_id`."""

    run_id: str
    attempt: int
    submission_id: str

    @property
    def id(self) -> str:
        """One per run and attempt."""
        return f"start:{self.run_id}:{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDriver:
    """Stop the driver of an attempt that is over for us."""

    run_id: str
    attempt: int
    submission_id: str
    reason: str

    @property
    def id(self) -> str:
        """One per run and attempt."""
        return f"stop:{self.run_id}:{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployServices:
    """Hand Serve the wanted applications; `ordinal` counts deployments, so that a lost application can come back.

    `offers` says where each model is to run (job, part, offer).
    """

    wanted_hash: str
    ordinal: int
    offers: tuple[tuple[str, str, str], ...]
    reason: str

    @property
    def id(self) -> str:
        """One per content and ordinal."""
        return f"deploy:{self.wanted_hash}:{self.ordinal}"


LedgerAction = OpenRun | SkipStart | Wait | Resubmit | MoveToNext | BlameOffer | CloseRun
WorldAction = StartDriver | StopDriver | DeployServices
Action = LedgerAction | WorldAction
