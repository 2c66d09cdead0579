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
from orchestrator.model.plan import Choice
from orchestrator.placement.work import Work

LARGE_PARAMS = 30e9
TIMES_CHEAPER, KEPT_ACCURACY = 10.0, 0.95
"""70B to 8B: ten times cheaper, 95% and more of the accuracy on the task (practitioner reports, 2024-2026)."""

TRAINING_USD = Decimal(500)
"""Upper end of a 7B fine-tune on 8 x A10G spot (practitioner reports, 2024-2026: 300 to 500)."""

ENGINEER_HOURS = 80.0
"""Two weeks to make data, train and check accuracy. Assumption."""

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
    for work, choice in chosen(found):
        job, bill = work.job, float(choice.expected_usd)
        if not isinstance(job, ServeJob) or job.task is not Task.GENERATE or work.card.params < LARGE_PARAMS:
            continue
        if bill and payback_months(bill, float(once_usd(rate))) <= PAYBACK_MONTHS:
            yield _advice(work, choice, rate)


def _advice(work: Work, choice: Choice, usd_per_hour: Decimal) -> Advice:
    bill, cost = float(choice.expected_usd), once_usd(usd_per_hour)
    saving = bill * (1.0 - 1.0 / TIMES_CHEAPER)
    months = payback_months(bill, float(cost))
    how = f"{usd(TRAINING_USD)} USD of machines + {ENGINEER_HOURS:g} h x {usd_per_hour.normalize():f} USD/h"
    less = f"{usd(bill)} x (1 - 1 / {TIMES_CHEAPER:g})"
    return Advice(
        topic=Topic.DISTIL,
        job=work.job.name,
        part=work.part or "",
        recommendation=f"Distil the {params(work.card.params)} model into a small one for this task: at a tenth of "
        f"the bill it has paid for itself after {number(months)} months.",
        figures=(
            Figure(name="the large model, a month", value=choice.expected_usd, unit="USD"),
            Figure(name="saved", value=saving, unit="USD a month", how=less),
            Figure(name="made once for", value=cost, unit="USD", how=how),
            Figure(name="paid back after", value=months, unit="months", how=f"{usd(cost)} / {usd(saving)}"),
        ),
        thresholds=_thresholds(),
        confidence="Whether the small model keeps the accuracy shows only on your own held-out data.",
    )


def _thresholds() -> tuple[Threshold, ...]:
    rows = (
        ("a large model, from", LARGE_PARAMS, "parameters", "judgement"),
        ("times cheaper, 70B to 8B", TIMES_CHEAPER, "", PRACTITIONERS),
        ("of the accuracy kept, at least", KEPT_ACCURACY, "", PRACTITIONERS),
        ("7B fine-tune on 8 x A10G spot, up to", float(TRAINING_USD), "USD", PRACTITIONERS),
        ("work of an engineer", ENGINEER_HOURS, "h", "assumption"),
        ("paid back within", PAYBACK_MONTHS, "months", "judgement"),
    )
    return tuple(Threshold(name=name, value=value, unit=unit, source=source) for name, value, unit, source in rows)
