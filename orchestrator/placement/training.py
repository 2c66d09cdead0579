"""A training job on an offer: memory and precision first, then the number of instances that costs least in time."""

from collections.abc import Iterator

from orchestrator.estimate import money
from orchestrator.estimate.device import Device, device, peak_tflops
from orchestrator.estimate.memory import (
    GIB,
    TrainingNeed,
    sequences_at_once,
    trained_params,
    training_gib,
    training_room_gib,
    weights_gib,
)
from orchestrator.estimate.training import scaling_efficiency, training_flop, training_s
from orchestrator.model.job import TrainJob
from orchestrator.model.offer import InstanceType, Offer
from orchestrator.placement.candidate import Candidate, Sizing, priced
from orchestrator.placement.frequency import retrain_per_month
from orchestrator.placement.refusal import Refusal, figure

ASSUMED_TOKENS = 1e6
"""Tokens of an epoch when the catalog does not say; the plan warns about it."""

CHECKPOINT_BYTES = 12.0
"""Per trained parameter: float32 weights and the two AdamW moments."""


def ways(job: TrainJob, offer: Offer) -> Iterator[Candidate | Refusal]:
    """One way per number of instances; one accelerator type and one zone in all of them, as an offer has one of
    each."""
    instance = offer.instance
    misfit = _misfit(job, instance)
    if misfit is not None:
        yield misfit
        return
    flop = training_flop(
        job.model,
        job.method,
        (ASSUMED_TOKENS if job.tokens is None else job.tokens) * job.epochs,
        sequence_tokens=job.sequence_tokens,
        gradient_checkpointing=job.gradient_checkpointing,
    )
    one = device(instance, job.precision)
    for instances in range(job.min_instances, job.max_instances + 1):
        yield _sized(job, offer, one, instances, flop)


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


def micro_batch(job: TrainJob, instance: InstanceType) -> int:
    """Sequences that a worker may compute at once on this hardware, from 1 to `batch_size`.

    A step's sequences are computed in pieces of this size whose gradients add up, so that `batch_size` decides how the
    model learns and never whether it fits.
    """
    room_gib = training_room_gib(device(instance, job.precision))
    return min(max(sequences_at_once(need(job), room_gib), 1), job.batch_size)


def _misfit(job: TrainJob, instance: InstanceType) -> Refusal | None:
    if peak_tflops(instance, job.precision) <= 0:
        name = instance.accelerator.name if instance.accelerator else "this CPU"
        return Refusal(reason="precision", needed=job.precision.value, available=f"not on {name}")
    needed_gib = training_gib(need(job))
    room_gib = training_room_gib(device(instance, job.precision))
    if needed_gib > room_gib:
        return Refusal(reason="memory", needed=figure(needed_gib), available=figure(room_gib), unit="GiB")
    return None


def _sized(job: TrainJob, offer: Offer, one: Device, instances: int, flop: float) -> Candidate | Refusal:
    devices = one.count * instances
    efficiency = scaling_efficiency(offer.instance, instances, job.method, job.model.params)
    weights_gb = weights_gib(job.model, job.precision) * GIB / 1e9
    start_s = money.load_s(weights_gb)
    run = money.Interruptible(
        work_s=training_s(flop, one, devices, efficiency),
        nodes=instances,
        interruptions_per_hour=offer.interruptions_per_hour,
        redo_s=job.checkpoint.interval_s / 2.0,
        restart_s=start_s,
        lockstep=True,
    )
    run_s = money.expected_s(run)
    if run_s is None:
        return Refusal(reason="interruptions", needed="progress between interruptions", available="none")
    total_s = start_s + run_s
    for reason, most_s in (("max-duration", job.max_duration_s), ("deadline", job.deadline_s)):
        if most_s is not None and total_s > most_s:
            return Refusal(reason=reason, needed=figure(most_s), available=figure(total_s), unit="s")
    price = offer.price_usd_per_hour
    checkpoint_gb = trained_params(need(job)) * CHECKPOINT_BYTES / 1e9
    sizing = Sizing(
        instances=instances,
        peak_instances=instances,
        tensor=1,
        data=devices,
        expected_s=total_s,
        costs={
            "compute": money.usd(run.work_s, price, instances),
            "startup": money.usd(start_s, price, instances),
            "interruptions": money.usd(run_s - run.work_s, price, instances),
            "checkpoints": money.checkpoint_usd(checkpoint_gb, job.checkpoint.keep, job.checkpoint.interval_s, run_s),
        },
    )
    return priced(offer, sizing, retrain_per_month(job.retrain))
