"""The solver against brute force, and its two modes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.placement.candidate import Candidates
from orchestrator.placement.pools import SharedPools
from orchestrator.placement.shares import NONE
from orchestrator.placement.slots import Slots
from orchestrator.placement.solve import Demand, Problem, solve

LIMITS = 3


def demand(name: str, level: int, *candidates: tuple[str, int, tuple[int, ...]]) -> Demand:
    """Candidates are (name, USD a month, what they take of each limit)."""
    ranked = sorted(candidates, key=lambda each: (each[1], each[0]))
    uses = np.array([takes for _, _, takes in ranked], dtype=np.int64).reshape(len(ranked), LIMITS)
    usd = np.array([float(cost) for _, cost, _ in ranked])
    found = Candidates(
        names=np.array([name for name, _, _ in ranked], dtype=object), rows=np.arange(len(ranked)),
        devices=np.ones(len(ranked), dtype=np.int64), usd=usd, usd_per_month=usd,
        uses=uses, mean_uses=uses, choice=lambda row: row,
    )  # fmt: skip
    return Demand(name=name, level=(level, 0), candidates=found, shares=NONE)


NO_POOLS = SharedPools(
    row=np.zeros(0, dtype=np.intp), usd_per_month=np.zeros(0), accelerators=np.zeros(0),
    uses=np.zeros((0, LIMITS), dtype=np.int64), index=np.zeros(0, dtype=np.intp),
)  # fmt: skip


def problem_of(demands, capacity, slots=None) -> Problem:
    return Problem(
        demands=demands, capacity=np.array(capacity, dtype=np.int64), slots=slots or always(demands), pools=NO_POOLS
    )


def always(demands) -> Slots:
    """Everything runs at once."""
    return Slots(active=np.ones((len(demands), 1), dtype=bool), relaxed=np.zeros((len(demands), 1), dtype=bool))


def run(demands, capacity, **options):
    found = solve(problem_of(demands, capacity), **options)
    assert problem_of(demands, capacity).fits(found.chosen)
    return found


def value(demands, chosen):
    """The lexicographic objective: placed by level (most important first), then the cost."""
    levels = sorted({each.level for each in demands})
    placed = [sum(1 for d, c in zip(demands, chosen, strict=True) if c >= 0 and d.level == level) for level in levels]
    usd = sum(d.candidates.usd_per_month[c] for d, c in zip(demands, chosen, strict=True) if c >= 0)
    return [-count for count in placed], usd


def brute_force(demands, capacity):
    ways = itertools.product(*(range(-1, len(each.candidates)) for each in demands))
    problem = problem_of(demands, capacity)
    return min(value(demands, way) for way in ways if problem.fits(way))


@st.composite
def problems(draw, most=4):
    demands = []
    for index in range(draw(st.integers(1, most))):
        found = [
            (f"o{k}", draw(st.integers(1, 30)), tuple(draw(st.integers(0, 6)) for _ in range(LIMITS)))
            for k in range(draw(st.integers(0, 4)))
        ]
        demands.append(demand(f"w{index}", draw(st.integers(0, 2)), *found))
    return demands, [draw(st.integers(0, 10)) for _ in range(LIMITS)]


@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_exact_agrees_with_brute_force(problem):
    demands, capacity = problem
    found = run(demands, capacity)
    assert found.mode == "exact"
    assert value(demands, found.chosen) == brute_force(demands, capacity)
    assert float(found.lower_bound_usd) == value(demands, found.chosen)[1]


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_relaxed_is_no_better_than_the_best_and_its_bound_is_below(problem):
    demands, capacity = problem
    found = run(demands, capacity, most_exact=0)
    mine, best = value(demands, found.chosen), brute_force(demands, capacity)
    assert float(found.lower_bound_usd) <= mine[1] + 1e-6
    # So few works are all freed, so that the second step is the exact program.
    assert mine == best


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_relaxed_comes_within_a_hundredth_of_its_bound_when_there_is_much_to_place(seed):
    random = np.random.default_rng(seed)
    demands = [
        demand(
            f"w{index:03}",
            0,
            *(
                (f"o{k}", int(random.integers(50, 500)), tuple(random.integers(1, 20, LIMITS).tolist()))
                for k in range(8)
            ),
        )
        for index in range(200)
    ]
    found = run(demands, [200 * 7] * LIMITS, most_exact=0)
    usd = value(demands, found.chosen)[1]
    assert found.mode == "relaxed" and all(row >= 0 for row in found.chosen)
    assert usd <= float(found.lower_bound_usd) * 1.01


def test_an_important_job_is_placed_though_two_others_would_fit_instead():
    important = demand("a", 0, ("big", 9, (4, 0, 0)))
    others = [demand(name, 1, ("small", 1, (2, 0, 0))) for name in ("b", "c")]
    assert run([important, *others], [4, 0, 0]).chosen == (0, -1, -1)


def test_equally_dear_candidates_are_taken_by_name():
    same = [(name, 5, (1, 0, 0)) for name in ("b", "a", "c")]
    crowd = [demand(name, 0, *same) for name in ("x", "y", "z")]
    assert sorted(run(crowd, [2, 0, 0]).chosen) == [-1, 0, 0]


@pytest.mark.parametrize("capacity", [0, 1, 2, 3])
def test_as_many_as_possible_are_placed(capacity):
    crowd = [demand(name, 0, ("o", 5, (1, 0, 0))) for name in ("x", "y", "z")]
    assert sum(row >= 0 for row in run(crowd, [capacity, 0, 0]).chosen) == capacity


def test_work_that_never_meets_shares_no_limit():
    demands = [demand(name, 0, ("o", 5, (3, 0, 0))) for name in ("day", "night")]
    apart = Slots(active=np.eye(2, dtype=bool), relaxed=np.zeros((2, 2), dtype=bool))
    assert solve(problem_of(demands, [3, 0, 0], apart)).chosen == (0, 0)
    assert sorted(solve(problem_of(demands, [3, 0, 0])).chosen) == [-1, 0]


def test_nothing_to_place():
    assert run([], [0, 0, 0]).chosen == () and run([demand("a", 0)], [0, 0, 0]).chosen == (-1,)
