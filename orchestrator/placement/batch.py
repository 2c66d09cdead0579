"""A batch inference job on an offer: as few nodes as the window needs, each filled before another starts."""

import math
from collections.abc import Iterator

from orchestrator.estimate import money
from orchestrator.estimate.generation import Generator, Workload, most_sequences, requests_per_s
from orchestrator.estimate.memory import GIB, weights_gib
from orchestrator.model.job import BatchJob
from orchestrator.model.offer import Offer
from orchestrator.placement.candidate import Candidate, Sizing, priced
from orchestrator.placement.inference import MAX_NUM_SEQS, generators
from orchestrator.placement.refusal import Refusal, figure

ASSUMED_ROWS = 10_000.0
"""Rows of a run when the catalog does not say; the plan warns about it."""

REDO_S = 60.0
"""Work of a node lost at an interruption: about half a shard. Assumption."""


def ways(job: BatchJob, offer: Offer, runs_per_month: float) -> Iterator[Candidate | Refusal]:
    """One way per tensor-parallel degree, each with the fewest nodes that meet the window."""
    workload = Workload(prompt_tokens=job.prompt_tokens, output_tokens=max(job.output_tokens, 1.0))
    longest = workload.prompt_tokens + workload.output_tokens
    for generator in generators(job.model, job.engine, job.quantization, offer.instance, longest):
        if isinstance(generator, Refusal):
            yield generator
        else:
            yield _sized(job, offer, generator, workload, runs_per_month)


def _sized(
    job: BatchJob, offer: Offer, generator: Generator, workload: Workload, runs_per_month: float
) -> Candidate | Refusal:
    sequences = most_sequences(generator, workload, job.engine.max_num_seqs or MAX_NUM_SEQS)
    rows_per_s = requests_per_s(generator, workload, sequences) * generator.device.count
    rows = ASSUMED_ROWS if job.rows is None else job.rows
    work_s = rows / rows_per_s
    start_s = money.load_s(weights_gib(job.model, generator.weights) * GIB / 1e9)
    alone_s = money.expected_s(_run(offer, work_s, start_s))
    if alone_s is None:
        return Refusal(reason="interruptions", needed="progress between interruptions", available="none")
    nodes = _nodes(job, alone_s, start_s)
    if isinstance(nodes, Refusal):
        return nodes
    run_s = alone_s / nodes
    price = offer.price_usd_per_hour
    sizing = Sizing(
        instances=nodes,
        peak_instances=nodes,
        tensor=generator.device.tensor,
        data=generator.device.count * nodes,
        expected_s=start_s + run_s,
        costs={
            "compute": money.usd(work_s, price, 1),
            "startup": money.usd(start_s, price, nodes),
            "interruptions": money.usd(alone_s - work_s, price, 1),
        },
    )
    return priced(offer, sizing, runs_per_month)


def _run(offer: Offer, work_s: float, start_s: float) -> money.Interruptible:
    return money.Interruptible(
        work_s=work_s,
        nodes=1,
        interruptions_per_hour=offer.interruptions_per_hour,
        redo_s=REDO_S,
        restart_s=start_s,
        lockstep=False,
    )


def _nodes(job: BatchJob, alone_s: float, start_s: float) -> int | Refusal:
    """The fewest nodes with start + work / nodes within window and duration; they work independently of each other."""
    bounds = [
        (reason, bound) for reason, bound in (("window", job.window_s), ("max-duration", job.max_duration_s)) if bound
    ]
    if not bounds:
        return 1
    reason, most_s = min(bounds, key=lambda pair: pair[1])
    nodes = math.ceil(alone_s / (most_s - start_s) - 1e-9) if most_s > start_s else job.max_instances + 1
    if nodes > job.max_instances:
        fastest_s = start_s + alone_s / job.max_instances
        return Refusal(reason=reason, needed=figure(most_s), available=figure(fastest_s), unit="s")
    return max(nodes, 1)
