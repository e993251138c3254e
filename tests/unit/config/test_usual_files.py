"""Files of the usual shape: merged as Hydra composes them, and all others left to Hydra."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf
from repository import ROOT

from orchestrator.config.composer import Composer, hydra_1_3
from orchestrator.config.schema import POINT_GROUPS, SETTINGS_GROUPS

SWEEPS = ("smoke", "tpu_vs_gpu", "paper_kernel_split")
GROUPS = (*POINT_GROUPS, *SETTINGS_GROUPS, "sweep")
CHOSEN = "schema, _self_"


@pytest.fixture(scope="module")
def composer():
    return Composer(ROOT)


def composer_of(folder: Path, files: dict[str, str]) -> Composer:
    for name, text in files.items():
        file = folder / "conf" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Composer(folder)


def usual_primary(composer: Composer, name: str, picks: dict[str, str]):
    with hydra_1_3():
        return composer._usual.primary(name, picks)


def usual_option(composer: Composer, group: str, option: str):
    with hydra_1_3():
        return composer._usual.option(group, option)


def assert_same(merged, composed):
    assert merged == composed
    assert OmegaConf.to_yaml(merged) == OmegaConf.to_yaml(composed)
    assert types_in(merged) == types_in(composed)


def types_in(config):
    nodes = [(str(key), config._get_node(key)) for key in config] if OmegaConf.is_dict(config) else []
    inner = {key: types_in(node) if OmegaConf.is_dict(node) else type(node) for key, node in nodes}
    return OmegaConf.get_type(config), inner


@pytest.mark.parametrize("group", GROUPS)
def test_every_shipped_option_is_merged_as_hydra_composes_it(composer, group):
    pairs = [(group, option) for option in composer.options(group)]
    composed = composer._composed_beside(pairs)
    for pair in pairs:
        assert_same(usual_option(composer, *pair), composed[pair])


@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_primary_file_is_merged_as_hydra_composes_it(composer, sweep):
    picks = {"sweep": sweep, "device": "t4", "search": "adaptive"}
    merged, choices = usual_primary(composer, "config", picks)
    composed, known = composer._composed(picks)
    assert_same(merged, composed)
    assert choices == {group: known[group] for group in choices}


def test_values_in_a_primary_file_go_over_its_options_and_under_the_sweep(tmp_path):
    text = (ROOT / "conf" / "config.yaml").read_text()
    composer = composer_of(
        tmp_path,
        {
            "config.yaml": f"{text}seed: 3\nretry: {{oom: 2}}\nsweep: {{repeats: 7}}\n",
            "sweep/mine.yaml": f"defaults: [{CHOSEN}]\nname: mine\n",
        },
    )
    merged, _ = usual_primary(composer, "config", {"sweep": "mine"})
    assert_same(merged, composer._composed({"sweep": "mine"})[0])
    assert (merged.seed, merged.retry.oom) == (3, 2)


@pytest.mark.parametrize(
    "text",
    [
        "defaults: [t4, _self_]\nnotes: x\n",
        "defaults: [schema, t4, _self_]\n",
        "defaults: [mine, _self_]\n",
        "defaults: [_self_, schema]\n",
        "defaults: [schema]\nname: mine\n",
        "defaults: [schema@here, _self_]\n",
        "# @package _global_\ndefaults: [schema, _self_]\n",
        "name: mine\n",
        "defaults: [schema, _self_]\nno_key_of_a_device: 1\n",
        "defaults: [schema, _self_]\nchips: many\n",
        "defaults: [schema, _self_\n",
    ],
)
def test_another_option_or_a_wrong_one_is_left_to_hydra(text, tmp_path):
    composer = composer_of(tmp_path, {"device/mine.yaml": text})
    assert usual_option(composer, "device", "mine") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  - device: cpu\n", "  - device: cpu\n  - sweep: smoke\n"),
        ("  - device: cpu\n", "  - device: cpu\n  - device: t4\n"),
        ("  - device: cpu\n", "  - optional device: cpu\n"),
        ("  - device: cpu\n", "  - device@other: cpu\n"),
        ("  - device: cpu\n", ""),
        ("  - device: cpu\n", "  - device: ${precision}\n"),
        ("  - _self_\n", ""),
        ("  - _self_\n", "  - _self_\n  - smoke\n"),
        ("  - _self_\n", "  - _self_\nseed: many\n"),
    ],
)
def test_another_primary_file_or_a_wrong_one_is_left_to_hydra(before, after, tmp_path):
    text = (ROOT / "conf" / "config.yaml").read_text().replace(before, after)
    composer = composer_of(tmp_path, {"config.yaml": text})
    assert usual_primary(composer, "config", {"sweep": "smoke", "device": "t4"}) is None


def test_a_configuration_that_is_written_over_leaves_the_options_as_they_are(composer):
    picks = {"sweep": "smoke"}
    first, _ = composer.base(picks)
    first.device.instances = {1: "other"}
    first.retry.oom = 9
    second, _ = composer.base(picks)
    assert second.retry.oom == 0
    assert second.device.instances != {1: "other"}
