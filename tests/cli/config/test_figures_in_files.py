"""Figures of devices, pools and prices that no hardware has: one line that names the file and the field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands_fuzzed import BASE
from repository import ROOT
from session_cache import cache  # noqa: F401  a fixture

from orchestrator.cli import main
from orchestrator.commands.command_line import WRONG_REQUEST

CONF = ROOT / "conf"
NO_FIGURE = ("0", "-1", ".nan", ".inf")
NO_NUMBER = ("much", "true", "[1]")
FIGURES = ("memory_bytes", "memory_bytes_per_second", "link_bytes_per_second", "tdp_watts")
INSIDE = ("peak_flops_per_second.fp16", "cpus.2")
WHOLE = ("chips", "replicas")


def refused(
    folder: Path, name: str, changes: Mapping[str, str], words: tuple[str, ...], *, like: str | None = None
) -> None:
    """Have the plan refused with a shipped file that has those values, by their dotted keys."""
    plain = yaml.safe_load((CONF / f"{like or name}.yaml").read_text())
    for key, value in changes.items():
        *path, last = (int(word) if word.isdigit() else word for word in key.split("."))
        holder: Any = plain
        for part in path:
            holder = holder[part]
        holder[last] = yaml.safe_load(value)
    file = folder / f"conf/{name}.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(plain))
    assert main(["plan", *BASE, *words]) == WRONG_REQUEST


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow_cases(".nan", ".inf", "true", "[1]")
@pytest.mark.more_except("memory_bytes-0", "memory_bytes--1")
@pytest.mark.parametrize("value", [*NO_FIGURE, *NO_NUMBER])
@pytest.mark.parametrize("key", [*FIGURES, *INSIDE, *WHOLE])
def test_a_device_has_figures_above_0(
    here: Path, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    refused(here, "device/t4", {key: value}, ("device=t4",))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: conf/device/t4.yaml: device.{key}"), line
    assert " must be " in line


@pytest.mark.more_except("-1.0", "nan must")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tdp_watts": "-1"}, "device.tdp_watts=-1.0 must be above 0 and finite"),
        ({"peak_flops_per_second.fp16": ".nan"}, "device.peak_flops_per_second.fp16=nan must be above 0 and "
         "finite"),
        ({"peak_flops_per_second.fp16": "[1]"}, "device.peak_flops_per_second.fp16=[1] must be a number"),
        ({"cpus": "{0: 8}"}, "a count in device.cpus=0 must be at least 1"),
        ({"cpus": "{1: [8]}"}, "device.cpus.1=[8] must be a number"),
        ({"instances": "{1: [a]}"}, "device.instances.1=['a'] must be a text"),
        ({"replicas": "0"}, "device.replicas=0 must be at least 1"),
    ],
)  # fmt: skip
def test_a_line_shows_which_figure_is_wrong(
    here: Path, capsys: pytest.CaptureFixture[str], changes: Mapping[str, str], message: str
) -> None:
    refused(here, "device/t4", changes, ("device=t4",))
    assert main(["run", *BASE, "device=t4"]) == WRONG_REQUEST
    assert capsys.readouterr().err.splitlines() == 2 * [f"error: conf/device/t4.yaml: {message}"]


@pytest.mark.more_except("count-0", "count--1")
@pytest.mark.parametrize("value", [*NO_FIGURE, *NO_NUMBER])
@pytest.mark.parametrize("key", ["count", "max_nodes"])
def test_a_pool_has_figures_above_0(
    here: Path, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    if (key, value) == ("max_nodes", "0"):  # a pool that is switched off
        return
    changes = {f"nodes.l4.{key}": value}
    refused(here, "pools/mine", changes, ("pools=mine", "cluster=fake"), like="pools/fake")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: conf/pools/mine.yaml: ")
    assert "l4" in line
    assert key in line


@pytest.mark.more_except("on_demand-0", "on_demand--1")
@pytest.mark.parametrize("value", [*NO_FIGURE, *NO_NUMBER])
@pytest.mark.parametrize("key", ["on_demand", "spot"])
def test_a_price_is_above_0(here: Path, capsys: pytest.CaptureFixture[str], key: str, value: str) -> None:
    changes = {f"regions.us-central1.instances.n2-standard-8.{key}": value}
    refused(here, "prices/mine", changes, ("prices=mine",), like="prices/gcp")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: conf/prices/mine.yaml: ")
    assert "n2-standard-8" in line
    assert f"{key}=" in line
