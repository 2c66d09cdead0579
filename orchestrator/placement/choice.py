"""A choice: one way on one offer, from columns to the plan's own nouns and exact money."""

from decimal import Decimal

from orchestrator.estimate.calibration import BASES
from orchestrator.estimate.money import round_usd
from orchestrator.model.plan import Choice, Parallelism, Pool
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.ways import Ways


def choice_of(ways: Ways, shelf: Shelf, row: int, option: int) -> Choice:
    """Row and option of the ways; costs that are zero are left out."""
    offer = shelf.offers[int(ways.rows[row])]
    instance = offer.instance
    pools = _pools(ways, shelf, row, option)
    costs = {name: round_usd(float(column[row, option])) for name, column in ways.costs.items()}
    return Choice(
        offer=offer.name,
        instance_type=instance.name,
        accelerator=instance.accelerator.name if instance.accelerator else None,
        accelerators_per_instance=instance.accelerators,
        instances=float(sum(pool.instances for pool in pools)),
        market=offer.market,
        zone=offer.zone,
        pools=pools,
        parallelism=Parallelism(tensor=int(ways.tensor[row, option]), data=int(ways.data[row, option])),
        usd_per_hour=sum((shelf.price_of(pool.offer) * Decimal(repr(pool.instances)) for pool in pools), Decimal(0)),
        expected_usd=sum(costs.values(), Decimal(0)),
        expected_seconds=round(float(ways.expected_s[row, option]), 3),
        costs=tuple((name, usd) for name, usd in costs.items() if usd > 0),
        basis=BASES[int(ways.basis[row])],
        peak_instances=float(ways.peak[row, option]),
        device_seconds=float(ways.device_s[row, option]),
    )


def _pools(ways: Ways, shelf: Shelf, row: int, option: int) -> tuple[Pool, ...]:
    """The on-demand base first, then spot pools, best first; else the one offer."""
    spread = ways.pools
    if spread is None or not spread.count[row, option]:
        return (_pool(shelf, int(ways.rows[row]), int(ways.instances[row, option])),)
    base, each = int(spread.base[row, option]), int(spread.each[row, option])
    spot = [_pool(shelf, int(other), each) for other in spread.order[row, : int(spread.count[row, option])]]
    return (_pool(shelf, int(spread.base_row[row]), base), *spot) if base else tuple(spot)


def _pool(shelf: Shelf, row: int, instances: int) -> Pool:
    offer = shelf.offers[row]
    return Pool(offer=offer.name, market=offer.market, zone=offer.zone, instances=float(instances))
