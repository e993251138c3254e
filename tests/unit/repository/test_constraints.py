"""The versions that CI installs are those that the project allows."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from repository import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDED = [
    found
    for text in (
        *PROJECT["dependencies"],
        *(item for name in ("torch", "tensorflow", "gcp", "docs", "dev") for item in EXTRAS[name]),
    )
    if (found := Requirement(text)).name != "orchestrator"
]


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {name.lower().replace("_", "-"): Version(version) for name, version in pairs}


@pytest.mark.parametrize("needed", NEEDED, ids=str)
def test_what_is_needed_is_pinned_within_its_range(needed: Requirement) -> None:
    assert pinned()[needed.name.lower().replace("_", "-")] in needed.specifier


def test_a_pin_names_no_build_so_that_those_for_cpus_and_for_cuda_fit() -> None:
    assert not [name for name, version in pinned().items() if version.local]


@pytest.mark.parametrize("needed", NEEDED, ids=str)
def test_what_is_needed_has_an_upper_bound(needed: Requirement) -> None:
    assert needed.name == "pandas-stubs" or any(item.operator in ("<", "==") for item in needed.specifier)
