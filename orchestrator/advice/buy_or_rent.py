"""Topic: accelerators that are used so much that owning them would be cheaper."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.advice.advice import Advice, Figure, Threshold, Topic
from orchestrator.advice.purchase import (
    HOST_SHARE,
    HOSTING_USD_PER_KW_MONTH,
    OVERHEAD_WATTS,
    YEARS,
    Purchase,
    break_even_share,
    purchase_of,
)
from orchestrator.advice.run_costs import engineer
from orchestrator.advice.situation import Situation, chosen
from orchestrator.advice.words import number, percent, usd
from orchestrator.estimate.money import HOURS_PER_MONTH, SECONDS_PER_HOUR
from orchestrator.estimate.profile import PRACTITIONERS
from orchestrator.model.job import ServeJob
from orchestrator.placement.runs import runs_per_month

LEAST_SHARE = 0.8
LEAST_DAYS = 200.0
DAYS_PER_YEAR = 365.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Use of one accelerator type: `steady` run all hours, `largest` is the most that one run takes at once.
    `hours` are accelerator-hours a month, `usd` what they cost rented."""

    accelerator: str
    steady: float
    largest: float
    hours: float
    usd: float

    @property
    def owned(self) -> float:
        """How many one would own: those of services, or of the largest run where there is none."""
        return self.steady or self.largest

    @property
    def share(self) -> float:
        """Part of their hours that the owned ones would be used, at most 1."""
        return min(self.hours / (self.owned * HOURS_PER_MONTH), 1.0)


def uses(found: Situation) -> tuple[Use, ...]:
    """By name of accelerator. Services count all hours of a month, runs their expected hours x runs a month."""
    steady: dict[str, float] = {}
    largest: dict[str, float] = {}
    hours: dict[str, float] = {}
    paid: dict[str, float] = {}
    for work, choice in chosen(found):
        name = choice.accelerator
        if name is None:
            continue
        count = choice.instances * choice.accelerators_per_instance
        if isinstance(work.job, ServeJob):
            steady[name] = steady.get(name, 0.0) + count
            each = HOURS_PER_MONTH
        else:
            largest[name] = max(largest.get(name, 0.0), count)
            each = choice.expected_seconds / SECONDS_PER_HOUR * runs_per_month(work.job, found.plan.now)
        hours[name] = hours.get(name, 0.0) + count * each
        paid[name] = paid.get(name, 0.0) + float(choice.usd_per_hour) * each
    return tuple(
        Use(
            accelerator=name,
            steady=steady.get(name, 0.0),
            largest=largest.get(name, 0.0),
            hours=hours[name],
            usd=paid[name],
        )
        for name in sorted(hours)
        if hours[name] > 0
    )


def buy_or_rent(found: Situation) -> Iterator[Advice]:
    """One piece of advice for every accelerator type that the plan uses and that has a purchase price."""
    rate = engineer(found.catalog.cluster).engineer_usd_per_hour
    assert rate is not None
    for use in uses(found):
        own = purchase_of(use.accelerator)
        if own is not None:
            yield _advice(use, own, rate)


def _advice(use: Use, own: Purchase, usd_per_hour: Decimal) -> Advice:
    rent = use.usd / use.hours
    even = break_even_share(own, rent)
    return Advice(
        topic=Topic.BUY,
        recommendation=_sentence(use, even),
        figures=(*_figures(use, own, rent, even), *_saved(use, own, rent, usd_per_hour)),
        thresholds=_thresholds(own),
        confidence="Purchase prices, host and hosting are assumptions: get a quote. Services may end before two "
        "years, and people who run the machines are not counted.",
    )


def pays(use: Use, even: float) -> bool:
    """Owning pays when the use is above break-even and as high as practitioners ask for."""
    busy = use.share >= LEAST_SHARE or use.share * DAYS_PER_YEAR > LEAST_DAYS
    return busy and use.share > even


def _sentence(use: Use, even: float) -> str:
    many = f"{use.owned:g} x {use.accelerator}"
    used = f"{many} would be used {percent(use.share)} of the time"
    if pays(use, even):
        return f"Consider owning: {used}, and owning is cheaper from {percent(even)} on, if that holds for two years."
    if use.share > even:
        return f"Rent: {used}, above the break-even of {percent(even)} but too little to count on for two years."
    if even > 1.0:
        return f"Rent: {used}, and at this rent owning is dearer even at 100%."
    return f"Rent: {used}, and owning is cheaper only from {percent(even)} on."


def _figures(use: Use, own: Purchase, rent: float, even: float) -> Iterator[Figure]:
    of = use.accelerator
    kept = use.owned
    yield Figure(
        name="accelerators to own", value=kept, how="those of services" if use.steady else "those of the largest run"
    )
    how = "services all hours, runs their hours x runs a month"
    yield Figure(name="use", value=use.hours, unit="accelerator-hours a month", how=how)
    how = f"{number(use.hours)} h / ({kept:g} x {HOURS_PER_MONTH:g} h), at most 1"
    yield Figure(name="share of the time used", value=use.share, how=how)
    how = f"{number(use.share)} x {DAYS_PER_YEAR:g} days"
    yield Figure(name="full days a year", value=use.share * DAYS_PER_YEAR, unit="days", how=how)
    how = f"{usd(use.usd)} USD / {number(use.hours)} h"
    yield Figure(name="rent", value=rent, unit="USD per accelerator-hour", how=how)
    how = f"{usd(own.price_usd)} USD x {1.0 + HOST_SHARE:g} for its share of the host"
    yield Figure(name="purchase", value=own.invested_usd, unit="USD", how=how, of=of)
    how = f"{own.watts / 1000:g} kW x {OVERHEAD_WATTS:g} x {HOSTING_USD_PER_KW_MONTH:g} USD"
    yield Figure(name="power and hosting", value=own.hosting_usd_per_month, unit="USD a month", how=how, of=of)
    how = f"({usd(own.invested_usd)} / {YEARS * 12:g} + {usd(own.hosting_usd_per_month)}) / {HOURS_PER_MONTH:g}"
    yield Figure(name="own, used or not", value=own.usd_per_hour, unit="USD per accelerator-hour", how=how, of=of)
    how = f"{number(own.usd_per_hour)} / {number(rent)} USD per accelerator-hour"
    yield Figure(name="break-even share of the time", value=even, how=how)


def _saved(use: Use, own: Purchase, rent: float, usd_per_hour: Decimal) -> Iterator[Figure]:
    """What owning saves, and how much of somebody's time running the machines may take before it does not."""
    saving = (rent * use.share - own.usd_per_hour) * use.owned * HOURS_PER_MONTH
    if saving <= 0.0:
        return
    how = f"({number(rent)} x {number(use.share)} - {number(own.usd_per_hour)}) x {use.owned:g} x {HOURS_PER_MONTH:g} h"
    yield Figure(name="owning saves", value=saving, unit="USD a month", how=how)
    how = f"{usd(saving)} / {usd_per_hour.normalize():f} USD/h"
    name = "gone when running them takes somebody"
    yield Figure(name=name, value=saving / float(usd_per_hour), unit="h a month", how=how)


def _thresholds(own: Purchase) -> tuple[Threshold, ...]:
    return (
        Threshold(name="owning pays from a use, 24/7, of", value=LEAST_SHARE, unit="", source=PRACTITIONERS),
        Threshold(name="or above", value=LEAST_DAYS, unit="full days a year", source=PRACTITIONERS),
        Threshold(name="written off over", value=YEARS, unit="years", source=PRACTITIONERS),
        Threshold(name="purchase price", value=float(own.price_usd), unit="USD", source=own.source),
        Threshold(name="host, on top of the price", value=HOST_SHARE, unit="", source="assumption"),
        Threshold(
            name="hosting with power", value=HOSTING_USD_PER_KW_MONTH, unit="USD per kW and month", source="assumption"
        ),
    )
