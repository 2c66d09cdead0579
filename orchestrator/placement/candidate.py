"""Candidates: for one piece of work, the best way on each offer that suits it, as columns, cheapest first."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orchestrator.model.plan import Choice
from orchestrator.placement.choice import choice_of
from orchestrator.placement.limits import Limit, capacities, exceeded
from orchestrator.placement.refusal import Refusal, Refusals
from orchestrator.placement.shelf import Shelf
from orchestrator.placement.verdict import first_broken
from orchestrator.placement.ways import Ways

NO_WAY = Refusal(reason="no-way", needed=None, available=None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """One row per suitable offer, sorted by cost, then by name.

    `rows` are the offers' rows of the shelf, `devices` how many accelerators (or CPU machines) are taken in all.
    `usd` is the expected cost of a run (a month of a service), `usd_per_month` that times the runs of a month; `uses`
    are peak amounts of each limit and `mean_uses` those at a service's mean load, (rows, limits). `choice(i)` is row i
    in words and Decimals.
    """

    names: NDArray[np.object_]
    rows: NDArray[np.intp]
    devices: NDArray[np.int64]
    usd: NDArray[np.float64]
    usd_per_month: NDArray[np.float64]
    uses: NDArray[np.int64]
    mean_uses: NDArray[np.int64]
    choice: Callable[[int], Choice]

    def __len__(self) -> int:
        return len(self.names)


def candidates(
    ways: Ways, shelf: Shelf, each: NDArray[np.int64], limits: tuple[Limit, ...], runs_per_month: float
) -> tuple[Candidates, Refusals]:
    """The cheapest way on every offer that keeps the cluster's limits by itself, and the refusals of the other offers.

    `each` is what one instance of each offer takes of the limits. An offer without such a way is refused for the limit
    that its first (smallest) otherwise possible way breaks, else for why its last, most capable way is impossible.
    """
    usd = ways.usd
    possible = ways.possible & np.isfinite(usd)
    uses = _uses(ways, each, at_peak=True)
    mean_uses = uses if ways.peak is ways.instances else _uses(ways, each, at_peak=False)
    within = (uses <= capacities(limits)).all(axis=2)
    cost = np.where(possible & within, usd, np.inf)
    option = cost.argmin(axis=1)
    at = np.arange(len(ways.rows))
    suits = np.isfinite(cost[at, option])
    ranked = np.flatnonzero(suits)
    ranked = ranked[np.lexsort((ranked, cost[ranked, option[ranked]]))]
    chosen = option[ranked]
    bare = replace(ways, verdicts=())  # nobody asks again why, and a thousand jobs' verdicts are large
    found = Candidates(
        names=shelf.names[ways.rows[ranked]],
        rows=ways.rows[ranked],
        devices=ways.tensor[ranked, chosen] * ways.data[ranked, chosen],
        usd=cost[ranked, chosen],
        usd_per_month=np.round(cost[ranked, chosen] * runs_per_month, 6),
        uses=uses[ranked, chosen],
        mean_uses=mean_uses[ranked, chosen],
        choice=lambda i: choice_of(bare, shelf, int(ranked[i]), int(chosen[i])),
    )
    return found, _refused(ways, shelf, np.flatnonzero(~suits), possible, uses, limits)


def _uses(ways: Ways, each: NDArray[np.int64], *, at_peak: bool) -> NDArray[np.int64]:
    """Amounts of every limit at the peak or at the mean load: (rows, options, limits)."""
    instances = ways.peak if at_peak else ways.instances
    uses: NDArray[np.int64] = instances[:, :, None] * each[ways.rows][:, None, :]
    pools = ways.pools
    if pools is None:
        return uses
    in_each, in_base = (pools.each_at_peak, pools.base_at_peak) if at_peak else (pools.each, pools.base)
    spot = np.cumsum(np.where((pools.order >= 0)[:, :, None], each[pools.order], 0), axis=1)
    several = np.take_along_axis(spot, np.maximum(pools.count - 1, 0)[:, :, None], axis=1)
    base = np.where((pools.base_row >= 0)[:, None], each[pools.base_row], 0)[:, None, :]
    return np.where((pools.count > 0)[:, :, None], in_each[:, :, None] * several + in_base[:, :, None] * base, uses)


def _refused(
    ways: Ways,
    shelf: Shelf,
    refused: NDArray[np.intp],
    possible: NDArray[np.bool_],
    uses: NDArray[np.int64],
    limits: tuple[Limit, ...],
) -> Refusals:
    """Why each row has no way."""
    found: Refusals = {}
    could: NDArray[np.bool_] = possible.max(axis=1, initial=False)
    none_taken = np.zeros(len(limits), dtype=np.int64)
    for row in refused[could[refused]].tolist():
        limit = exceeded(uses[row, possible[row].argmax()], none_taken, limits)
        assert limit is not None, shelf.names[ways.rows[row]]
        found.setdefault(limit[0].refusal(limit[1], limit[2]), []).append(shelf.names[ways.rows[row]])
    never = refused[~could[refused]]
    last = ways.considered.shape[1] - 1 - ways.considered[:, ::-1].argmax(axis=1)
    # What does not depend on the price is the same for all offers of a machine in a market.
    _, firsts, which = np.unique(shelf.twins[ways.rows[never]], return_index=True, return_inverse=True)
    for twin, first in enumerate(firsts.tolist()):
        row = int(never[first])
        refusal = first_broken(ways.verdicts, row, int(last[row])) or NO_WAY
        found.setdefault(refusal, []).extend(shelf.names[ways.rows[never[which == twin]]].tolist())
    return found
