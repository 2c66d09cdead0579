"""Rules of thumb that sort out hardware larger than the work needs, where something of the right size is cheaper.

They never cost anything: a candidate is ruled out only if one that breaks no rule is cheaper, and the chosen one stays.
What they do is say why: a list of fallbacks with eight A100s behind one L4 helps nobody. Naming accelerators in the
catalog switches the rule about their class off.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.job import BatchJob, ServeJob, TrainJob
from orchestrator.placement.batch import ASSUMED_ROWS
from orchestrator.placement.candidate import Candidates
from orchestrator.placement.inference import MAX_NUM_SEQS
from orchestrator.placement.refusal import Refusal
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.work import Work

SINGLE_PARAMS = 3e9
"""Below, one accelerator trains fast enough (practitioner reports, 2024-2026)."""

CLASSES_GIB = ((10e9, 24.5, "24 GB class (T4, L4, A10G)"), (70e9, 48.5, "48 GB class (L40S)"))
"""Largest accelerator that serving needs below so many parameters: 24 GB below 10B, 48 GB below 70B, sharded or
quantised before it is upgraded; A100 and up only from 70B on (practitioner reports, 2024-2026)."""


def one_accelerator_is_enough(work: Work, shelf: Shelf, found: Candidates) -> Verdict | None:
    """Training of small models needs no second accelerator."""
    if not isinstance(work.job, TrainJob) or work.card.params >= SINGLE_PARAMS:
        return None
    devices = found.devices.astype(float)
    return Verdict(
        reason="more-than-one-accelerator", broken=devices > 1, needed=1.0, available=devices, unit="accelerators"
    )


def accelerator_of_its_class(work: Work, shelf: Shelf, found: Candidates) -> Verdict | None:
    """Serving takes accelerators of the class that the model's size asks for."""
    if not isinstance(work.job, ServeJob) or work.job.accelerators or not shelf.offers:
        return None
    enough = next(((gib, name) for params, gib, name in CLASSES_GIB if work.card.params < params), None)
    if enough is None:
        return None
    memory_gib = shelf.hardware.memory_gib[shelf.machine[found.rows]]
    return Verdict(
        reason="large-accelerator",
        broken=(memory_gib > enough[0]) & (found.rows >= 0),
        needed=enough[1],
        available=shelf.accelerator_names[found.rows],
    )


def accelerators_are_filled(work: Work, shelf: Shelf, found: Candidates) -> Verdict | None:
    """Batch fills an accelerator before it takes another: each gets a full batch at least."""
    job = work.job
    if not isinstance(job, BatchJob):
        return None
    rows = ASSUMED_ROWS if job.rows is None else job.rows
    at_once = float(job.engine.max_num_seqs or MAX_NUM_SEQS)
    devices = found.devices.astype(float)
    return Verdict(
        reason="unfilled-accelerators",
        broken=(devices > 1) & (rows < devices * at_once),
        needed=devices * at_once,
        available=float(rows),
        unit="rows",
    )


Rule = Callable[[Work, Shelf, Candidates], Verdict | None]
RULES: tuple[Rule, ...] = (one_accelerator_is_enough, accelerator_of_its_class, accelerators_are_filled)


def oversized(work: Work, shelf: Shelf, found: Candidates, chosen: int) -> dict[int, Refusal]:
    """Candidates ruled out, by row, with the refusal of the first rule that each breaks."""
    verdicts = [verdict for rule in RULES if (verdict := rule(work, shelf, found)) is not None]
    broken: NDArray[np.bool_] = np.zeros(len(found), dtype=bool)
    for verdict in verdicts:
        broken |= verdict.broken
    if not broken.any() or broken.all():
        return {}
    right = int((~broken).argmax())
    ruled_out = broken & (found.usd > found.usd[right])
    if chosen >= 0:
        ruled_out[chosen] = False
    known: dict[tuple[int, int], Refusal] = {}
    refusals: dict[int, Refusal] = {}
    for row in np.flatnonzero(ruled_out).tolist():
        # Figures depend on nothing but the machine and how many accelerators are taken.
        key = int(shelf.machine[found.rows[row]]), int(found.devices[row])  # serverless ones break no rule
        if key not in known:
            known[key] = next(verdict for verdict in verdicts if verdict.broken[row]).at(row)
        refusals[row] = known[key]
    return refusals
