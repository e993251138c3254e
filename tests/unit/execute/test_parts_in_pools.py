"""A trial with parts in two pools: when there is room for it, what it costs, and what its nodes owe."""

from dataclasses import replace

import pytest
from budget_builders import uncapped
from builders import record
from cluster_builders import FAST, SLOW, T4S, inventory, pool
from mixed_device_builders import BOTH, CPU, FAST_POOL, POOLS, SLOW_POOL, placed, unequal
from plan_builders import T4, held, here, point
from price_builders import price_list, price_row

from orchestrator.analysis.metrics.cost import compute_bill
from orchestrator.core import codec
from orchestrator.core.budget import CostRate, Spend
from orchestrator.core.placement import Attempt
from orchestrator.core.price import Price, Unpriced, priced_as
from orchestrator.execute.scheduling.capacity import fits_now
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.extensions.mlflow_tracking.axes import build_params
from orchestrator.extensions.mlflow_tracking.mlflow_run import build_tags
from orchestrator.plan.pricing import PriceBook, find_node_prices
from orchestrator.plan.spending import IdleNodes


def alone(name, seed=0):
    where = {"fast": FAST, "slow": SLOW}[name]
    return placed(point(device=where, seed=seed), inventory=POOLS)


def test_a_trial_with_parts_in_two_pools_needs_room_in_both():
    assert fits_now(BOTH, [], inventory=POOLS, kept={})
    for name in ("fast", "slow"):
        assert not fits_now(BOTH, [alone(name)], inventory=POOLS, kept={})
        assert not fits_now(alone(name), [BOTH], inventory=POOLS, kept={})
    assert not fits_now(BOTH, [], inventory=inventory(FAST_POOL, SLOW_POOL, max_nodes=1), kept={})
    wide = inventory(replace(FAST_POOL, max_nodes=2), SLOW_POOL)
    assert fits_now(alone("fast"), [BOTH], inventory=wide, kept={})
    assert not fits_now(alone("fast"), [BOTH], inventory=replace(wide, max_nodes=2), kept={})


def queue_of(*placements):
    return Queue(placements, inventory=POOLS, prior_attempts={}, retry_limits={}, budget_tracker=uncapped())


def test_while_one_waits_for_two_pools_the_trials_of_each_go_on():
    queue = queue_of(alone("slow"), BOTH, alone("fast"))
    assert [queue.take().placement for _ in range(2)] == [alone("slow"), alone("fast")]
    assert queue.take() is None


def test_a_pool_that_brings_no_node_withdraws_all_that_have_a_part_there():
    queue = queue_of(alone("slow"), alone("slow", 1), BOTH, alone("fast"))
    assert queue.take() == Attempt(placement=alone("slow"), number=1)
    assert [item.placement for item in queue.withdraw(["slow"])] == [alone("slow", 1), BOTH]
    assert queue.take().placement == alone("fast")


def test_two_pools_without_nodes_withdraw_only_the_trial_that_needs_both():
    queue = queue_of(alone("slow"), BOTH, alone("fast"))
    assert [item.placement for item in queue.withdraw(["fast", "slow"])] == [BOTH]


ROWS = {
    "us-central1": {
        "c3-standard-8": price_row(on_demand=3.6, spot=None),
        "e2-standard-2": price_row(on_demand=1.8, spot=None, as_of="2026-01-01"),
        "n1-standard-8+1xT4": price_row(on_demand=7.2, spot=None),
    }
}
MARKET = PriceBook(
    devices={value.name: value for value in (FAST, SLOW, T4S)},
    prices=price_list(region="us-central1", rows=ROWS),
    today="2026-11-21",
    pools={"fast": FAST_POOL, "slow": SLOW_POOL},
)


def test_the_price_of_a_mix_is_the_sum_of_its_parts_and_names_them():
    price = MARKET.find_price(BOTH)
    assert isinstance(price, Price)
    assert [(item.instance, item.nodes, item.usd_per_hour) for item in price.rented] == [
        ("c3-standard-8", 1, 3.6),
        ("e2-standard-2", 1, 1.8),
    ]
    assert (price.usd_per_hour, price.num_nodes, price.is_hypothetical) == (pytest.approx(5.4), 2, False)
    assert priced_as(price).startswith(
        "c3-standard-8 on demand + e2-standard-2 on demand in us-central1, $5.4/h of 2026-01-01"
    )
    assert codec.from_json(Price, codec.to_json(price)) == price


def test_half_an_hour_on_a_node_of_3_60_and_one_of_1_80_costs_2_70_and_a_node_hour():
    ran = record(placement=BOTH, price=MARKET.find_price(BOTH), started_at=0.0, ended_at=1800.0)
    bill = compute_bill(ran)
    assert (bill.usd, bill.billed_node_seconds) == (pytest.approx(2.7), pytest.approx(3600.0))
    spend = CostRate(nodes=2, price=MARKET.find_price(BOTH)).of(1800.0)
    assert (spend.usd, spend.node_hours) == (pytest.approx(2.7), 1.0)


def test_a_mix_over_two_pools_of_one_device_costs_both_and_needs_room_in_both():
    other = pool("fast-too", device=FAST, max_nodes=1)
    pools = inventory(FAST_POOL, SLOW_POOL, other)
    found = placed(unequal(FAST, SLOW, FAST), inventory=pools)
    price_book = replace(MARKET, pools={**MARKET.pools, "fast-too": other})
    price = price_book.find_price(found)
    assert (price.usd_per_hour, price.num_nodes) == (pytest.approx(9.0), 3)
    assert [item.usd_per_hour for item in find_node_prices(found, price)] == [3.6, 1.8, 3.6]
    assert fits_now(found, [], inventory=pools, kept={})
    assert not fits_now(found, [alone("fast")], inventory=pools, kept={})


def test_a_mix_with_one_part_without_a_price_has_none():
    lacking = replace(
        MARKET, prices=price_list(region="us-central1", rows={"us-central1": {"c3-standard-8": price_row()}})
    )
    assert isinstance(lacking.find_price(BOTH), Unpriced)


@pytest.mark.parametrize("known", [{}, {"fast": FAST_POOL}, {"slow": SLOW_POOL}])
def test_a_mix_with_an_unknown_pool_costs_what_its_devices_cost(known):
    price = replace(MARKET, pools=known).find_price(BOTH)
    assert [(item.instance, item.nodes) for item in price.rented] == [
        ("c3-standard-8", 1),
        ("e2-standard-2", 1),
    ]
    assert price.is_hypothetical
    apart = placed(unequal(SLOW, T4S), inventory=inventory(SLOW_POOL, pool("t4", count=1)))
    rented = replace(MARKET, pools=known).find_price(apart).rented
    assert [item.instance for item in rented] == ["e2-standard-2", "n1-standard-8+1xT4"]


def test_the_host_of_an_accelerator_has_a_processor():
    both = placed(unequal(SLOW, T4S), inventory=here(devices={"t4": held(1)}))
    price = MARKET.find_price(both)
    assert [item.instance for item in price.rented] == ["n1-standard-8+1xT4"]
    apart = MARKET.price_of_absent(placed(unequal(FAST, SLOW)).trial)
    assert apart.usd_per_hour == pytest.approx(5.4)


def test_idle_nodes_of_two_pools_cost_what_each_of_them_costs():
    idle = IdleNodes(10.0)
    on_nodes = replace(BOTH, node="fast-1", other_nodes=("slow-1",))
    ran = record(placement=on_nodes, price=MARKET.find_price(BOTH), started_at=0.0, ended_at=100.0)
    idle.add(ran)
    assert idle.spent.usd == pytest.approx(10 * 5.4 / 3600)
    rate = CostRate(nodes=2, price=MARKET.find_price(BOTH))
    idle.give_back(on_nodes, now=0.0)
    assert idle.owed(BOTH, rate, now=4.0).usd == pytest.approx(4 * 5.4 / 3600)
    idle.take(alone("slow"), now=4.0)
    assert idle.owed(BOTH, rate, now=4.0).usd == pytest.approx((4 * 3.6 + 10 * 1.8) / 3600)


def test_parts_on_one_host_have_no_costs_of_idle_nodes():
    both = placed(unequal(CPU, T4), inventory=here(devices={"t4": held(1)}))
    assert IdleNodes(10.0).owed(both, CostRate(nodes=1, price=None), now=0.0) == Spend()


def test_the_tracking_server_gets_all_devices_and_all_rented_machines():
    ran = record(placement=BOTH, price=MARKET.find_price(BOTH))
    assert build_params(ran.spec)["device"] == "cpu_fast+cpu_slow"
    tags = build_tags(ran)
    assert tags["device"] == "cpu_fast+cpu_slow"
    rented = "c3-standard-8 on demand + e2-standard-2 on demand"
    assert tags["price"].startswith(f"{rented} in us-central1, $5.4/h")
