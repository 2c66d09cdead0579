"""One model of a service on an offer: the load a replica carries within the objective, and so the replicas and their
cost."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.estimate import encoding, generation, money
from orchestrator.estimate.device import device, inference_dtype, peak_tflops
from orchestrator.estimate.encoding import BATCH_SIZES, Encoder
from orchestrator.estimate.generation import HEADROOM, Generator, Workload
from orchestrator.estimate.memory import GIB, encoder_room_gib, weights_gib
from orchestrator.model.job import ServeJob, Task
from orchestrator.model.offer import Offer
from orchestrator.placement.candidate import Candidate, Sizing, priced
from orchestrator.placement.inference import MAX_NUM_SEQS, generators
from orchestrator.placement.refusal import Refusal, figure
from orchestrator.placement.work import Work

Latency = tuple[str, float | None, Callable[[int], float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One copy of the model: requests per second it carries within the objective, its accelerators, copies per
    instance."""

    requests_per_s: float
    tensor: int
    per_instance: int
    weights_gb: float


def ways(work: Work, job: ServeJob, offer: Offer) -> Iterator[Candidate | Refusal]:
    """One way per tensor-parallel degree (one in all for encoders)."""
    for replica in _replicas(work, job, offer):
        yield replica if isinstance(replica, Refusal) else _sized(work, job, offer, replica)


def _replicas(work: Work, job: ServeJob, offer: Offer) -> Iterator[Replica | Refusal]:
    if job.task is not Task.GENERATE:
        yield _encoder(work, job, offer)
        return
    traffic = job.traffic
    workload = Workload(prompt_tokens=traffic.prompt_tokens, output_tokens=max(traffic.output_tokens, 1.0))
    longest = workload.prompt_tokens + workload.output_tokens
    for generator in generators(work.card, job.engine, job.quantization, offer.instance, longest):
        yield generator if isinstance(generator, Refusal) else _generator(job, generator, workload)


def _generator(job: ServeJob, generator: Generator, workload: Workload) -> Replica | Refusal:
    most = generation.most_sequences(generator, workload, job.engine.max_num_seqs or MAX_NUM_SEQS)
    slo = job.slo
    latencies: tuple[Latency, ...] = (
        ("slo-ttft", slo.ttft_p99_s, lambda n: generation.ttft_p99_s(generator, workload, n)),
        ("slo-itl", slo.itl_p99_s, lambda n: generation.itl_p99_s(generator, workload, n)),
        ("slo-latency", slo.latency_p99_s, lambda n: generation.latency_p99_s(generator, workload, n)),
    )
    found = _largest(most, latencies)
    if isinstance(found, Refusal):
        return found
    return Replica(
        requests_per_s=generation.requests_per_s(generator, workload, found) * HEADROOM,
        tensor=generator.device.tensor,
        per_instance=generator.device.count,
        weights_gb=weights_gib(generator.card, generator.weights) * GIB / 1e9,
    )


def _encoder(work: Work, job: ServeJob, offer: Offer) -> Replica | Refusal:
    compute = inference_dtype(offer.instance, work.card.dtype, job.engine.dtype)
    if peak_tflops(offer.instance, compute) <= 0:
        name = offer.instance.accelerator.name if offer.instance.accelerator else "this CPU"
        return Refusal(reason="precision", needed=compute.value, available=f"not on {name}")
    where = device(offer.instance, compute)
    needed_gib, room_gib = weights_gib(work.card, job.quantization or compute), encoder_room_gib(where)
    if needed_gib > room_gib:
        return Refusal(reason="memory", needed=figure(needed_gib), available=figure(room_gib), unit="GiB")
    encoder = Encoder(card=work.card, device=where, tokens=job.traffic.prompt_tokens)
    bounds = [bound for bound in (job.slo.latency_p99_s, job.slo.ttft_p99_s) if bound is not None]
    latencies: tuple[Latency, ...] = (
        ("slo-latency", min(bounds, default=None), lambda i: encoding.latency_p99_s(encoder, BATCH_SIZES[i - 1])),
    )
    found = _largest(len(BATCH_SIZES), latencies)
    if isinstance(found, Refusal):
        return found
    return Replica(
        requests_per_s=encoding.requests_per_s(encoder, BATCH_SIZES[found - 1]) * HEADROOM,
        tensor=1,
        per_instance=where.count,
        weights_gb=weights_gib(work.card, job.quantization or compute) * GIB / 1e9,
    )


def _largest(most: int, latencies: tuple[Latency, ...]) -> int | Refusal:
    """The largest n in 1..most within all bounds (latency grows with n), or the bound that n = 1 breaks."""
    for reason, bound_s, latency in latencies:
        if bound_s is not None and latency(1) > bound_s:
            return Refusal(reason=reason, needed=figure(bound_s * 1e3), available=figure(latency(1) * 1e3), unit="ms")
    low, high = 1, max(most, 1)
    while low < high:
        middle = (low + high + 1) // 2
        if all(bound_s is None or latency(middle) <= bound_s for _, bound_s, latency in latencies):
            low = middle
        else:
            high = middle - 1
    return low


def _sized(work: Work, job: ServeJob, offer: Offer, replica: Replica) -> Candidate | Refusal:
    bounds, traffic = job.replicas, job.traffic
    mean = _needed(traffic.requests_per_second * work.share, replica)
    peak = _needed(traffic.peak_requests_per_second * work.share, replica)
    if mean > bounds.max:
        return Refusal(reason="max-replicas", needed=mean, available=bounds.max, unit="replicas at the mean load")
    if peak > bounds.max and job.overflow is None:
        return Refusal(reason="max-replicas", needed=peak, available=bounds.max, unit="replicas at the peak")
    ready = min(max(mean, bounds.min) + bounds.warm, bounds.max)
    ready_at_peak = min(max(peak, bounds.min, mean) + bounds.warm, bounds.max)
    instances = math.ceil(ready / replica.per_instance)
    month_s = money.HOURS_PER_MONTH * money.SECONDS_PER_HOUR
    price = offer.price_usd_per_hour
    interruptions = offer.interruptions_per_hour * money.HOURS_PER_MONTH * instances
    sizing = Sizing(
        instances=instances,
        peak_instances=max(math.ceil(ready_at_peak / replica.per_instance), instances),
        tensor=replica.tensor,
        data=replica.per_instance * instances,
        expected_s=month_s,
        costs={
            "compute": money.usd(month_s, price, instances),
            "interruptions": money.usd(interruptions * money.load_s(replica.weights_gb), price, 1),
            "egress": money.egress_usd_per_month(traffic.requests_per_second * work.share, traffic.output_tokens),
        },
    )
    return priced(offer, sizing, 1.0)


def _needed(requests_per_s: float, replica: Replica) -> int:
    """Replicas for a load; one at least, as a service without a replica answers nobody."""
    return max(math.ceil(requests_per_s / replica.requests_per_s - 1e-9), 1)
