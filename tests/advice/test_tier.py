"""Which tier a service's traffic calls for."""

from decimal import Decimal

import pytest

from orchestrator.advice.tier import TIERS, Tier, tier
from orchestrator.advice.traffic import traced
from orchestrator.model.job import Overflow, Pattern, Replicas


def only(found, traffic=None):
    (advice,) = tier(found, traffic)
    return advice


def spiky_week():
    times_s = [minute * 60.0 for minute in range(7 * 1440)]
    return traced("week.csv", "rps", times_s, [10.0 if 540 <= m % 1440 < 720 else 0.5 for m in range(7 * 1440)])


def test_every_pattern_has_a_tier():
    assert set(TIERS) == set(Pattern)
    assert TIERS[Pattern.SPIKY] is Tier.DEDICATED and TIERS[Pattern.UNPREDICTABLE] is Tier.SERVERLESS


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (Pattern.CONSTANT, "own cluster with a fixed number of replicas."),
        (Pattern.PREDICTABLE, "dedicated replicas with aggressive autoscaling."),
        (Pattern.UNPREDICTABLE, "serverless, or overflow to it: add an overflow endpoint."),
    ],
)
def test_the_catalogs_word_counts_without_traffic(make, pattern, said):
    job = make.serve(traffic=make.traffic(2.0, 5.0, pattern))
    advice = only(make.situation([job], [make.on_demand("g6.xlarge", "0.80")]))
    assert advice.recommendation.endswith(said)
    assert "measure two weeks" in advice.confidence


def test_measured_traffic_corrects_the_catalog(make, figure):
    job = make.serve(traffic=make.traffic(2.0, 5.0, Pattern.CONSTANT))
    advice = only(make.situation([job], []), spiky_week())
    assert advice.recommendation.startswith("Traffic is spiky, not constant: set traffic.pattern to spiky")
    assert figure(advice, "pattern", "week.csv, rps") == "spiky"
    assert figure(advice, "peak over mean", "catalog") == 2.5
    assert "It covers 7 days, less than two weeks" in advice.confidence


def test_measured_traffic_confirms_the_catalog(make):
    job = make.serve(traffic=make.traffic(2.0, 5.0, Pattern.SPIKY))
    assert "as the catalog says" in only(make.situation([job], []), spiky_week()).recommendation


def test_a_short_file_leaves_the_catalogs_word(make):
    short = traced("short.csv", "rps", [minute * 60.0 for minute in range(60)], [1.0] * 60)
    advice = only(make.situation([make.serve()], []), short)
    assert advice.recommendation.startswith("Traffic is constant by the catalog")
    assert "too short" in advice.confidence


def test_the_planned_price_of_an_accelerator_hour_is_shown(make, figure):
    found = make.situation([make.serve()], [make.on_demand("g5.48xlarge", "16.288")])
    assert figure(only(found), "planned") == pytest.approx(2.036)


def test_autoscaling_needs_room_for_replicas(make):
    job = make.serve(traffic=make.traffic(2.0, 5.0, Pattern.SPIKY), replicas=Replicas(min=1, max=1, warm=0))
    assert "raise replicas.max above 1" in only(make.situation([job], [])).recommendation


def test_an_overflow_that_is_set_is_seen(make):
    overflow = Overflow(to="https://x/v1", key_env="K", max_spend_usd_per_day=Decimal(10))
    job = make.serve(traffic=make.traffic(2.0, 5.0, Pattern.UNPREDICTABLE), overflow=overflow)
    assert only(make.situation([job], [])).recommendation.endswith("the overflow endpoint is set.")
