"""Price lists that cannot be silently wrong, and the row that a trial's hardware is priced by."""

import math
from dataclasses import replace

import pytest
from builders import placement, record, trial_spec
from cluster_builders import pool
from hypothesis import given
from hypothesis import strategies as st
from plan_builders import T4, TPU, device
from price_builders import price, price_list, price_row

from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.price import Unpriced
from orchestrator.plan.pricing import PriceBook, find_price, priced, repriced

TODAY = "2026-11-21"
CPU = device(instances={1: "cpu-box"})
T4S = replace(T4, instances={1: "t4-box", 2: "2xt4-box", 4: "4xt4-box"})


def of(what, count=1, **changes):
    return find_price(what, count, prices=price_list(**changes), today=TODAY)


def price_book(**devices):
    return PriceBook(devices=devices, prices=price_list(), today=TODAY)


def test_a_price_has_all_values_of_its_row_and_its_list():
    assert of(CPU, interruptions_per_day=(0.1, 0.2)) == price(
        node_usd_per_hour=3.0,
        other_node_usd_per_hour=1.0,
        interruptions_per_day=(0.1, 0.2),
        priced_on=TODAY,
        is_hypothetical=True,
    )


def test_spot_is_the_price_of_spot():
    assert of(CPU, provisioning="spot").usd_per_hour == 1.0


@pytest.mark.parametrize("provisioning", ["on_demand", "spot"])
def test_both_prices_of_all_nodes_are_kept_however_they_are_rented(provisioning):
    found = of(T4S, 3, provisioning=provisioning)
    assert (found.usd_per_hour_as("on_demand"), found.usd_per_hour_as("spot")) == (9.0, 3.0)
    assert replace(found, beside=(price(),)).usd_per_hour_as("spot") is None


@pytest.mark.parametrize(
    ("count", "instance", "nodes"),
    [(1, "t4-box", 1), (2, "2xt4-box", 1), (3, "t4-box", 3), (4, "4xt4-box", 1), (6, "2xt4-box", 3)],
)
def test_devices_are_rented_as_the_largest_instance_that_divides_them(count, instance, nodes):
    found = of(T4S, count)
    assert (found.instance, found.nodes, found.usd_per_hour) == (instance, nodes, nodes * 3.0)


@pytest.mark.parametrize(
    ("count", "num_hosts", "instance", "nodes", "unused"),
    [
        (4, 2, "2xt4-box", 2, 0),
        (4, 4, "t4-box", 4, 0),
        (3, 2, "2xt4-box", 2, 1),  # each host holds two of them at most, and is paid whole
        (6, 2, "4xt4-box", 2, 2),
        (16, 2, "4xt4-box", 4, 0),  # no instance holds a host's part
    ],
)
def test_devices_over_several_hosts_are_rented_as_one_instance_for_each(
    count, num_hosts, instance, nodes, unused
):
    found = find_price(T4S, count, prices=price_list(), today=TODAY, num_hosts=num_hosts)
    assert (found.instance, found.nodes, found.unused_devices) == (instance, nodes, unused)
    assert found.usd_per_hour == nodes * 3.0


def test_each_host_of_cpus_is_paid():
    found = find_price(CPU, 8, prices=price_list(), today=TODAY, num_hosts=2)
    assert found.usd_per_hour == 2 * of(CPU, 8).usd_per_hour


def test_workers_on_cpus_share_one_host():
    assert of(CPU, 4).usd_per_hour == of(CPU, 1).usd_per_hour


def test_a_host_that_is_known_to_be_the_instance_makes_the_price_a_real_one():
    assert not of(CPU, this_host="cpu-box").is_hypothetical
    assert of(CPU, this_host="t4-box").is_hypothetical
    assert of(T4S, 3, this_host="t4-box").is_hypothetical, "one host is not three"


@pytest.mark.parametrize(("max_age_days", "is_old"), [(81, False), (80, True)])
def test_a_price_is_old_from_the_day_after_its_last(max_age_days, is_old):
    found = of(CPU, max_age_days=max_age_days)
    assert (found.age_days, found.is_old) == (81, is_old)  # from 1 September to 21 November


@pytest.mark.parametrize(
    ("what", "count", "changes", "reason"),
    [
        (CPU, 1, {"region": None, "rows": {}}, "prices=example has no prices"),
        (CPU, 1, {"region": "here", "rows": {}}, "prices=example has no prices"),
        (TPU, 1, {}, "conf/device/tpu_v3_8.yaml names no instance with 1 x tpu_v3_8"),
        (
            replace(T4, instances={8: "8xt4-box"}),
            2,
            {},
            "conf/device/t4.yaml names no instance with 2 x t4",
        ),
        (
            replace(TPU, instances={1: "v3-8"}),
            1,
            {},
            "prices=example has no row of v3-8 in here",
        ),
        (
            replace(TPU, instances={1: "v3-8"}),
            1,
            {"rows": {"here": {}, "there": {"v3-8": price_row()}}},
            "prices=example has no row of v3-8 in here; it has one in: there",
        ),
        (
            CPU,
            1,
            {"provisioning": "spot", "rows": {"here": {"cpu-box": price_row(spot=None)}}},
            "prices=example has no spot price of cpu-box in here",
        ),
    ],
)
def test_what_has_no_price_shows_why(what, count, changes, reason):
    assert of(what, count, **changes) == Unpriced(reason=reason)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"region": "mars"}, "unknown prices.region 'mars'; known: here"),
        ({"this_host": "desk"}, "unknown instance in prices=example: 'desk'; known: 2xt4-box, 4xt4-box, c"),
        ({"confirmed_spot": ("desk",)}, "unknown instance in prices=example: 'desk'; known: 2xt4-box, 4xt"),
        ({"billing_seconds": 0.0}, "prices.billing_seconds=0.0 must be above 0 and finite"),
        ({"least_billing_seconds": 0.0}, "prices.least_billing_seconds=0.0 must be above 0 and finite"),
        ({"start_seconds": (60.0,)}, "prices.start_seconds=[60.0] must be a range of seconds, as [60,600]"),
        ({"start_seconds": (600.0, 60.0)}, "prices.start_seconds=[600.0, 60.0] must be a range of seconds"),
        ({"billing_seconds": math.inf}, "prices.billing_seconds=inf must be above 0 and finite"),
        (
            {"interruptions_per_day": (0.2, 0.1)},
            "prices.interruptions_per_day=[0.2, 0.1] must be a range above 0, as [0.05,0.16]",
        ),
        ({"max_age_days": -1}, "prices.max_age_days=-1 must not be negative"),
    ],
)
def test_a_list_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ConfigError) as raised:
        price_list(**changes)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (price_row(on_demand=0.0), "on_demand=0.0 must be above 0 and finite"),
        (price_row(spot=math.nan), "spot=nan must be above 0 and finite"),
        (price_row(as_of="yesterday"), "as_of='yesterday' must be a day, as in 2026-08-20"),
        (price_row(as_of="20260820"), "as_of='20260820' must be a day, as in 2026-08-20"),
        (price_row(source=""), "a price needs a source"),
        (
            price_row(on_demand=4.0, spot=3.1),
            "spot=3.1 is above 0.75 x on_demand=4.0, which looks like a catalogue's error; correct the row, "
            "or set prices.confirm_spot=[box]",
        ),
    ],
)
def test_a_row_that_cannot_be_is_refused_and_named(row, message):
    with pytest.raises(ConfigError) as raised:
        price_list(rows={"here": {"box": row}})
    assert str(raised.value) == f"conf/prices/example.yaml: box in here: {message}"


def test_a_spot_price_close_to_that_on_demand_can_be_confirmed():
    rows = {"here": {"cpu-box": price_row(on_demand=4.0, spot=3.1)}}
    assert of(CPU, rows=rows, confirmed_spot=("cpu-box",), provisioning="spot").usd_per_hour == 3.1


@given(st.floats(0.01, 100), st.floats(0.01, 100))
def test_no_spot_price_above_three_quarters_gets_in(on_demand, spot):
    rows = {"here": {"cpu-box": price_row(on_demand=on_demand, spot=spot)}}
    try:
        price_list(rows=rows)
    except ConfigError:
        assert spot > 0.75 * on_demand
    else:
        assert spot <= 0.75 * on_demand


def test_a_measurement_is_priced_by_its_device_and_count_and_failures_too():
    two = record(spec=trial_spec(device="t4", num_workers=2, replicas=2, host_cpu=None))
    assert priced(two, price_book(t4=T4S)).price.instance == "2xt4-box"


def test_a_rehearsal_has_no_price():
    rehearsed = record(placement=placement(trial_spec(device="t4"), provenance="rehearsed"))
    assert priced(rehearsed, price_book(t4=T4S)).price is None


def test_a_report_can_price_anew_and_shows_it():
    kept = record(price=price())
    (found,) = repriced([kept], price_book(cpu=CPU))
    assert found == replace(kept, price=replace(of(CPU), is_repriced=True))
    assert kept.price.usd_per_hour == 3.6


def test_to_price_anew_with_a_list_that_lacks_the_instance_leaves_no_price():
    (found,) = repriced([record(price=price())], price_book(cpu=device()))
    assert found.price == Unpriced(reason="conf/device/cpu.yaml names no instance with 1 x cpu")


def test_a_record_of_a_device_that_is_not_asked_for_keeps_its_price():
    assert repriced([record(price=price())], price_book()) == (record(price=price()),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"as_of": "soon"}, "price of cpu-box: as_of='soon' is not a date"),
        ({"priced_on": ""}, "price of cpu-box: priced_on='' is not a date"),
        ({"nodes": 0}, "price of cpu-box: nodes=0 is not above 0"),
        ({"node_usd_per_hour": math.nan}, "price of cpu-box: node_usd_per_hour=nan is not above 0"),
        ({"billing_seconds": 0.0}, "price of cpu-box: billing_seconds=0.0 is not above 0"),
    ],
)
def test_a_price_that_cannot_be_is_refused_where_it_is_read(changes, message):
    with pytest.raises(RecordError) as raised:
        price(**changes)
    assert str(raised.value) == message


def in_pool(devices, *, num_hosts=1, region="us-central1", **changes):
    where = pool(**changes)
    rows = {region: {instance: price_row() for instance in where.device.instances.values()}}
    prices = price_list(region=region, rows=rows)
    return find_price(where.device, devices, prices=prices, today=TODAY, pool=where, num_hosts=num_hosts)


def test_a_trial_in_a_pool_has_the_price_of_the_pools_machine_zone_and_provisioning():
    found = in_pool(1, provisioning="spot")
    assert (found.instance, found.nodes, found.node_usd_per_hour) == ("n1-standard-8+1xT4", 1, 1.0)
    assert (found.region, found.provisioning, found.is_hypothetical) == ("us-central1", "spot", False)


def test_a_trial_that_has_part_of_a_pools_node_is_billed_for_all_of_it():
    assert in_pool(1, count=4).instance == "n1-standard-8+4xT4"


def test_a_trial_on_several_hosts_is_billed_for_each():
    assert in_pool(8, count=4, num_hosts=2).usd_per_hour == 2 * in_pool(4, count=4).usd_per_hour


def test_devices_that_are_not_here_are_priced_on_as_many_nodes_of_their_pool_as_they_need():
    where = pool(max_nodes=2)
    rows = {"us-central1": {instance: price_row() for instance in where.device.instances.values()}}
    found = PriceBook(
        devices={"t4": where.device},
        prices=price_list(region="us-central1", rows=rows),
        today=TODAY,
        pools={"t4": where},
    ).price_where_it_is("t4", 4, num_hosts=1)
    assert (found.instance, found.nodes) == ("n1-standard-8+1xT4", 4)


def test_a_pool_in_a_region_without_prices_has_none():
    found = in_pool(1, region="us-east1")
    assert found == Unpriced(
        reason="prices=example has no row of n1-standard-8+1xT4 in us-central1; it has one in: us-east1"
    )
