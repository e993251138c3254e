"""Names of devices as people and clouds write them, in command lines and config files."""

from pathlib import Path

import pytest
from repository import ROOT

from orchestrator.config.cluster import load_cluster
from orchestrator.config.loader import device_words, load
from orchestrator.core.errors import ConfigError

SWEEP = ("+sweep=single", "trainer=noop", "data.source=synthetic")


def find_devices(folder: Path, *words: str) -> list[tuple[str, int]]:
    points = load([*SWEEP, *words], working_directory=folder).sweep.points
    return [(point.device_label, point.num_workers) for point in points]


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        (("device=H100",), ("device=h100",)),
        (("device='NVIDIA H100',Tesla-T4",), ("device=h100,t4",)),
        (("device=p5.48xlarge",), ("device=h100", "num_workers=8")),
        (("devices=[CPU,nvidia-tesla-t4]",), ("devices=[cpu,t4]",)),
    ],
)
@pytest.mark.more_cases("typed1", "typed2", "typed3")
def test_a_device_is_the_same_trial_under_each_of_its_names(
    tmp_path: Path, typed: tuple[str, ...], canonical: tuple[str, ...]
) -> None:
    found = load([*SWEEP, *typed], working_directory=tmp_path)
    expected = load([*SWEEP, *canonical], working_directory=tmp_path)
    assert found.sweep == expected.sweep
    assert found.overrides == expected.overrides == (*SWEEP, *canonical)


def test_a_sweep_in_a_file_takes_the_same_names(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "sweep"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "defaults: [schema, _self_]\nname: mine\n"
        "common: {trainer: noop, data: synthetic, workload: mnist_cnn, precision: fp32}\n"
        "grid: {device: [H100, nvidia-tesla-t4, g5.xlarge]}\n"
        "include: [{device: V5E-8}, {devices: [CPU, Tesla T4]}]\nbaseline: {device: H-100}\n"
    )
    points = load(["+sweep=mine"], working_directory=tmp_path).sweep.points
    assert [point.device.name for point in points] == ["h100", "t4", "a10g", "tpu_v5e_8", "cpu"]
    assert [point.is_baseline for point in points] == [True, False, False, False, False]


def test_an_instance_with_several_devices_is_refused_in_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "sweep"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "defaults: [schema, _self_]\nname: mine\ngrid: {device: [g5.12xlarge]}\n"
    )
    with pytest.raises(
        ConfigError, match=r"^g5.12xlarge has 4 x a10g; write device a10g and num_workers 4 here$"
    ):
        load(["+sweep=mine"], working_directory=tmp_path)


@pytest.mark.more
def test_pools_take_the_same_names(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "pools"
    folder.mkdir(parents=True)
    shipped = (ROOT / "conf/pools/fake.yaml").read_text()
    assert "device: l4" in shipped or "device: t4" in shipped
    (folder / "mine.yaml").write_text(
        shipped.replace("device: l4", "device: NVIDIA L4").replace("device: t4", "device: Tesla T4")
    )
    mine, _ = load_cluster(["pools=mine"], working_directory=tmp_path)
    fake, _ = load_cluster(["pools=fake"], working_directory=tmp_path)
    assert [pool.device for pool in mine.pools] == [pool.device for pool in fake.pools]


def test_a_device_file_of_ones_own_keeps_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "device"
    folder.mkdir(parents=True)
    text = (ROOT / "conf/device/t4.yaml").read_text()
    (folder / "T4.yaml").write_text(text.replace("name: t4", "name: T4"))
    assert find_devices(tmp_path, "device=T4") == [("T4", 1)]
    with pytest.raises(ConfigError, match=r"^device 'Tesla-T4' may be T4 or t4; name one of them$"):
        find_devices(tmp_path, "device=Tesla-T4")


def test_devices_of_a_cluster_take_no_figures_from_each_other(tmp_path: Path) -> None:
    alone, in_cluster = (
        load([*SWEEP, "device=h100", *words], working_directory=tmp_path).sweep.points[0].device
        for words in ((), ("cluster=fake",))
    )
    assert in_cluster == alone


def test_an_unknown_device_gets_no_suggestion_that_shares_digits_alone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        find_devices(tmp_path, "device=P100")
    assert str(told.value).startswith("unknown device 'P100'; known: a100_40, ")


def test_the_instance_that_was_named_is_known_beside_the_words(tmp_path: Path) -> None:
    named = device_words(["device=g5.xlarge,H100"], working_directory=tmp_path)
    assert (named.words, dict(named.instances)) == (("device=a10g,h100",), {"a10g": "g5.xlarge"})
