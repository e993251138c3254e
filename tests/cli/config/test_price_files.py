"""The price lists in `conf/prices/`, and lists of users' own."""

import csv
import os
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from repository import ROOT

from orchestrator.config.composer import Composer
from orchestrator.config.loader import load
from orchestrator.config.points import load_device
from orchestrator.config.schema import PricesConf
from orchestrator.config.values import convert_to_plain
from orchestrator.core.errors import ConfigError
from orchestrator.core.price import Unpriced
from orchestrator.plan.pricing import find_price

DEVICES = sorted(path.stem for path in (ROOT / "conf/device").glob("*.yaml"))
SWEEP = ("+sweep=smoke", "device=cpu", "trainer=torch_ddp", "precision=fp32")


def prices_of(*words, working_directory=ROOT):
    return load([*SWEEP, *words], working_directory=working_directory).prices


@pytest.fixture(scope="module")
def devices():
    nodes = Composer(ROOT).nodes({"device": DEVICES})
    return {
        name: load_device(convert_to_plain(nodes["device", name], group="device"), file_name=name)
        for name in DEVICES
    }


def test_the_usual_list_is_that_of_all_sellers_on_demand():
    found = prices_of()
    assert (found.name, found.sellers, found.seller) == ("all", ("all",), "gcp")
    assert (found.region, found.provisioning, found.offer_regions) == ("us-central1", "on_demand", ())
    assert not load(SWEEP, working_directory=ROOT).reprices


def test_what_is_short_is_stated_by_any_name_of_a_device():
    assert prices_of("prices.short={H100: [us-east1, us-west1]}").short == {"h100": ("us-east1", "us-west1")}
    with pytest.raises(ConfigError, match=r"^unknown device in prices\.short: 'h999'"):
        prices_of("prices.short={h999: [us-east1]}")


def test_a_region_on_the_command_line_restricts_other_sellers_to_that_part_of_the_world():
    assert prices_of("prices.region=europe-west4").offer_regions == ("europe",)
    words = "prices.region=europe-west4", "prices.offer_regions=[us]"
    assert prices_of(*words).offer_regions == ("us",)


@pytest.mark.parametrize("word", ["prices=gcp", "prices.provisioning=spot"])
def test_a_command_line_that_sets_prices_is_marked_as_repricing(word):
    assert load([*SWEEP, word], working_directory=ROOT).reprices


@pytest.mark.more
def test_every_device_that_google_sells_has_a_price_somewhere_but_two(devices):
    lists = [prices_of(f"prices.region={region}") for region in prices_of().rows]
    without = [
        name
        for name, device in devices.items()
        if all(isinstance(find_price(device, 1, prices=item, today="2026-11-21"), Unpriced) for item in lists)
    ]
    assert without == [
        name for name, device in devices.items() if not device.instances or name in ("h200", "tpu_v7x_8")
    ]


def test_the_price_list_holds_only_instances_that_device_files_name(devices):
    named = {instance for device in devices.values() for instance in device.instances.values()}
    held = {instance for rows in prices_of().rows.values() for instance in rows}
    assert named - held == {"tpu7x-8"}
    assert held - named == set()


def test_no_prices_are_a_list_too():
    assert prices_of("prices=none").rows == {}


def test_the_figures_are_those_of_the_data_set():
    folder = os.environ.get("ORCHESTRATOR_DATA")
    if not folder:
        pytest.skip("ORCHESTRATOR_DATA does not say where gcp_prices.csv is")
    with (Path(folder) / "gcp_prices.csv").open(encoding="utf-8") as file:
        known = {(row["region"], row["name"]): row for row in csv.DictReader(file)}
    for region, rows in prices_of().rows.items():
        for instance, row in rows.items():
            if row.as_of != "2026-08-20":  # of another source
                continue
            published = known[region, instance]
            assert row.on_demand_usd_per_hour == float(published["usd_per_hour_on_demand"]), (
                region,
                instance,
            )
            assert row.spot_usd_per_hour == float(published["usd_per_hour_spot"]), (region, instance)
            assert published["confidence"].startswith("high")
            assert row.as_of in published["catalogue"]


def test_a_list_of_ones_own_shows_what_differs_as_the_documentation_shows(tmp_path):
    (shown,) = re.findall(
        r"```yaml\n(defaults: \[gcp.*?)```", (ROOT / "docs/how_to/prices.md").read_text(), re.DOTALL
    )
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(shown)
    found = prices_of("prices=mine", working_directory=tmp_path)
    ours = found.rows["us-central1"]["n2-standard-8"]
    assert (found.name, found.this_host) == ("mine", "n2-standard-8")
    assert (ours.on_demand_usd_per_hour, ours.spot_usd_per_hour) == (0.31, None)
    assert (ours.as_of, ours.source) == ("2026-11-01", "our contract")
    theirs = prices_of().rows["us-central1"]["v3-8"]
    assert found.rows["us-central1"]["v3-8"] == theirs
    assert (theirs.on_demand_usd_per_hour, theirs.as_of) == (8.0, "2026-08-20")


def test_an_own_price_may_be_of_another_name_of_a_device():
    assert prices_of("prices.own={g4dn.xlarge: 0.2,Tesla-V100: 1}").own == {"t4": 0.2, "v100": 1.0}


def test_the_documentation_names_the_keys_of_prices_and_their_defaults():
    documented = (ROOT / "docs/how_to/prices.md").read_text()
    rows = dict(re.findall(r"^\| `prices\.(\w+)` \| (.*?) ?\|", documented, re.MULTILINE))
    facts = {"currency", "as_of", "source", "regions", "seller"}
    assert rows.keys() == {field_.name for field_ in fields(PricesConf)} - facts
    assert (rows["max_age_days"], rows["billing_seconds"]) == (
        str(PricesConf.max_age_days),
        str(PricesConf.billing_seconds),
    )


@pytest.mark.more_except("{on_demnd:", "'prices")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("regions: {here: {instances: {box: {on_demnd: 1}}}}", "unknown key of conf/prices/mine.yaml: 'pric"),
        ("regions: {here: {box: {on_demand: 1}}}", "unknown key of conf/prices/mine.yaml: 'prices.regions."),
        (
            "regions: {here: {instances: {box: {on_demand: much, as_of: 2026-08-20, source: x}}}}",
            "conf/prices/mine.yaml: prices.regions.here.instances.box.on_demand='much' must be a number",
        ),
        ("region: here\nregions: {mars: {}}", "unknown prices.region 'here'; known: mars"),
        (
            "region: here\nregions: {here: {instances: {box: {on_demand: 1}}}}",
            "conf/prices/mine.yaml: box in here has no as_of and no source; give both in the row, as in "
            "'as_of: 2026-11-01, source: our contract', or at the top of its file",
        ),
        (
            "region: here\nregions: {here: {instances: {box: {spot: 1, as_of: 2026-08-20}}}}",
            "conf/prices/mine.yaml: box in here has no source; give",
        ),
        (
            "region: here\nregions: {here: {instances: {box: {spot: 1, as_of: 20 August, source: x}}}}",
            "conf/prices/mine.yaml: box in here: as_of='20 August' must be a day, as in 2026-08-20",
        ),
        (
            "region: here\nregions: {here: {instances: {box: {spot: 1, as_of: 2231-01-01, source: x}}}}",
            "conf/prices/mine.yaml: box in here: as_of=2231-01-01 lies in the future; today is 2",
        ),
        (
            "region: here\nas_of: 2026-08-20\nsource: x\n"
            "regions: {here: {instances: {box: {on_demand: 1, spot: 0.9}}}}",
            "conf/prices/mine.yaml: box in here: spot=0.9 is above 0.75 x on_demand=1.0, which look",
        ),
    ],
)
def test_a_mistake_in_a_list_is_one_line(text, message, tmp_path):
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(f"defaults: [schema, _self_]\n{text}\n")
    with pytest.raises(ConfigError) as raised:
        prices_of("prices=mine", working_directory=tmp_path)
    assert str(raised.value).startswith(message)


def own_list(folder, text, *, base="gcp"):
    """The rows of us-central1 in a list of one's own that builds on another one."""
    file = folder / "conf" / "prices" / "mine.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"defaults: [{base}, _self_]\n{text}\n")
    return prices_of("prices=mine", working_directory=folder).rows["us-central1"]


def own_row(text):
    return f"regions: {{us-central1: {{instances: {{{text}}}}}}}"


@pytest.mark.parametrize("instance", ["n2-standard-8", "a2-ultragpu-1g", "desk"])
def test_an_own_row_takes_neither_date_nor_source_from_the_list_it_builds_on(instance, tmp_path):
    with pytest.raises(
        ConfigError, match=rf"mine.yaml: {instance} in us-central1 has no as_of and no source;"
    ):
        own_list(tmp_path, own_row(f"{instance}: {{on_demand: 0.3}}"))


def test_date_and_source_at_the_top_of_a_file_are_of_the_rows_of_that_file_alone(tmp_path):
    top = "as_of: 2026-11-01\nsource: our contract\n"
    rows = own_list(tmp_path, top + own_row("n2-standard-8: {on_demand: 0.3}, desk: {spot: 1, source: me}"))
    found = {name: (rows[name].as_of, rows[name].source) for name in ("n2-standard-8", "desk")}
    assert found == {"n2-standard-8": ("2026-11-01", "our contract"), "desk": ("2026-11-01", "me")}
    assert rows["v3-8"] == prices_of().rows["us-central1"]["v3-8"]


@pytest.mark.more
def test_an_own_row_takes_no_price_and_no_note_of_the_row_that_it_replaces(tmp_path):
    own = "{on_demand: 4, as_of: 2026-11-01, source: our contract}"
    row = own_list(tmp_path, own_row(f"a2-ultragpu-1g: {own}"))["a2-ultragpu-1g"]
    assert prices_of().rows["us-central1"]["a2-ultragpu-1g"].note
    assert (row.on_demand_usd_per_hour, row.spot_usd_per_hour, row.note) == (4.0, None, None)


def test_a_row_without_a_price_only_adds_to_the_row_it_builds_on(tmp_path):
    row = own_list(tmp_path, own_row("v3-8: {note: asked by phone}"))["v3-8"]
    assert row == replace(prices_of().rows["us-central1"]["v3-8"], note="asked by phone")


def test_prices_in_a_sweeps_file_need_date_and_source_too(tmp_path):
    file = tmp_path / "conf" / "sweep" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "# @package _global_\ndefaults: [/sweep@sweep: smoke, _self_]\n"
        "prices: {regions: {us-central1: {instances: {n2-standard-8: {on_demand: 0.3}}}}}\n"
    )
    with pytest.raises(ConfigError, match=r"conf/sweep/mine.yaml: n2-standard-8 in us-central1 has no as_of"):
        load(["+sweep=mine"], working_directory=tmp_path)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("prices=gpc", "unknown prices 'gpc'; did you mean 'gcp'? known: all, gcp, none"),
        ("prices.provisioning=reserved", "unknown prices.provisioning 'reserved'; known: on_demand, spot"),
        (
            "prices.region=mars",
            "unknown prices.region 'mars'; known: asia-east1, europe-west4, us-central1, ",
        ),
        (
            "prices.regions.us-central1.instances.n2-standard-8.on_demand=1",
            "'prices.regions.us-central1.instances.n2-standard-8.on_demand' is a fact with a source; write "
            "it into another file in conf/prices/ and choose it: prices=NAME",
        ),
        (
            "prices.seller=me",
            "'prices.seller' is a fact with a source; write it into another file in conf/pri",
        ),
        (
            "prices.own={h1000: 2}",
            "unknown device in prices.own: 'h1000'; did you mean 'h100'? known: a100_40,",
        ),
        ("prices.own={p3.8xlarge: 2}", "p3.8xlarge has 4 x v100; write device v100"),
        ("prices.own={v100: -1}", "prices.own: v100=-1 must be a price as {h100: 2.5}, or 0: reserved"),
        (
            "prices.discount={gcp: 1}",
            "prices.discount: gcp=1 must be a share from 0 to below 1, as {gcp: 0.3}",
        ),
        ("prices.sellers=[]", "prices.sellers=[] names none; possible: [all], or names as [gcp,aws]"),
        ("prices.own=5", "prices.own=5 must be a mapping of keys to values"),
        ("prices.discount=[gcp]", "prices.discount=['gcp'] must be a mapping of keys to values"),
        ("prices.sellers=aws", "prices.sellers='aws' must be a list"),
        (
            "prices.source=me",
            "'prices.source' is a fact with a source; write it into another file in conf/pri",
        ),
    ],
)
def test_a_mistake_on_the_line_is_one_line(word, message):
    with pytest.raises(ConfigError) as raised:
        prices_of(word)
    assert str(raised.value).startswith(message)
