"""Topic: a large model's bill pays for the training of a small one within a quarter."""

from collections.abc import Iterator
from decimal import Decimal

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.run_costs import engineer
from orchestrator.advice.situation import Situation, chosen
from orchestrator.advice.words import number, params, usd
from orchestrator.estimate.money import round_usd
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob, Task

LARGE_PARAMS = 30e9
TIMES_CHEAPER = 10.0
KEPT_ACCURACY = 0.95
TRAINING_USD = Decimal(500)
ENGINEER_HOURS = 80.0
PAYBACK_MONTHS = 3.0


def once_usd(usd_per_hour: Decimal) -> Decimal:
    """Cost of making the small model: the machines and two weeks of an engineer."""
    return round_usd(TRAINING_USD + usd_per_hour * Decimal(repr(ENGINEER_HOURS)))


def payback_months(bill_usd: float, cost_usd: float) -> float:
    """Months until the saving, bill x (1 - 1/10), has paid the cost."""
    return cost_usd / (bill_usd * (1.0 - 1.0 / TIMES_CHEAPER))


def distil(found: Situation) -> Iterator[Advice]:
    """For every generating model of at least 30e9 parameters whose small successor would be paid in three months."""
    rate = engineer(found.catalog.cluster).engineer_usd_per_hour
    assert rate is not None
    cost = float(once_usd(rate))
    for work, choice in chosen(found):
        job, bill = work.job, float(choice.expected_usd)
        if (
            not isinstance(job, ServeJob)
            or job.task is not Task.GENERATE
            or work.card.params < LARGE_PARAMS
            or not bill
        ):
            continue
        months = payback_months(bill, cost)
        if months > PAYBACK_MONTHS:
            continue
        saving = bill * (1.0 - 1.0 / TIMES_CHEAPER)
        how = f"{usd(TRAINING_USD)} USD of machines + {ENGINEER_HOURS:g} h x {rate.normalize():f} USD/h"
        yield Advice(
            topic=Topic.DISTIL,
            job=job.name,
            part=work.part or "",
            recommendation=f"Distil the {params(work.card.params)} model into a small one for this task: at a tenth of "
            f"the bill it has paid for itself after {number(months)} months.",
            figures=(
                Figure(name="the large model, a month", value=choice.expected_usd, unit="USD"),
                Figure(
                    name="saved",
                    value=saving,
                    unit="USD a month",
                    how=f"{usd(bill)} x (1 - 1 / {TIMES_CHEAPER:g})",
                ),
                Figure(name="made once for", value=cost, unit="USD", how=how),
                Figure(name="paid back after", value=months, unit="months", how=f"{usd(cost)} / {usd(saving)}"),
            ),
            thresholds=(
                Threshold(name="a large model, from", value=LARGE_PARAMS, unit="parameters", source="judgement"),
                Threshold(name="times cheaper, 70B → 8B", value=TIMES_CHEAPER, unit="", source=PRACTITIONERS),
                Threshold(name="of the accuracy kept, at least", value=KEPT_ACCURACY, unit="", source=PRACTITIONERS),
                Threshold(
                    name="7B fine-tune on 8 x A10G spot, up to", value=float(TRAINING_USD), unit="USD",
                    source=PRACTITIONERS,
                ),
                Threshold(name="work of an engineer", value=ENGINEER_HOURS, unit="h", source="assumption"),
                Threshold(name="paid back within", value=PAYBACK_MONTHS, unit="months", source="judgement"),
            ),
            confidence="Whether the small model keeps the accuracy shows only on your own held-out data.",
        )  # fmt: skip
