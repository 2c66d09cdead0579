"""A candidate: one way to do a piece of work on one offer, priced, with what it takes of the shared limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.model.offer import Offer
from orchestrator.model.plan import Basis, Choice, Parallelism, Pool
from orchestrator.placement.limits import Limit, exceeded, uses
from orchestrator.placement.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """`usd_per_month` is the choice's expected cost times its runs a month; `uses` are peak amounts by limit."""

    choice: Choice
    usd_per_month: Decimal
    uses: tuple[tuple[str, Decimal], ...]

    @property
    def rank(self) -> tuple[Decimal, str]:
        """Cheaper first, then by name."""
        return self.choice.expected_usd, self.choice.offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How much of an offer the work takes: mean and peak instances, parallelism, time and named costs in USD."""

    instances: int
    peak_instances: int
    tensor: int
    data: int
    expected_s: float
    costs: Mapping[str, Decimal]


def priced(offer: Offer, sizing: Sizing, runs_per_month: float) -> Candidate:
    """The candidate of a sizing; costs that are zero are left out."""
    costs = tuple(sorted((name, usd) for name, usd in sizing.costs.items() if usd > 0))
    expected_usd = sum((usd for _, usd in costs), Decimal(0))
    instance = offer.instance
    pool = Pool(offer=offer.name, market=offer.market, zone=offer.zone, instances=float(sizing.instances))
    choice = Choice(
        offer=offer.name,
        instance_type=instance.name,
        accelerator=instance.accelerator.name if instance.accelerator else None,
        accelerators_per_instance=instance.accelerators,
        instances=float(sizing.instances),
        market=offer.market,
        zone=offer.zone,
        pools=(pool,),
        parallelism=Parallelism(tensor=sizing.tensor, data=sizing.data),
        usd_per_hour=offer.price_usd_per_hour * sizing.instances,
        expected_usd=expected_usd,
        expected_seconds=round(sizing.expected_s, 3),
        costs=costs,
        basis=Basis.ROOFLINE,
    )
    return Candidate(
        choice=choice,
        usd_per_month=expected_usd * Decimal(repr(runs_per_month)),
        uses=tuple(sorted(uses(offer, sizing.peak_instances).items())),
    )


def best(ways: Iterable[Candidate | Refusal], all_limits: tuple[Limit, ...]) -> Candidate | Refusal:
    """The cheapest way that keeps the cluster's limits by itself.

    Without one: the limit that the first (smallest) otherwise possible way breaks, else why the last, most capable way
    is impossible.
    """
    cheapest: Candidate | None = None
    broken: Refusal | None = None
    impossible: Refusal | None = None
    for way in ways:
        if isinstance(way, Refusal):
            impossible = way
            continue
        limit = exceeded(dict(way.uses), {}, all_limits)
        if limit is not None:
            broken = broken or limit
        elif cheapest is None or way.choice.expected_usd < cheapest.choice.expected_usd:
            cheapest = way
    return cheapest or broken or impossible or Refusal(reason="no-way", needed=None, available=None)
