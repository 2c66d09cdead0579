"""One model of a service on every offer: the load a replica carries within the objective, and so the replicas and
their cost."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.estimate import encoding, generation, money
from orchestrator.estimate.calibration import Calibration
from orchestrator.estimate.device import sped_up
from orchestrator.estimate.encoding import BATCH_SIZES, Encoder
from orchestrator.estimate.generation import HEADROOM, Workload
from orchestrator.estimate.memory import encoder_room_gib, weight_bytes, weights_gib
from orchestrator.model.job import Pattern, ServeJob, Task
from orchestrator.placement.inference import MAX_NUM_SEQS, engines
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.spread import Spread, spread
from orchestrator.placement.verdict import Verdict
from orchestrator.placement.ways import Ways, costed
from orchestrator.placement.work import Work

Latency = tuple[str, float | None, Callable[[NDArray[np.float64]], NDArray[np.float64]]]

SCALE_UPS_PER_DAY = {Pattern.CONSTANT: 0.0, Pattern.PREDICTABLE: 2.0, Pattern.SPIKY: 24.0, Pattern.UNPREDICTABLE: 24.0}
"""How often a service goes from its mean to its peak: mornings and afternoons, or every hour. Assumption."""

DAYS_PER_MONTH = money.HOURS_PER_MONTH / 24


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicas:
    """One copy of the model on every machine and degree, (types, degrees): requests per second it carries within the
    objective, its accelerators, copies per instance, GB of weights."""

    considered: NDArray[np.bool_]
    verdicts: tuple[Verdict, ...]
    requests_per_s: NDArray[np.float64]
    tensor: NDArray[np.float64]
    per_instance: NDArray[np.float64]
    weights_gb: NDArray[np.float64]
    basis: NDArray[np.int8]


def ways(work: Work, job: ServeJob, shelf: Shelf, rows: np.ndarray, calibration: Calibration) -> Ways:
    """One option per tensor-parallel degree (one in all for encoders); spot offers spread over pools."""
    replica = replicas(work, job, shelf, calibration)
    machine = shelf.machine[rows]
    carried, per_instance = replica.requests_per_s[machine], replica.per_instance[machine]
    bounds, traffic = job.replicas, job.traffic
    mean = _needed(traffic.requests_per_second * work.share, carried)
    peak = _needed(traffic.peak_requests_per_second * work.share, carried)
    ready = np.minimum(np.maximum(mean, bounds.min) + bounds.warm, bounds.max)
    ready_at_peak = np.minimum(np.maximum(np.maximum(peak, bounds.min), mean) + bounds.warm, bounds.max)
    instances = _whole(np.ceil(ready / per_instance))
    at_peak = np.maximum(_whole(np.ceil(ready_at_peak / per_instance)), instances)
    spreads = spread(job, shelf, rows, instances, at_peak, _whole(bounds.max / per_instance))
    start_s = money.start_s(replica.weights_gb, shelf.hardware.is_cpu[:, None])[machine]
    return Ways(
        rows=rows,
        considered=replica.considered[machine],
        verdicts=(
            *(verdict.taken(machine) for verdict in replica.verdicts),
            Verdict(
                reason="max-replicas",
                broken=mean > bounds.max,
                needed=mean,
                available=float(bounds.max),
                unit="replicas at the mean load",
            ),
            Verdict(
                reason="max-replicas",
                broken=(peak > bounds.max) & (job.overflow is None),
                needed=peak,
                available=float(bounds.max),
                unit="replicas at the peak",
            ),
            *spreads.verdicts,
        ),
        instances=spreads.instances,
        peak=spreads.peak,
        tensor=_whole(replica.tensor)[machine],
        data=_whole(per_instance) * spreads.instances,
        expected_s=np.full(carried.shape, money.SECONDS_PER_MONTH),
        costs=_costs(work, job, shelf, rows, spreads, start_s),
        basis=replica.basis[machine],
        device_s=np.zeros(carried.shape),
        pools=spreads.pools,
    )


def one_is_enough(work: Work, job: ServeJob, found: Replicas) -> NDArray[np.bool_]:
    """Machines on which one replica of degree 1 carries the whole peak: (types,)."""
    possible = found.considered[:, 0]
    for verdict in found.verdicts:
        possible = possible & ~verdict.broken[:, 0]
    enough: NDArray[np.bool_] = possible & (
        found.requests_per_s[:, 0] >= job.traffic.peak_requests_per_second * work.share
    )
    return enough


def monthly_usd(work: Work, job: ServeJob) -> dict[str, float]:
    """What a service costs a month beside its machines, by name, in whole millionths."""
    traffic = job.traffic
    requests_per_s = traffic.requests_per_second * work.share
    tokens = traffic.prompt_tokens + traffic.output_tokens
    found = {
        "egress": money.egress_usd_per_month(requests_per_s, traffic.output_tokens),
        "load-balancer": money.balancer_usd_per_month(requests_per_s, tokens, work.share),
    }
    return {name: round(usd, 6) for name, usd in found.items() if usd}


def replicas(work: Work, job: ServeJob, shelf: Shelf, calibration: Calibration) -> Replicas:
    """What one copy carries on every machine."""
    if job.task is Task.GENERATE:
        return _generators(work, job, shelf, calibration)
    return _encoders(work, job, shelf, calibration)


def _costs(
    work: Work, job: ServeJob, shelf: Shelf, rows: np.ndarray, spreads: Spread, start_s: np.ndarray
) -> dict[str, np.ndarray]:
    """USD a month by name."""
    traffic = job.traffic
    scale_ups = SCALE_UPS_PER_DAY[traffic.pattern] * DAYS_PER_MONTH * (spreads.peak - spreads.instances)
    price = shelf.price[rows][:, None]
    return costed(
        start_s.shape,
        compute=spreads.usd_per_hour * money.HOURS_PER_MONTH,
        interruptions=money.node_usd(spreads.interruptions_per_hour * money.HOURS_PER_MONTH * start_s, price),
        image=money.image_usd(shelf.is_cpu[rows][:, None], money.SECONDS_PER_MONTH),
        **{"cold-starts": money.node_usd(scale_ups * start_s, price)},
        **monthly_usd(work, job),
    )


def _generators(work: Work, job: ServeJob, shelf: Shelf, calibration: Calibration) -> Replicas:
    traffic, slo = job.traffic, job.slo
    workload = Workload(prompt_tokens=traffic.prompt_tokens, output_tokens=max(traffic.output_tokens, 1.0))
    longest = workload.prompt_tokens + workload.output_tokens
    found = engines(work.card, job.engine, job.quantization, shelf.hardware, longest, calibration)
    generator = found.generator
    most = generation.most_sequences(generator, workload, job.engine.max_num_seqs or MAX_NUM_SEQS)
    latencies: tuple[Latency, ...] = (
        ("slo-ttft", slo.ttft_p99_s, lambda n: generation.ttft_p99_s(generator, workload, n)),
        ("slo-itl", slo.itl_p99_s, lambda n: generation.itl_p99_s(generator, workload, n)),
        ("slo-latency", slo.latency_p99_s, lambda n: generation.latency_p99_s(generator, workload, n)),
    )
    at_once, too_slow = _largest(most, latencies)
    return Replicas(
        considered=found.considered,
        verdicts=(*found.verdicts, *too_slow),
        requests_per_s=generation.requests_per_s(generator, workload, at_once) * HEADROOM,
        tensor=generator.device.tensor,
        per_instance=np.maximum(generator.device.count, 1.0),
        weights_gb=work.card.params * generator.bytes_per_weight / 1e9,
        basis=found.basis,
    )


def _encoders(work: Work, job: ServeJob, shelf: Shelf, calibration: Calibration) -> Replicas:
    hardware = shelf.hardware
    devices, computed = hardware.for_inference(work.card.dtype, job.engine.dtype)
    factor, basis = calibration.of(work.card, hardware.accelerator_names, "encode")
    where = sped_up(devices, factor[:, None])
    stored = where.value_bytes
    if job.quantization is not None:
        stored = np.full_like(stored, weight_bytes(job.quantization))
    needed_gib, room_gib = weights_gib(work.card, stored), encoder_room_gib(where)
    encoder = Encoder(card=work.card, device=where, tokens=job.traffic.prompt_tokens)
    sizes = np.array(BATCH_SIZES, dtype=float)
    bounds = [bound for bound in (job.slo.latency_p99_s, job.slo.ttft_p99_s) if bound is not None]

    def latency_s(position: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = encoding.latency_p99_s(encoder, sizes[position.astype(np.intp) - 1])
        return found

    shape = where.tflops.shape
    position, too_slow = _largest(
        np.full(shape, float(len(sizes))), (("slo-latency", min(bounds, default=None), latency_s),)
    )
    considered = np.zeros(shape, dtype=bool)
    considered[:, 0] = True
    return Replicas(
        considered=considered,
        verdicts=(
            Verdict(
                reason="precision",
                broken=np.isnan(where.tflops) & considered,
                needed=np.array([dtype.value for dtype in computed], dtype=object)[:, None],
                available=hardware.lacking,
            ),
            Verdict(reason="memory", broken=needed_gib > room_gib, needed=needed_gib, available=room_gib, unit="GiB"),
            *too_slow,
        ),
        requests_per_s=encoding.requests_per_s(encoder, sizes[position.astype(np.intp) - 1]) * HEADROOM,
        tensor=np.ones(shape),
        per_instance=np.maximum(where.count, 1.0),
        weights_gb=work.card.params * stored / 1e9,
        basis=basis,
    )


def _largest(
    most: NDArray[np.float64], latencies: tuple[Latency, ...]
) -> tuple[NDArray[np.float64], tuple[Verdict, ...]]:
    """The largest n in 1..most within all bounds (latency grows with n), and where even n = 1 breaks one."""
    one = np.ones_like(most)
    bounded = [(reason, bound_s, latency) for reason, bound_s, latency in latencies if bound_s is not None]
    verdicts = []
    for reason, bound_s, latency in bounded:
        least_s = latency(one)
        verdicts.append(
            Verdict(reason=reason, broken=least_s > bound_s, needed=bound_s * 1e3, available=least_s * 1e3, unit="ms")
        )
    low, high = one, np.maximum(np.nan_to_num(most, nan=1.0), 1.0)
    while bounded and bool((low < high).any()):
        middle = np.floor((low + high + 1.0) / 2.0)
        within = np.ones(most.shape, dtype=bool)
        for _, bound_s, latency in bounded:
            within &= latency(middle) <= bound_s
        low, high = np.where(within, middle, low), np.where(within, high, np.maximum(middle - 1.0, low))
    return (low if bounded else high), tuple(verdicts)


def _needed(requests_per_s: float, carried: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replicas for a load; one at least, as a service without a replica answers nobody."""
    needed: NDArray[np.float64] = np.maximum(np.ceil(requests_per_s / carried - 1e-9), 1.0)
    return needed


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.nan_to_num(values, nan=1.0, posinf=1.0).astype(np.int64)
