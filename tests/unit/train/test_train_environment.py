"""A worker says what its interpreter has and which processor it runs on, and imports nothing for it."""

import platform
import sys
from importlib import metadata
from pathlib import Path

import pytest

from orchestrator.train.environment import cpu_model, framework_versions, tpu_name


def test_versions_are_those_that_are_installed_and_of_python() -> None:
    assert framework_versions(["numpy"]) == {
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
    }


def test_a_package_that_is_not_installed_is_left_out() -> None:
    assert set(framework_versions(["no-such-package"])) == {"python"}


@pytest.mark.parametrize("distribution", ["tensorflow", "tensorflow_cpu", "tensorflow_tpu"])
def test_tensorflow_is_found_under_any_of_its_names(
    distribution: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"{distribution}-2.20.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 2.20.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert framework_versions(["tensorflow"])["tensorflow"] == "2.20.0"


def test_the_processor_is_named_as_the_kernel_names_it(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nmodel name\t: Some CPU @ 2.70GHz\nprocessor\t: 1\nmodel name\t: Other\n"
    )
    assert cpu_model(cpuinfo) == "Some CPU @ 2.70GHz"


@pytest.mark.parametrize(
    ("accelerator_type", "name"), [("v5litepod-8", "TPU v5e"), ("v3-8", "TPU v3"), ("v6e-1", "TPU v6e")]
)
def test_a_tpu_is_named_by_its_generation(accelerator_type: str, name: str) -> None:
    assert tpu_name(accelerator_type) == name


def test_a_processor_without_a_name_is_its_architecture(tmp_path: Path) -> None:
    assert cpu_model(tmp_path / "absent") == platform.machine()
