"""The solver against brute force, and its two modes."""

import itertools
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.offer import Market
from orchestrator.model.plan import Basis, Choice, Parallelism
from orchestrator.placement.candidate import Candidate
from orchestrator.placement.limits import Limit, exceeded
from orchestrator.placement.solve import Demand, solve, taken


def candidate(name: str, usd: int, **uses: int) -> Candidate:
    choice = Choice(
        offer=name, instance_type=name, accelerator=None, accelerators_per_instance=0, instances=1.0,
        market=Market.SPOT, zone="z", pools=(), parallelism=Parallelism(tensor=1, data=1), usd_per_hour=Decimal(usd),
        expected_usd=Decimal(usd), expected_seconds=1.0, costs=(), basis=Basis.ROOFLINE,
    )  # fmt: skip
    return Candidate(
        choice=choice, usd_per_month=Decimal(usd), uses=tuple(sorted((k, Decimal(v)) for k, v in uses.items()))
    )


def limit(key: str, capacity: int) -> Limit:
    return Limit(key=key, reason=key, capacity=Decimal(capacity), unit="")


def demand(name: str, level: int, *candidates: Candidate) -> Demand:
    ranked = sorted(candidates, key=lambda each: each.rank)
    return Demand(name=name, level=(level, 0), candidates=tuple(ranked))


def value(demands, chosen):
    """The lexicographic objective: placed by level (most important first), then the cost."""
    levels = sorted({each.level for each in demands})
    placed = [sum(1 for d, c in zip(demands, chosen, strict=True) if c and d.level == level) for level in levels]
    return [-count for count in placed], sum(c.usd_per_month for c in chosen if c)


def brute_force(demands, limits):
    ways = itertools.product(*((None, *each.candidates) for each in demands))
    return min(value(demands, way) for way in ways if exceeded(taken(way), {}, limits) is None)


@st.composite
def problems(draw):
    keys = ("budget", "workers", "quota")
    demands = []
    for index in range(draw(st.integers(1, 4))):
        found = [
            candidate(f"o{k}", draw(st.integers(1, 30)), **{key: draw(st.integers(0, 6)) for key in keys})
            for k in range(draw(st.integers(0, 4)))
        ]
        demands.append(demand(f"w{index}", draw(st.integers(0, 2)), *found))
    return demands, tuple(limit(key, draw(st.integers(0, 10))) for key in keys)


@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_exact_agrees_with_brute_force(problem):
    demands, limits = problem
    found = solve(demands, limits)
    assert found.mode == "exact"
    assert exceeded(taken(found.chosen), {}, limits) is None
    assert value(demands, found.chosen) == brute_force(demands, limits)
    assert found.lower_bound_usd == found.objective_usd


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_greedy_keeps_the_limits_and_its_bound_is_below(problem):
    demands, limits = problem
    found = solve(demands, limits, most_variables=0)
    assert exceeded(taken(found.chosen), {}, limits) is None
    assert found.lower_bound_usd <= found.objective_usd
    assert value(demands, found.chosen)[0] >= brute_force(demands, limits)[0]


def test_an_important_job_is_placed_though_two_others_would_fit_instead():
    limits = (limit("budget", 4),)
    important = demand("a", 0, candidate("big", 9, budget=4))
    others = [demand(name, 1, candidate("small", 1, budget=2)) for name in ("b", "c")]
    assert [c is not None for c in solve([important, *others], limits).chosen] == [True, False, False]


def test_equally_dear_candidates_are_taken_by_name():
    limits = (limit("workers", 2),)
    same = [candidate(name, 5, workers=1) for name in ("b", "a", "c")]
    crowd = [demand(name, 0, *same) for name in ("x", "y", "z")]
    chosen = solve(crowd, limits).chosen
    assert sorted(c.choice.offer for c in chosen if c) == ["a", "a"]


@pytest.mark.parametrize("capacity", [0, 1, 2, 3])
def test_as_many_as_possible_are_placed(capacity):
    crowd = [demand(name, 0, candidate("o", 5, workers=1)) for name in ("x", "y", "z")]
    assert sum(c is not None for c in solve(crowd, (limit("workers", capacity),)).chosen) == capacity


def test_nothing_to_place():
    assert solve([], ()).chosen == () and solve([demand("a", 0)], ()).chosen == (None,)
