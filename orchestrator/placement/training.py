"""A training job on every offer: memory and precision first, then the number of instances that costs least in time."""

import numpy as np

from orchestrator.estimate import money
from orchestrator.estimate.calibration import Calibration
from orchestrator.estimate.device import device, sped_up
from orchestrator.estimate.memory import (
    TrainingNeed,
    sequences_at_once,
    trained_params,
    training_gib,
    training_room_gib,
    weight_bytes,
)
from orchestrator.estimate.training import scaling_efficiency, training_flop, training_s
from orchestrator.model.job import Method, TrainJob
from orchestrator.model.offer import InstanceType
from orchestrator.placement.overhead import engineer_usd, transfer_usd
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.ways import Ways, costed

ASSUMED_TOKENS = 1e6
"""Tokens of an epoch when the catalog does not say; the plan warns about it."""

CHECKPOINT_BYTES = 12.0
"""Per trained parameter: float32 weights and the two AdamW moments."""

FABRIC_PARAMS, FABRIC_ACCELERATORS = 10e9, 4
"""Full training of more than 10e9 parameters on more than 4 accelerators in several instances needs RDMA between them
(practitioner reports, 2024-2026: high-speed interconnect pays from 4 GPUs on above 10B; data parallelism on 2 to 4 GPUs
needs none)."""


def ways(job: TrainJob, shelf: Shelf, rows: np.ndarray, calibration: Calibration) -> Ways:
    """One option per number of instances; one accelerator type and one zone in all of them, as an offer has one of
    each."""
    machine = shelf.machine[rows]
    factor, basis = calibration.of(job.model, shelf.hardware.accelerator_names, "train")
    one = sped_up(shelf.hardware.for_training(job.precision), factor[:, None])
    fabric = shelf.hardware.fabric
    instances = np.arange(job.min_instances, job.max_instances + 1, dtype=np.int64)[None, :]
    devices = np.where(one.is_cpu, 1.0, fabric.accelerators) * instances
    asked = need(job)
    whole_gib, room_gib = training_gib(asked), training_room_gib(one)
    split_gib = training_gib(asked, devices)
    sharded = (whole_gib > room_gib) & (devices > 1)
    needed_gib = np.where(sharded, split_gib, whole_gib)
    efficiency = scaling_efficiency(fabric, instances, job.method, job.model.params, sharded)
    work_s = training_s(_flop(job), one, devices, efficiency)
    lacks_fabric = (
        (job.model.params > FABRIC_PARAMS)
        & (job.method is Method.FULL)
        & (devices > FABRIC_ACCELERATORS)
        & (instances > 1)
        & ~np.asarray(fabric.efa)
    )
    start_s = money.start_s(job.model.params * weight_bytes(job.precision) / 1e9, one.is_cpu)[machine]
    shape = (len(rows), instances.shape[1])
    run = money.Interruptible(
        work_s=work_s[machine],
        nodes=instances,
        interruptions_per_hour=shelf.interruptions[rows][:, None],
        redo_s=job.checkpoint.interval_s / 2.0,
        restart_s=start_s,
        lockstep=True,
    )
    run_s = money.expected_s(run)
    total_s = start_s + run_s
    price = shelf.price[rows][:, None]
    whole = _whole(shape, instances)
    checkpoint_gb = trained_params(asked) * CHECKPOINT_BYTES / 1e9
    return Ways(
        rows=rows,
        considered=np.ones(shape, dtype=bool),
        verdicts=(
            Verdict(
                reason="precision",
                broken=_over(shape, np.isnan(one.tflops)[machine]),
                needed=job.precision.value,
                available=shelf.hardware.lacking[machine],
            ),
            Verdict(
                reason="memory",
                broken=_over(shape, (needed_gib > room_gib)[machine]),
                needed=needed_gib[machine],
                available=room_gib[machine],
                unit="GiB",
            ),
            Verdict(
                reason="interconnect",
                broken=_over(shape, lacks_fabric[machine]),
                needed="EFA between instances",
                available="TCP",
            ),
            Verdict(
                reason="interruptions",
                broken=np.isnan(run_s) & ~np.isnan(run.work_s),
                needed="progress between interruptions",
                available="none",
            ),
            *(
                Verdict(reason=reason, broken=total_s > most_s, needed=most_s, available=total_s, unit="s")
                for reason, most_s in (("max-duration", job.max_duration_s), ("deadline", job.deadline_s))
                if most_s is not None
            ),
        ),
        instances=whole,
        peak=whole,
        tensor=_whole(shape, 1),
        data=_whole(shape, devices[machine]),
        expected_s=total_s,
        costs=costed(
            shape,
            compute=money.node_usd(run.work_s, price, instances),
            startup=money.node_usd(start_s, price, instances),
            interruptions=money.node_usd(run_s - run.work_s, price, instances),
            checkpoints=money.checkpoint_usd(checkpoint_gb, job.checkpoint.keep, job.checkpoint.interval_s, run_s),
            image=money.image_usd(one.is_cpu[machine], total_s),
            transfer=transfer_usd(job, shelf, rows)[:, None] * instances,
            engineer=engineer_usd(shelf.cluster, total_s),
        ),
        basis=basis[machine],
        device_s=run.work_s * devices[machine],
    )


def need(job: TrainJob) -> TrainingNeed:
    """What the job asks of one accelerator's memory."""
    return TrainingNeed(
        card=job.model,
        method=job.method,
        precision=job.precision,
        sequence_tokens=min(job.sequence_tokens, job.model.context_tokens),
        gradient_checkpointing=job.gradient_checkpointing,
        lora_rank=job.lora_rank,
    )


def shards(job: TrainJob, instance: InstanceType, instances: int) -> int:
    """Processes over which FSDP has to split the model on this hardware; 1 = each holds a whole copy."""
    devices = max(instance.accelerators, 1) * instances
    whole_fits = float(training_gib(need(job))) <= float(training_room_gib(device(instance, job.precision)))
    return 1 if whole_fits else devices


def micro_batch(job: TrainJob, instance: InstanceType, instances: int = 1) -> int:
    """Sequences that a worker may compute at once on this hardware, from 1 to `batch_size`.

    A step's sequences are computed in pieces of this size whose gradients add up, so that `batch_size` decides how the
    model learns and never whether it fits.
    """
    room_gib = float(training_room_gib(device(instance, job.precision)))
    at_once = sequences_at_once(need(job), room_gib, shards(job, instance, instances))
    return min(max(at_once, 1), job.batch_size)


def _flop(job: TrainJob) -> float:
    return training_flop(
        job.model,
        job.method,
        (ASSUMED_TOKENS if job.tokens is None else job.tokens) * job.epochs,
        sequence_tokens=job.sequence_tokens,
        gradient_checkpointing=job.gradient_checkpointing,
    )


def _over(shape: tuple[int, int], flags: np.ndarray) -> np.ndarray:
    return np.broadcast_to(flags, shape)


def _whole(shape: tuple[int, int], value: np.ndarray | float) -> np.ndarray:
    return np.broadcast_to(np.asarray(value).astype(np.int64), shape)
