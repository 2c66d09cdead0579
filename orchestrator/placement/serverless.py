"""Serverless endpoints as candidates: for services whose traffic is spiky or unpredictable, by the request.

They take none of the cluster's nodes, quotas or budget. The plan names and prices them; the cluster cannot deploy them,
so that `apply` uses the best candidate of its own.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np

from orchestrator.estimate import encoding, money
from orchestrator.estimate.money import round_usd
from orchestrator.model.job import Lifecycle, Pattern, ServeJob, Task
from orchestrator.model.offer import Market, ServerlessOffer
from orchestrator.model.plan import Basis, Choice, Parallelism, Pool
from orchestrator.placement.candidate import Candidates
from orchestrator.placement.refusal import Refusal, Refusals, figure
from orchestrator.placement.work import Work

PATTERNS = (Pattern.SPIKY, Pattern.UNPREDICTABLE)

CPU_TFLOPS_PER_GIB = 40e-3 * 0.5 / 1.769
"""A function has a vCPU for every 1.769 GB of memory (AWS Lambda documentation); 40 GFLOP/s a vCPU as for c6i, of which
half is reached (device.py)."""


def with_serverless(found: Candidates, work: Work, offers: tuple[ServerlessOffer, ...]) -> tuple[Candidates, Refusals]:
    """The candidates with serverless ones among them, and why not the others."""
    choices: list[Choice] = []
    refused: Refusals = {}
    for offer in offers:
        refusal = _refusal(work, offer)
        if refusal is None:
            choices.append(_choice(work, offer))
        else:
            refused.setdefault(refusal, []).append(offer.name)
    return (_merged(found, choices) if choices else found), refused


def _refusal(work: Work, offer: ServerlessOffer) -> Refusal | None:
    """The first rule that the offer breaks."""
    return next(_broken(work, offer), None)


def _broken(work: Work, offer: ServerlessOffer) -> Iterator[Refusal]:
    job = work.job
    if not isinstance(job, ServeJob) or job.traffic.pattern not in PATTERNS:
        yield Refusal(reason="serverless", needed="a service with spiky or unpredictable traffic", available=None)
        return
    if job.lifecycle is not Lifecycle.AUTO or job.accelerators:
        wanted = job.lifecycle.value if job.lifecycle is not Lifecycle.AUTO else " or ".join(job.accelerators)
        yield Refusal(reason="market", needed=wanted, available=Market.SERVERLESS.value)
    if job.task.value not in offer.tasks:
        yield Refusal(reason="task", needed=job.task.value, available=" or ".join(offer.tasks))
    if work.card.params > offer.most_params:
        yield Refusal(reason="memory", needed=figure(work.card.params), available=offer.most_params, unit="parameters")
    for bound_s in (job.slo.ttft_p99_s, job.slo.latency_p99_s):
        if bound_s is not None and bound_s < offer.cold_start_s:
            needed, available = figure(bound_s * 1e3), figure(offer.cold_start_s * 1e3)
            yield Refusal(reason="cold-start", needed=needed, available=available, unit="ms")


def _choice(work: Work, offer: ServerlessOffer) -> Choice:
    job = work.job
    assert isinstance(job, ServeJob)
    traffic = job.traffic
    requests = traffic.requests_per_second * work.share * money.SECONDS_PER_MONTH
    tokens = requests * (traffic.prompt_tokens + traffic.output_tokens)
    costs = {
        "tokens": tokens / 1e6 * float(offer.usd_per_million_tokens),
        "requests": requests / 1e6 * float(offer.usd_per_million_requests),
        "gb-seconds": requests * _gb_seconds(work, offer, traffic.prompt_tokens) * float(offer.usd_per_gb_second),
        "egress": money.egress_usd_per_month(traffic.requests_per_second * work.share, traffic.output_tokens),
    }
    exact = {name: round_usd(usd) for name, usd in sorted(costs.items()) if usd > 0}
    total = sum(exact.values(), Decimal(0))
    pool = Pool(offer=offer.name, market=Market.SERVERLESS, zone="*", instances=0.0)
    return Choice(
        offer=offer.name,
        instance_type=offer.name.split(":")[0],
        accelerator=None,
        accelerators_per_instance=0,
        instances=0.0,
        market=Market.SERVERLESS,
        zone="*",
        pools=(pool,),
        parallelism=Parallelism(tensor=1, data=1),
        usd_per_hour=round_usd(float(total) / money.HOURS_PER_MONTH),
        expected_usd=total,
        expected_seconds=money.SECONDS_PER_MONTH,
        costs=tuple(exact.items()),
        basis=Basis.PROFILE,
    )


def _gb_seconds(work: Work, offer: ServerlessOffer, tokens: float) -> float:
    """Memory times the time of one request, which a function computes alone."""
    assert isinstance(work.job, ServeJob)
    if work.job.task is Task.GENERATE or not offer.memory_gib:
        return 0.0
    flop = encoding.request_flop(work.card, tokens)
    seconds = flop / (offer.memory_gib * CPU_TFLOPS_PER_GIB * 1e12) + encoding.BATCH_OVERHEAD_S
    return offer.memory_gib * seconds


def _merged(found: Candidates, choices: list[Choice]) -> Candidates:
    """Both, by cost and then by name; serverless ones have no row of the shelf (-1)."""
    usd = np.concatenate([found.usd, [float(choice.expected_usd) for choice in choices]])
    names = np.concatenate([found.names, np.array([choice.offer for choice in choices], dtype=object)])
    order = np.lexsort((names.astype(str), usd))
    none = np.zeros((len(choices), found.uses.shape[1]), dtype=np.int64)
    own = len(found)

    def choice(row: int) -> Choice:
        index = int(order[row])
        return found.choice(index) if index < own else choices[index - own]

    extra = np.array([float(each.expected_usd) for each in choices])
    return replace(
        found,
        names=names[order],
        rows=np.concatenate([found.rows, np.full(len(choices), -1)]).astype(np.intp)[order],
        devices=np.concatenate([found.devices, np.ones(len(choices), dtype=np.int64)])[order],
        usd=usd[order],
        usd_per_month=np.concatenate([found.usd_per_month, extra])[order],
        uses=np.concatenate([found.uses, none])[order],
        mean_uses=np.concatenate([found.mean_uses, none])[order],
        choice=choice,
    )
