"""Emulated faults: which launches a stock-out hits, and changes that do not lose each other."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from orchestrator.cluster.faults import (
    LAUNCH_DELAY_S,
    Faults,
    StockOut,
    change_faults,
    load_faults,
    with_stockout,
    without_stockout,
)
from orchestrator.cluster.instance import LaunchSpec
from orchestrator.cluster.state import StateDir
from orchestrator.model.offer import Market

SPEC = LaunchSpec(
    offer="g6.xlarge:spot:us-east-1:use1-az1", instance_type="g6.xlarge", accelerator="L4", market=Market.SPOT,
    region="us-east-1", zone="use1-az1", price_usd_per_hour=Decimal("0.3"), on_demand_usd_per_hour=Decimal("0.8"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("stockout", "hit"),
    [
        pytest.param(StockOut(offer=SPEC.offer), True, id="offer"),
        pytest.param(StockOut(instance_type="g6.xlarge"), True, id="type"),
        pytest.param(StockOut(zone="use1-az1", market="spot"), True, id="zone-and-market"),
        pytest.param(StockOut(zone="use1-az1", market="on-demand"), False, id="other-market"),
        pytest.param(StockOut(instance_type="g5.xlarge"), False, id="other-type"),
        pytest.param(StockOut(), False, id="empty-hits-nothing"),
    ],
)
def test_what_a_stock_out_hits(stockout: StockOut, hit: bool) -> None:
    assert stockout.hits(SPEC) is hit
    assert Faults(stockouts=(stockout,)).stockout(SPEC) == (stockout if hit else None)


def test_without_a_file_only_the_launch_delay_is_emulated(state_dir: StateDir) -> None:
    assert load_faults(state_dir) == Faults(launch_delay_s=LAUNCH_DELAY_S, boot_delay_s=0.0, stockouts=())


def test_adding_twice_and_removing(state_dir: StateDir) -> None:
    stockout = StockOut(zone="use1-az1")
    for _ in range(2):
        change_faults(state_dir, lambda faults: with_stockout(faults, stockout))
    assert load_faults(state_dir).stockouts == (stockout,)
    change_faults(state_dir, lambda faults: without_stockout(faults, stockout))
    assert load_faults(state_dir).stockouts == ()


def test_concurrent_changes_are_all_kept(state_dir: StateDir) -> None:
    wanted = {StockOut(zone=f"z{number}") for number in range(24)}
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(lambda stockout: change_faults(state_dir, lambda faults: with_stockout(faults, stockout)), wanted)
        )
    assert set(load_faults(state_dir).stockouts) == wanted
