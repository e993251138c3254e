"""The price lists in `conf/prices/`, and lists of users' own."""

import csv
import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from repository import ROOT

from orchestrator.config.composer import Composer
from orchestrator.config.loader import load
from orchestrator.config.points import device_of
from orchestrator.config.schema import PricesConf
from orchestrator.config.values import plain_of
from orchestrator.core.errors import ConfigError
from orchestrator.core.price import Unpriced
from orchestrator.plan.pricing import price_of

DEVICES = sorted(path.stem for path in (ROOT / "conf/device").glob("*.yaml"))
SWEEP = ("+sweep=smoke", "device=cpu", "trainer=torch_ddp", "precision=fp32")


def prices_of(*words, working_directory=ROOT):
    return load([*SWEEP, *words], working_directory=working_directory).prices


@pytest.fixture(scope="module")
def devices():
    nodes = Composer(ROOT).nodes({"device": DEVICES})
    return {
        name: device_of(plain_of(nodes["device", name], group="device"), file_name=name) for name in DEVICES
    }


def test_the_usual_list_is_that_of_google_on_demand():
    found = prices_of()
    assert (found.name, found.region, found.provisioning) == ("gcp", "us-central1", "on_demand")
    assert not load(SWEEP, working_directory=ROOT).reprices


@pytest.mark.parametrize("word", ["prices=gcp", "prices.provisioning=spot"])
def test_a_command_line_that_speaks_of_prices_is_told_apart(word):
    assert load([*SWEEP, word], working_directory=ROOT).reprices


def test_every_device_that_google_sells_has_a_price_somewhere_but_two(devices):
    lists = [prices_of(f"prices.region={region}") for region in prices_of().rows]
    without = [
        name
        for name, device in devices.items()
        if all(isinstance(price_of(device, 1, prices=item, today="2026-11-21"), Unpriced) for item in lists)
    ]
    assert without == [
        name for name, device in devices.items() if not device.instances or name in ("h200", "tpu_v7x_8")
    ]


def test_the_list_holds_nothing_but_what_device_files_name(devices):
    named = {instance for device in devices.values() for instance in device.instances.values()}
    held = {instance for rows in prices_of().rows.values() for instance in rows}
    assert named - held == {"a3-ultragpu-8g", "tpu7x-8"}
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
            published = known[region, instance]
            assert row.on_demand_usd_per_hour == float(published["usd_per_hour_on_demand"]), (
                region,
                instance,
            )
            assert row.spot_usd_per_hour == float(published["usd_per_hour_spot"]), (region, instance)
            assert published["confidence"].startswith("high")
            assert row.as_of in published["catalogue"]


def test_a_list_of_ones_own_says_what_differs_as_the_documentation_shows(tmp_path):
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


def test_the_documentation_names_the_keys_of_prices_and_their_defaults():
    documented = (ROOT / "docs/how_to/prices.md").read_text()
    rows = dict(re.findall(r"^\| `prices\.(\w+)` \| (.*?) ?\|", documented, re.MULTILINE))
    facts = {"currency", "as_of", "source", "regions"}
    assert rows.keys() == {field_.name for field_ in fields(PricesConf)} - facts
    assert (rows["max_age_days"], rows["billing_seconds"]) == (
        str(PricesConf.max_age_days),
        str(PricesConf.billing_seconds),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("regions: {here: {instances: {box: {on_demnd: 1}}}}", "unknown key of conf/prices/mine.yaml: 'pric"),
        ("regions: {here: {box: {on_demand: 1}}}", "unknown key of conf/prices/mine.yaml: 'prices.regions."),
        (
            "regions: {here: {instances: {box: {on_demand: much}}}}",
            "conf/prices/mine.yaml: prices.regions.here.instances.box.on_demand='much' must be a number",
        ),
        ("region: here\nregions: {mars: {}}", "unknown prices.region 'here'; known: mars"),
        (
            "region: here\nregions: {here: {instances: {box: {on_demand: 1}}}}",
            "conf/prices/mine.yaml: box in here: as_of='' must be a day, as in 2026-08-20",
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


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("prices=gpc", "unknown prices 'gpc'; did you mean 'gcp'? known: gcp, none"),
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
            "prices.source=me",
            "'prices.source' is a fact with a source; write it into another file in conf/pri",
        ),
    ],
)
def test_a_mistake_on_the_line_is_one_line(word, message):
    with pytest.raises(ConfigError) as raised:
        prices_of(word)
    assert str(raised.value).startswith(message)
