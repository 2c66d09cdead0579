"""What is spent beside machines, and jobs whose bill is mostly transfer."""

import pytest

from orchestrator.advice.overheads import HIGH_SHARE, edge, monthly_usd, overheads


def test_the_reported_bill_leaves_17_percent_of_transfer():
    assert pytest.approx(0.1698, abs=1e-4) == HIGH_SHARE


def test_costs_add_up_to_the_objective_of_the_plan(make):
    found = make.situation([make.serve(), make.train(), make.batch()], [make.offer("g6.xlarge", "0.35")])
    total = sum(monthly_usd(found).values())
    assert float(total) == pytest.approx(float(found.plan.objective_usd_per_month), abs=1e-4)


def test_far_data_shows(make, figure):
    far = make.batch(data_location="eu-west-1", data_gb=10_000.0)
    found = make.situation([far], [make.offer("g6.xlarge", "0.35")])
    (whole,) = overheads(found)
    (note,) = edge(found)
    assert "place work in the region and zone of its data" in whole.recommendation
    assert figure(note, "transfer, a run") == 200  # 10,000 GB x 0.02 USD
    assert figure(note, "weights") == pytest.approx(1e9 / 2**30)
    assert note.recommendation.startswith("Consider machines beside the data")


def test_near_data_does_not(make):
    found = make.situation([make.batch()], [make.offer("g6.xlarge", "0.35")])
    (whole,) = overheads(found)
    assert whole.recommendation.startswith("Transfer is 0% of the bill")
    assert list(edge(found)) == []


def test_nothing_placed_nothing_said(make):
    assert list(overheads(make.situation([make.serve()], []))) == []
