"""From a solution's shares to choices: who pays which part of the instances that are shared."""

from collections.abc import Iterator, Sequence

from orchestrator.estimate import money
from orchestrator.estimate.calibration import BASES
from orchestrator.estimate.money import round_usd
from orchestrator.model.plan import Choice, Parallelism, Pool
from orchestrator.placement.shares import Shares
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.solve import Problem


class Sharing:
    """All shares of a solution. The instances of a pool are paid for in proportion to the shares, rests included."""

    def __init__(self, problem: Problem, shelf: Shelf, chosen: Sequence[int]) -> None:
        self._problem, self._shelf, self._chosen = problem, shelf, chosen
        self._fractions = problem.fractions(chosen)
        self._instances = problem.instances(chosen)

    def choices(self) -> Iterator[Choice | None]:
        """The share chosen for each demand, None for those without."""
        for demand, row in zip(self._problem.demands, self._chosen, strict=True):
            share = row - len(demand.candidates)
            yield self._choice(demand.shares, share) if share >= 0 else None

    def _choice(self, shares: Shares, share: int) -> Choice:
        row, fraction = int(shares.rows[share]), float(shares.fraction[share])
        pool = int(self._problem.pools.index[row])
        offer = self._shelf.offers[row]
        instance = offer.instance
        assert instance.accelerator is not None
        instances = self._instances[pool] * fraction / self._fractions[pool]
        compute = round_usd(float(offer.price_usd_per_hour) * instances * money.HOURS_PER_MONTH)
        costs = {**{name: round_usd(usd) for name, usd in shares.costs.items()}, "compute": compute}
        return Choice(
            offer=offer.name,
            instance_type=instance.name,
            accelerator=instance.accelerator.name,
            accelerators_per_instance=instance.accelerators,
            instances=instances,
            market=offer.market,
            zone=offer.zone,
            pools=(Pool(offer=offer.name, market=offer.market, zone=offer.zone, instances=instances),),
            parallelism=Parallelism(tensor=1, data=1),
            usd_per_hour=round_usd(float(offer.price_usd_per_hour) * instances),
            expected_usd=sum(costs.values(), start=round_usd(0.0)),
            expected_seconds=money.SECONDS_PER_MONTH,
            costs=tuple(sorted(costs.items())),
            basis=BASES[int(shares.basis[share])],
            share=fraction,
            peak_instances=instances,
        )
