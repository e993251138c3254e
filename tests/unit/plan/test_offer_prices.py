"""Prices across sellers: which instance is chosen, for whom, and what an own price or a discount does."""

import math
import re
from dataclasses import replace

import pytest
from cluster_builders import pool
from plan_builders import T4, planned, point
from price_builders import offer, price_list

from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.tables.costs import prices_table
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.price import Price, Unpriced, find_marks, priced_as
from orchestrator.plan.offer_prices import renew_rows, require_known_sellers
from orchestrator.plan.pricing import find_price

TODAY = "2026-11-21"
LISTED = replace(T4, instances={1: "t4-box"})
UNLISTED = replace(T4, instances={})


def find(device, *offers, count=1, num_hosts=1, of_pool=None, instance="", **changes):
    prices = price_list(**{"seller": "here", **changes})
    return find_price(
        device,
        count,
        prices=prices,
        today=TODAY,
        load_offers=lambda: offers,
        num_hosts=num_hosts,
        instance=instance,
        pool=of_pool,
    )


def test_without_a_word_other_sellers_count_only_where_the_list_has_no_price():
    assert find(LISTED, offer(usd=1.0)).instance == "t4-box"
    found = find(UNLISTED, offer(usd=1.0))
    assert (found.seller, found.instance, found.as_of) == ("shop", "shop-t4", "2026-09-01")


def test_all_sellers_compete_and_the_cheapest_wins():
    offers = offer(usd=2.5), offer(usd=2.0, seller="other")
    assert find(LISTED, *offers, sellers=("all",)).seller == "other"
    assert find(LISTED, *offers, sellers=("here", "shop")).seller == "shop"
    assert find(LISTED, *offers, sellers=("here",)).seller == "here"
    assert find(LISTED, *offers, sellers=("shop",)).seller == "shop"


def test_an_instance_with_more_devices_is_paid_whole_and_its_label_counts_the_unused_ones():
    found = find(UNLISTED, offer(usd=16.0, count=8))
    assert (found.usd_per_hour, found.unused_devices) == (16.0, 7)
    assert priced_as(found).startswith("shop-t4 on demand with 7 unused devices in shop us-east-1, $16/h of ")
    assert "with 1 unused device in" in priced_as(find(UNLISTED, offer(usd=16.0, count=8), count=7))


def test_a_device_at_two_sellers_has_both_prices_the_cheaper_first():
    offers = offer(usd=2.5), offer(usd=2.0, seller="other"), offer(usd=2.2, seller="other", instance="dear")
    found = find(UNLISTED, *offers)
    assert [one.seller for one in (found, *found.elsewhere)] == ["other", "shop"]
    assert ". Elsewhere shop-t4 on demand in shop us-east-1, $2.5/h of 2026-09-01" in priced_as(found)
    listed = replace(price_list().rows["here"]["t4-box"], spot_usd_per_hour=None)
    changes = {"sellers": ("all",), "rows": {"here": {"t4-box": listed}}}
    assert [one.instance for one in find(LISTED, *offers, **changes).elsewhere] == ["shop-t4"]
    assert find(LISTED, *offers).elsewhere == ()


def test_the_table_of_prices_has_a_row_without_trials_for_the_second_seller():
    found = find(LISTED, offer(usd=2.0), sellers=("all",))
    (placement,) = planned(point(device=T4)).placements
    rows = prices_table([(placement.trial, found)]).rows
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("1", "shop-t4 on demand", "shop us-east-1"),
        (UNKNOWN, "t4-box on demand", "here here"),
    ]


def test_one_machine_that_holds_the_trial_comes_before_cheaper_ones_that_do_not():
    found = find(UNLISTED, offer(usd=1.0), offer(usd=9.0, count=8), count=2)
    assert (found.nodes, found.usd_per_hour) == (1, 9.0)
    assert find(UNLISTED, offer(usd=9.0, count=8), count=16).usd_per_hour == 18.0
    assert find(UNLISTED, offer(usd=1.0), count=2, num_hosts=2).nodes == 2


def test_cheaper_machines_together_are_shown_beside_one_that_holds_the_trial():
    small, large = offer(usd=1.0, count=4), offer(usd=9.0, count=8, seller="other")
    found = find(UNLISTED, small, large, offer(usd=9.5, count=8, seller="third"), count=8)
    assert (found.nodes, found.usd_per_hour) == (1, 9.0)
    assert [(one.nodes, one.usd_per_hour) for one in found.elsewhere] == [(1, 9.5), (2, 2.0)]


@pytest.mark.parametrize(
    ("spot", "shown"),
    [
        ({"spot": 0.4}, [(None, 0.4, "spot")]),
        ({"spot": 0.4, "usd": 3.0}, [(None, 0.4, "spot")]),  # not the cheapest on demand of its seller
        ({"spot": 2.5}, []),  # dearer than on demand
        ({"spot": 0.4, "count": 4}, [(3, 0.4, "spot")]),
    ],
)
def test_the_cheapest_spot_machine_of_all_stands_beside_the_price_on_demand(spot, shown):
    cheap = {"usd": None, "region": "us-east-2", "as_of": "2026-08-06", **spot}
    found = find(UNLISTED, offer(usd=2.0), offer(**cheap), sellers=("all",))
    assert (found.region, found.usd_per_hour, found.as_of) == ("us-east-1", 2.0, "2026-09-01")
    beside = [(one.unused_devices or None, one.usd_per_hour, one.provisioning) for one in found.elsewhere]
    assert beside == shown
    assert all(one.as_of == "2026-08-06" for one in found.elsewhere)


def test_a_spot_machine_of_a_marketplace_does_not_hide_a_firm_one():
    asked, firm = offer(usd=None, spot=0.1, seller="vast"), offer(usd=None, spot=0.4)
    found = find(UNLISTED, offer(usd=2.0), asked, firm, sellers=("all",))
    assert [(one.seller, one.usd_per_hour) for one in found.elsewhere] == [("shop", 0.4)]


def test_newer_prices_of_the_seller_of_a_list_renew_its_rows_and_no_others():
    prices = price_list(seller="shop")
    old, zone = offer(usd=9.0, as_of="2026-08-31"), {"as_of": "2026-11-20", "instance": "t4-box"}
    new = offer(usd=2.0, spot=0.5, region="here", zone="here-a", **zone)
    renewed = renew_rows(prices, [replace(old, region="here", instance="t4-box"), new])
    assert renewed.rows["here"]["t4-box"] == new.row
    assert {**renewed.rows["here"], "t4-box": None} == {**prices.rows["here"], "t4-box": None}
    for other in (replace(new, seller="other"), replace(new, region="there"), replace(new, instance="x")):
        assert renew_rows(prices, [other]) == prices


def test_a_renewed_spot_price_like_an_error_of_a_catalogue_is_refused():
    new = offer(usd=2.0, spot=1.9, region="here", instance="t4-box", as_of="2026-11-20")
    with pytest.raises(ConfigError, match="looks like a catalogue's error"):
        renew_rows(price_list(seller="shop"), [new])


def test_an_instance_that_was_asked_for_comes_before_cheaper_ones():
    offers = offer(usd=1.0), offer(usd=9.0, instance="asked"), offer(usd=0.5, seller="other")
    found = find(UNLISTED, *offers, instance="Asked")
    assert (found.instance, found.elsewhere[0].usd_per_hour) == ("asked", 0.5)


def test_a_firm_offer_comes_before_a_cheaper_one_of_a_marketplace_which_stands_beside_it():
    firm, asked = offer(usd=2.0), offer(usd=0.5, seller="vast")
    found = find(UNLISTED, asked, firm, sellers=("all",))
    assert (found.seller, [one.seller for one in found.elsewhere]) == ("shop", ["vast"])
    assert ", marketplace" in priced_as(found)
    assert "marketplace" not in find_marks(found)
    assert find(UNLISTED, asked, firm, sellers=("vast", "shop")).seller == "vast"
    assert find_marks(find(UNLISTED, asked)) == ("hypothetical", "marketplace")


def test_what_is_short_by_its_catalogue_or_the_user_is_marked_with_a_remark():
    found = find(UNLISTED, offer(note="short: stock was low"))
    assert (find_marks(found)[-1], found.note) == ("short", "short: stock was low")
    stated = find(UNLISTED, offer(), short={"t4": ("us-east-1",)})
    assert (find_marks(stated)[-1], stated.note) == ("short", "short: prices.short names us-east-1")
    assert find(UNLISTED, offer(), short={"t4": ("eu-west-1",), "h100": ("us-east-1",)}).note is None


def test_machines_have_equally_many_workers_each():
    found = find(UNLISTED, offer(usd=1.0, count=4), count=6)
    assert (found.nodes, found.unused_devices) == (2, 2)
    assert find(UNLISTED, offer(usd=1.0, count=3), count=8).nodes == 4


def test_an_instance_that_this_host_is_has_the_price_of_the_list():
    found = find(LISTED, offer(usd=0.1), sellers=("all",), this_host="t4-box")
    assert (found.instance, found.is_hypothetical, found.elsewhere) == ("t4-box", False, ())


def test_the_cheapest_spot_machine_is_shown_beside_machines_without_a_spot_price():
    offers = offer(usd=1.0), offer(usd=2.0, seller="second"), offer(usd=4.0, spot=0.5, seller="third")
    found = find(UNLISTED, *offers, interruptions_per_day=(1.0, 2.0))
    assert [one.seller for one in (found, *found.elsewhere)] == ["shop", "second", "third"]
    assert {one.interruptions_per_day for one in (found, *found.elsewhere)} == {(1.0, 2.0)}


def test_regions_and_groups_of_regions_restrict_other_sellers():
    offers = offer(usd=1.0), offer(usd=2.0, region="eu-west-1")
    assert find(UNLISTED, *offers, offer_regions=("europe",)).region == "eu-west-1"
    assert find(UNLISTED, *offers, offer_regions=("us-east-1",)).region == "us-east-1"
    assert isinstance(find(UNLISTED, *offers, offer_regions=("asia",)), Unpriced)


def test_spot_is_asked_of_sellers_that_have_it():
    offers = offer(usd=1.0), offer(usd=5.0, spot=0.5, seller="other")
    found = find(UNLISTED, *offers, provisioning="spot")
    assert (found.seller, found.usd_per_hour, found.usd_per_hour_as("on_demand")) == ("other", 0.5, 5.0)


def test_a_pool_keeps_the_price_of_the_list():
    in_pool = pool(device=replace(LISTED, cpus={1: 8}))
    rows = price_list().rows
    changes = {"sellers": ("all",), "region": "us-central1", "rows": {"us-central1": rows["here"]}}
    assert find(LISTED, offer(usd=0.1), of_pool=in_pool, **changes).instance == "t4-box"


def test_a_discount_is_taken_off_prices_on_demand_of_its_seller_alone():
    found = find(LISTED, discount={"here": 0.5})
    assert (found.usd_per_hour, found.usd_per_hour_as("spot")) == (1.5, 1.0)
    assert found.note == "after a discount of 50%"
    assert find(UNLISTED, offer(usd=2.0), discount={"here": 0.5}).usd_per_hour == 2.0


def test_an_own_price_comes_first_and_is_of_today():
    found = find(LISTED, offer(usd=0.1), count=4, sellers=("all",), own={"t4": 0.25})
    assert (found.usd_per_hour, found.as_of, found.is_hypothetical) == (1.0, TODAY, False)


def test_an_own_price_counts_the_devices_of_all_hosts_and_each_node_has_its_part():
    found = find(LISTED, count=4, num_hosts=2, own={"t4": 0.25})
    assert (found.nodes, found.node_usd_per_hour, found.usd_per_hour) == (2, 0.5, 1.0)


def test_an_own_price_is_of_all_devices_of_a_pools_nodes():
    nodes = pool(device=replace(LISTED, instances={4: "4xt4-box"}, cpus={4: 8}), count=4)
    assert find(LISTED, count=2, num_hosts=2, of_pool=nodes, own={"t4": 0.25}).usd_per_hour == 2.0


def test_offers_are_not_read_where_the_list_has_the_price():
    prices = price_list(seller="here")
    found = find_price(
        LISTED, 1, prices=prices, today=TODAY, load_offers=lambda: pytest.fail("a list was read")
    )
    assert found.instance == "t4-box"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"discount": {"gcp": 1.0}}, "prices.discount: gcp=1 must be a share from 0 to below 1"),
        ({"discount": {"gcp": -0.1}}, "prices.discount: gcp=-0.1 must be a share"),
        ({"own": {"h100": -1.0}}, "prices.own: h100=-1 must be a price as {h100: 2.5}, or 0: reserved"),
        ({"own": {"h100": math.nan}}, "prices.own: h100=nan must be a price"),
        ({"sellers": ()}, "prices.sellers=[] names none"),
    ],
)
def test_words_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        price_list(**changes)


@pytest.mark.parametrize("changes", [{"sellers": ("shpo",)}, {"discount": {"shpo": 0.1}}])
def test_a_seller_that_no_list_has_is_refused_with_the_nearest_one(changes):
    with pytest.raises(ConfigError, match="unknown seller 'shpo'; did you mean 'shop'"):
        require_known_sellers(price_list(**changes), lambda: [offer(usd=1.0)])


def test_a_region_that_no_offer_has_is_refused_with_the_known_ones():
    prices = price_list(offer_regions=("europe", "mars"))
    with pytest.raises(ConfigError, match=r"'mars'; .* known: asia, europe, other, us, us-east-1"):
        require_known_sellers(prices, lambda: [offer(usd=1.0)])


def test_without_a_price_anywhere_the_reason_names_the_refresh():
    assert find(UNLISTED).reason.endswith(
        "no other seller that counts is known to have one; `prices refresh` fetches more, and "
        "'prices.own={t4: USD}' states what one quotes"
    )
    without_spot = find(UNLISTED, offer(usd=1.0), provisioning="spot")
    assert "no other seller that counts is known to have a spot price of one" in without_spot.reason
    assert find(UNLISTED, offer(usd=1.0), seller=None).reason.endswith("names no instance with 1 x t4")
    assert find(LISTED, region=None, rows={}, own={"t4": 2.0}).usd_per_hour == 2.0


def test_a_reserved_device_costs_0_and_is_marked_and_no_other_price_may_be_0():
    found = find(LISTED, own={"t4": 0.0})
    assert (found.usd_per_hour, find_marks(found)) == (0.0, ("reserved",))
    assert codec.from_json(Price, codec.to_json(found)) == found
    with pytest.raises(RecordError, match=r"node_usd_per_hour=0\.0 is not above 0"):
        replace(found, is_reserved=False)


def test_known_sellers_pass_and_no_list_is_read_without_a_name():
    require_known_sellers(price_list(sellers=("all", "shop")), lambda: [offer(usd=1.0)])
    require_known_sellers(price_list(), lambda: pytest.fail("a list was read"))
