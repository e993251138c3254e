"""Time and cost of a training on spot machines, in words: at 1.20 dollars an hour, and 3.60 on demand."""

import pytest
from price_builders import price

from orchestrator.analysis.predictions.spot import describe_spot, predict_spot_cost
from orchestrator.core.interval import Spread, exactly
from orchestrator.core.price import Unpriced

HOUR = 3600.0
TRAINING = exactly(20 * HOUR)
STATED = {"interruptions_per_day": (1.0, 4.0), "other_node_usd_per_hour": 1.2}


def on_spot(seconds=TRAINING, *, checkpoint_seconds=None, setup_seconds=0.0, **changes):
    return predict_spot_cost(
        price(**{**STATED, **changes}),
        training=seconds,
        setup_seconds=setup_seconds,
        checkpoint_seconds=checkpoint_seconds,
    )


def test_time_dollars_and_the_best_checkpoint_are_shown_with_what_they_stand_on():
    assert describe_spot(on_spot()) == (
        "As a spot machine: 20.6 h (20.3 to 21.3), $24.8 (24.4 to 25.5). Cheaper in more than 99 of 100 "
        "worlds, 1.01 to 1.06 times as long. Best: a checkpoint every 22 min (20 s each, assumed). "
        "Stated: 1 to 4 interruptions a day of a machine, boot not included."
    )


def test_cheaper_spot_machines_together_do_not_count_beside_one_that_holds_the_training():
    several = price(instance="small", seller="far", nodes=2, node_usd_per_hour=0.1, **STATED)
    assert on_spot(elsewhere=(several,)) == on_spot()
    assert on_spot(other_node_usd_per_hour=None, elsewhere=(several,)) is None


def test_a_measured_checkpoint_and_a_stated_boot_are_shown_as_such():
    told = describe_spot(on_spot(checkpoint_seconds=2.0, start_seconds=(120.0, 600.0)))
    assert "(2.0 s each, measured)" in told
    assert "boot" not in told


def test_the_interval_of_the_training_is_kept():
    found = on_spot(Spread(median=20 * HOUR, low=10 * HOUR, high=40 * HOUR))
    least, most = found.slowdown
    assert (found.seconds.low, found.seconds.high) == (10 * HOUR * least, 40 * HOUR * most)
    assert found.usd.median == pytest.approx(1.2 * found.seconds.median / HOUR)


def test_set_up_and_boot_come_with_each_interruption():
    bare, longer = on_spot(), on_spot(setup_seconds=1000.0, start_seconds=(0.0, 0.0))
    assert longer.seconds.median > bare.seconds.median
    assert longer.chance_cheaper <= bare.chance_cheaper


def test_any_of_several_machines_stops_all():
    assert on_spot(nodes=8).seconds.median > on_spot().seconds.median


def test_a_small_discount_is_lost_in_some_worlds():
    found = on_spot(other_node_usd_per_hour=3.5)
    assert 0.02 < found.chance_cheaper < 0.98
    assert f"Cheaper in {100 * found.chance_cheaper:.0f} of 100 worlds" in describe_spot(found)
    assert "less than 1 of 100" in describe_spot(on_spot(other_node_usd_per_hour=3.6))


def test_a_price_as_a_spot_machine_is_compared_with_that_on_demand():
    spot = on_spot(provisioning="spot", node_usd_per_hour=1.2, other_node_usd_per_hour=3.6)
    assert spot == on_spot()


def test_another_sellers_spot_machine_is_named_and_compared_with_the_cheapest_on_demand():
    other = price(instance="far-box", seller="far", node_usd_per_hour=9.0, **STATED)
    found = on_spot(other_node_usd_per_hour=None, interruptions_per_day=None, elsewhere=(other,))
    assert found.usd == on_spot().usd
    assert found.chance_cheaper == on_spot().chance_cheaper
    assert describe_spot(found).startswith("As a spot machine (far-box in far here): 20.6 h")


def test_a_marketplace_counts_neither_on_demand_nor_as_spot_beside_a_firm_price():
    asked = price(
        instance="host", seller="vast", node_usd_per_hour=0.5, **STATED | {"other_node_usd_per_hour": 0.1}
    )
    assert on_spot(elsewhere=(asked,)) == on_spot()
    assert predict_spot_cost(asked, training=TRAINING) is not None


def test_a_training_of_less_than_an_hour_has_its_figures_and_no_words():
    found = on_spot(exactly(60.0))
    assert found.checkpoint_every_seconds is None
    assert found.usd.median == pytest.approx(60.0 / HOUR * 1.2, rel=0.01)
    assert describe_spot(found) == ""


def test_no_checkpoint_pays_in_a_training_that_is_hardly_interrupted():
    assert " No checkpoint pays. " in describe_spot(
        on_spot(exactly(HOUR), interruptions_per_day=(0.01, 0.02))
    )


def test_a_training_without_an_end_is_shown():
    assert describe_spot(on_spot(interruptions_per_day=(1e6, 1e9))) == (
        "As a spot machine it would not come to its end. "
        "Stated: 1e+06 to 1e+09 interruptions a day of a machine."
    )


@pytest.mark.parametrize(
    "unknown", [{"interruptions_per_day": None}, {"other_node_usd_per_hour": None}, {"beside": (price(),)}]
)
def test_without_both_prices_and_a_rate_no_spot_price_is_shown(unknown):
    assert on_spot(**unknown) is None
    assert describe_spot(None) == ""


def test_hardware_without_a_price_has_none_as_a_spot_machine():
    assert predict_spot_cost(Unpriced(reason="no row"), training=exactly(HOUR)) is None
    assert predict_spot_cost(None, training=exactly(HOUR)) is None
