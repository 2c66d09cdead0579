"""Rules of thumb: they sort out what is larger than needed and dearer, and never change what is cheapest."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.model.job import Slo
from orchestrator.model.plan import Status
from orchestrator.placement import place


def rejected(make, job, *offers):
    placement = place(make.catalog(job), make.book(*offers), make.now).jobs[0].placement
    return placement, {name: each for each in placement.rejections for name in each.offers}


def test_a_small_model_trains_on_one_accelerator(make):
    one, four = make.offer("g6.xlarge", "0.35"), make.offer("g6.12xlarge", "2.0")
    placement, found = rejected(make, make.train(model=make.card(1.24)), one, four)
    assert placement.chosen.offer == one.name and placement.suitable == (one.name,)
    assert (found[four.name].reason, found[four.name].needed, found[four.name].available) == (
        "more-than-one-accelerator", 1.0, 4.0,
    )  # fmt: skip
    assert rejected(make, make.train(model=make.card(8.03)), one, four)[1] == {}


def test_a_model_below_10b_is_served_on_the_24_gb_class(make):
    small, large = make.on_demand("g6.xlarge", "0.80"), make.on_demand("p5.4xlarge", "6.88")
    placement, found = rejected(make, make.serve(models=(("only", make.card(3.21)),)), small, large)
    assert placement.chosen.offer == small.name
    assert (found[large.name].reason, found[large.name].available) == ("large-accelerator", "H100")
    named = make.serve(models=(("only", make.card(3.21)),), accelerators=("L4", "H100"))
    assert rejected(make, named, small, large)[1] == {}


def test_a_few_rows_do_not_fill_eight_accelerators(make):
    one, eight = make.offer("g6.xlarge", "0.35"), make.offer("g6.48xlarge", "4.0")
    placement, found = rejected(make, make.batch(rows=400.0), one, eight)
    assert placement.chosen.offer == one.name
    assert (found[eight.name].reason, found[eight.name].needed, found[eight.name].available) == (
        "unfilled-accelerators", 1024.0, 400.0,
    )  # fmt: skip
    assert rejected(make, make.batch(rows=1e6), one, eight)[1] == {}


@pytest.mark.parametrize("price", ["0.10", "6.88"], ids=["cheaper", "alone"])
def test_what_is_cheaper_or_alone_is_never_too_large(make, price):
    offers = [make.on_demand("p5.4xlarge", price)]
    if price == "0.10":
        offers.append(make.on_demand("g6.xlarge", "0.80"))
    placement, found = rejected(make, make.serve(models=(("only", make.card(3.21)),), slo=Slo()), *offers)
    assert placement.status is Status.PLACED and placement.chosen.accelerator == "H100" and found == {}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(small=st.decimals("0.05", "9", places=2), large=st.decimals("0.05", "9", places=2))
def test_the_cheapest_stays_the_cheapest(make, small, large):
    offers = make.on_demand("g6.xlarge", str(small)), make.on_demand("p5.4xlarge", str(large))
    alone = [place(make.catalog(make.serve()), make.book(offer), make.now).jobs[0].placement.chosen for offer in offers]
    placement, _ = rejected(make, make.serve(), *offers)
    assert placement.chosen.expected_usd == min(choice.expected_usd for choice in alone if choice)
