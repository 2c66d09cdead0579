"""Grouping of refusals into rejections."""

import pytest

from orchestrator.placement.refusal import Refusal, figure, grouped, listed, merged


def test_one_rejection_per_reason_and_figure():
    small = Refusal(reason="memory", needed=17.1, available=12.4, unit="GiB")
    large = Refusal(reason="memory", needed=17.1, available=14.0, unit="GiB")
    found = grouped(listed([("b", small), ("c", large), ("a", small)]))
    assert [(r.available, r.offers) for r in found] == [(12.4, ("a", "b")), (14.0, ("c",))]


def test_figures_are_sorted_as_numbers():
    found = grouped(listed((str(n), Refusal(reason="memory", needed=1.0, available=n)) for n in (100.0, 9.0, 20.0)))
    assert [r.available for r in found] == [9.0, 20.0, 100.0]


@pytest.mark.parametrize(
    ("reason", "needed", "available", "shown"),
    [
        ("max-price", (3.2, 3.2), (9.0, 4.0), (3.2, 4.0)),
        ("quota", (96.0, 64.0), (32.0, 32.0), (64.0, 32.0)),
        ("budget", (9.0, 4.0), (3.2, 3.2), (4.0, 3.2)),
    ],
)
def test_against_a_bound_the_nearest_figure_stands_for_all(reason, needed, available, shown):
    refusals = [
        (f"o{i}", Refusal(reason=reason, needed=n, available=a, unit="u"))
        for i, (n, a) in enumerate(zip(needed, available, strict=True))
    ]
    found = grouped(listed(refusals))
    assert len(found) == 1 and (found[0].needed, found[0].available) == shown and found[0].offers == ("o0", "o1")


def test_merging_keeps_the_order_and_joins_equals():
    memory = Refusal(reason="memory", needed=17.1, available=12.4, unit="GiB")
    region = Refusal(reason="other-region", needed="us-east-1", available=None)
    found = merged(grouped({region: ["z"], memory: ["b"]}), grouped({memory: ["a"]}))
    assert [(each.reason, each.offers) for each in found] == [("memory", ("a", "b")), ("other-region", ("z",))]


@pytest.mark.parametrize(
    ("value", "shown"), [(17.12345, 17.12), (0.000123456, 0.0001235), (43211.0, 43210.0), (0.0, 0.0)]
)
def test_figures_have_four_digits(value, shown):
    assert figure(value) == shown
