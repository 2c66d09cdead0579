"""Topics: what the whole catalog spends beside machines; small models whose bill is mostly transfer."""

from collections.abc import Iterator
from decimal import Decimal

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.situation import Situation, chosen
from orchestrator.advice.words import number, percent, usd
from orchestrator.estimate.memory import GIB, weight_bytes
from orchestrator.estimate.money import CROSS_REGION_USD_PER_GB, CROSS_ZONE_USD_PER_GB, EGRESS_USD_PER_GB, round_usd
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob
from orchestrator.placement.runs import runs_per_month

TRANSFER = frozenset({"transfer", "egress"})
MACHINES = frozenset({"compute", "startup", "interruptions"})
PEOPLE = "engineer"
HIGH_SHARE = 90.0 / (440.0 + 90.0)
"""A report's 440,000 USD of machines and 210,000 of transfer a year became 90,000 of transfer by placing work near its
data: 17% of the bill is what can be reached."""

EC2_PRICES = "AWS EC2 pricing, 2026-11"
EDGE_GIB = 16.0
EDGE_SHARE = 0.5


def monthly_usd(found: Situation) -> dict[str, Decimal]:
    """USD a month by name of cost, over all jobs: a service's month, a run's cost x runs a month."""
    total: dict[str, Decimal] = {}
    for work, choice in chosen(found):
        runs = Decimal(repr(runs_per_month(work.job, found.plan.now)))
        for name, amount in choice.costs:
            total[name] = total.get(name, Decimal(0)) + amount * runs
    return {name: round_usd(total[name]) for name in sorted(total)}


def overheads(found: Situation) -> Iterator[Advice]:
    """One piece of advice for a catalog of which anything is placed."""
    costs = monthly_usd(found)
    bill = sum((amount for name, amount in costs.items() if name != PEOPLE), Decimal(0))
    if not bill:
        return
    transfer = sum((amount for name, amount in costs.items() if name in TRANSFER), Decimal(0))
    share = float(transfer / bill)
    if share > HIGH_SHARE:
        said = f"Transfer is {percent(share)} of the bill: place work in the region and zone of its data."
    else:
        said = f"Transfer is {percent(share)} of the bill: no more than what remains when work is near its data."
    yield Advice(
        topic=Topic.OVERHEADS,
        recommendation=said,
        figures=(
            *(
                Figure(name=name, value=costs[name], unit="USD a month", of=_group(name))
                for name in sorted(costs, key=lambda name: (name not in MACHINES, name))
            ),
            Figure(name="share of transfer", value=share, how=f"{usd(transfer)} / {usd(bill)} USD, people not counted"),
        ),
        thresholds=(
            Threshold(
                name="transfer is too much above", value=HIGH_SHARE, unit="of the bill",
                source=f"90 / (440 + 90), after moving work near its data; {PRACTITIONERS}",
            ),
            Threshold(name="to the internet", value=EGRESS_USD_PER_GB, unit="USD/GB", source=EC2_PRICES),
            Threshold(name="between zones", value=CROSS_ZONE_USD_PER_GB, unit="USD/GB", source=EC2_PRICES),
            Threshold(
                name="between regions", value=CROSS_REGION_USD_PER_GB, unit="USD/GB", source=EC2_PRICES
            ),
        ),
        confidence="Data counts only where jobs say data_location and data_gb; storage of data sets is not included.",
    )  # fmt: skip


def _group(name: str) -> str:
    return "machines" if name in MACHINES else "beside machines"


def edge(found: Situation) -> Iterator[Advice]:
    """For every job whose model fits 16 GiB and whose bill is mostly transfer."""
    for work, choice in chosen(found):
        bits = getattr(work.job, "quantization", None) or work.card.dtype
        weights_gib = work.card.params * weight_bytes(bits) / GIB
        transfer = sum((amount for name, amount in choice.costs if name in TRANSFER), Decimal(0))
        share = float(transfer / choice.expected_usd) if choice.expected_usd else 0.0
        if weights_gib > EDGE_GIB or share <= EDGE_SHARE:
            continue
        period = "a month" if isinstance(work.job, ServeJob) else "a run"
        yield Advice(
            topic=Topic.EDGE,
            job=work.job.name,
            part=work.part or "",
            recommendation=f"Consider machines beside the data or the users: the model fits 16 GB, and transfer is "
            f"{percent(share)} of the bill.",
            figures=(
                Figure(
                    name="weights", value=weights_gib, unit="GiB",
                    how=f"{number(work.card.params)} x {number(weight_bytes(bits))} bytes",
                ),
                Figure(name=f"transfer, {period}", value=transfer, unit="USD"),
                Figure(
                    name="share of the bill", value=share, how=f"{usd(transfer)} / {usd(choice.expected_usd)} USD"
                ),
            ),
            thresholds=(
                Threshold(name="fits the edge up to", value=EDGE_GIB, unit="GiB", source=PRACTITIONERS),
                Threshold(name="transfer dominates above", value=EDGE_SHARE, unit="of the bill", source="over half"),
            ),
            confidence="What machines there cost is not known here; compare with the topic buy-or-rent.",
        )  # fmt: skip
