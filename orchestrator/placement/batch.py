"""A batch inference job on every offer: as few nodes as the window needs, each filled before another starts."""

import numpy as np

from orchestrator.estimate import money
from orchestrator.estimate.calibration import Calibration
from orchestrator.estimate.generation import Workload, most_sequences, requests_per_s
from orchestrator.model.job import BatchJob
from orchestrator.placement.inference import MAX_NUM_SEQS, engines
from orchestrator.placement.overhead import engineer_usd, transfer_usd
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.ways import Ways, costed

ASSUMED_ROWS = 10_000.0
"""Rows of a run when the catalog does not say; the plan warns about it."""

REDO_S = 60.0
"""Work of a node lost at an interruption: about half a shard. Assumption."""


def ways(job: BatchJob, shelf: Shelf, rows: np.ndarray, calibration: Calibration) -> Ways:
    """One option per tensor-parallel degree, each with the fewest nodes that meet the window; they work independently
    of each other."""
    workload = Workload(prompt_tokens=job.prompt_tokens, output_tokens=max(job.output_tokens, 1.0))
    longest = workload.prompt_tokens + workload.output_tokens
    found = engines(job.model, job.engine, job.quantization, shelf.hardware, longest, calibration)
    device = found.generator.device
    sequences = most_sequences(found.generator, workload, job.engine.max_num_seqs or MAX_NUM_SEQS)
    rows_per_s = requests_per_s(found.generator, workload, np.maximum(sequences, 1.0)) * device.count
    machine = shelf.machine[rows]
    work_s = ((ASSUMED_ROWS if job.rows is None else job.rows) / rows_per_s)[machine]
    weights_gb = job.model.params * found.generator.bytes_per_weight / 1e9
    start_s = money.start_s(weights_gb, device.is_cpu)[machine]
    run = money.Interruptible(
        work_s=work_s,
        nodes=1.0,
        interruptions_per_hour=shelf.interruptions[rows][:, None],
        redo_s=REDO_S,
        restart_s=start_s,
        lockstep=False,
    )
    alone_s = money.expected_s(run)
    nodes, too_slow = _nodes(job, alone_s, start_s)
    total_s = start_s + alone_s / nodes
    price = shelf.price[rows][:, None]
    whole = np.nan_to_num(nodes, nan=1.0).astype(np.int64)
    return Ways(
        rows=rows,
        considered=found.considered[machine],
        verdicts=(
            *(verdict.taken(machine) for verdict in found.verdicts),
            Verdict(
                reason="interruptions",
                broken=np.isnan(alone_s) & ~np.isnan(work_s),
                needed="progress between interruptions",
                available="none",
            ),
            *too_slow,
        ),
        instances=whole,
        peak=whole,
        tensor=device.tensor[machine].astype(np.int64),
        data=device.count[machine].astype(np.int64) * whole,
        expected_s=total_s,
        costs=costed(
            total_s.shape,
            compute=money.node_usd(work_s, price),
            startup=money.node_usd(start_s, price, nodes),
            interruptions=money.node_usd(alone_s - work_s, price),
            image=money.image_usd(device.is_cpu[machine], total_s),
            transfer=transfer_usd(job, shelf, rows)[:, None],
            engineer=engineer_usd(shelf.cluster, total_s),
        ),
        basis=found.basis[machine],
        device_s=work_s * device.count[machine],
    )


def _nodes(job: BatchJob, alone_s: np.ndarray, start_s: np.ndarray) -> tuple[np.ndarray, tuple[Verdict, ...]]:
    """The fewest nodes with start + work / nodes within window and duration, and where even the most are too slow."""
    bounds = [
        (reason, bound) for reason, bound in (("window", job.window_s), ("max-duration", job.max_duration_s)) if bound
    ]
    if not bounds:
        return np.ones_like(alone_s), ()
    reason, most_s = min(bounds, key=lambda pair: pair[1])
    left_s = np.where(most_s > start_s, most_s - start_s, np.nan)
    nodes = np.maximum(np.ceil(alone_s / left_s - 1e-9), 1.0)
    slow = (nodes > job.max_instances) | (np.isnan(left_s) & ~np.isnan(alone_s))
    fastest_s = start_s + alone_s / job.max_instances
    verdict = Verdict(reason=reason, broken=slow, needed=float(most_s), available=fastest_s, unit="s")
    return np.where(slow | np.isnan(nodes), 1.0, nodes), (verdict,)
