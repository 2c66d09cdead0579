"""Which offer to try next."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.model.instant import from_iso, to_iso
from orchestrator.policy.candidates import AVOID_ABOVE, HALF_LIFE_S, failure_score, pick
from orchestrator.policy.observed import PoolFailure

NOW = from_iso("2026-11-30T12:00Z")


def failed(offer: str, ago_s: float) -> PoolFailure:
    return PoolFailure(offer=offer, at=to_iso(NOW - timedelta(seconds=ago_s)))


@pytest.mark.parametrize(
    ("failures", "leaving", "expected"),
    [
        pytest.param([], None, "a", id="best-first"),
        pytest.param([], "a", "b", id="never-the-one-we-leave"),
        pytest.param([failed("a", 1)], None, "b", id="fresh-failure"),
        pytest.param([failed("a", HALF_LIFE_S + 1)], None, "a", id="forgiven-after-a-half-life"),
        pytest.param([failed("a", 1), failed("b", 2)], None, "c", id="two-fail"),
        pytest.param(
            [failed("a", 900), failed("a", 1), failed("b", 400), failed("c", 10)], None, "b", id="least-blamed"
        ),
        pytest.param([failed("b", 10), failed("c", 500)], "a", "c", id="least-blamed-of-the-others"),
    ],
)
def test_pick(failures: list[PoolFailure], leaving: str | None, expected: str) -> None:
    assert pick(("a", "b", "c"), failures, NOW, leaving=leaving) == expected


def test_nothing_is_left_of_a_single_candidate() -> None:
    assert pick(("a",), [], NOW, leaving="a") is None
    assert pick((), [], NOW) is None


def test_score_halves_in_a_half_life() -> None:
    assert failure_score("a", [failed("a", 0)], NOW) == pytest.approx(1.0)
    assert failure_score("a", [failed("a", HALF_LIFE_S)], NOW) == pytest.approx(AVOID_ABOVE)
    assert failure_score("a", [failed("b", 0)], NOW) == 0


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), unique=True),
    st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 7200)), max_size=8),
    st.sampled_from([None, *"abcd"]),
)
def test_picks_an_offer_that_is_open_to_us_whenever_there_is_one(
    offers: list[str], failures: list[tuple[str, float]], leaving: str | None
) -> None:
    found = pick(offers, [failed(*one) for one in failures], NOW, leaving=leaving)
    assert (found is None) == (not set(offers) - {leaving})
    assert found is None or (found in offers and found != leaving)
