"""Workloads are found by looking, and a wrong name, type or value is refused in one line."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest
from declared_workloads import DECLARED
from repository import ROOT
from user_workload import SPEC, searched

from workloads.layers import Conv2d
from workloads.registry import options_class, workload, workload_names


def test_a_folder_with_a_spec_is_a_workload_and_a_folder_without_is_not() -> None:
    assert "mnist_cnn" in workload_names()
    assert "data" not in workload_names()


@pytest.mark.parametrize("name", DECLARED)
def test_every_workload_has_frozen_options_with_defaults_that_give_a_network(name: str) -> None:
    options = options_class(name)()
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.learning_rate = 1.0
    assert workload(name, {}).name == name
    assert workload(name, dataclasses.asdict(options)) == workload(name, {})


@pytest.mark.parametrize("name", DECLARED)
def test_every_workload_declares_its_full_training(name: str) -> None:
    spec = workload(name, {})
    assert spec.epochs is not None
    assert 1 <= spec.epochs <= 300
    samples = resolve_name(spec.data.data_set).train_samples
    assert (samples or spec.data.train_tokens) >= 25_000


def test_steps_of_a_paper_are_given_as_epochs() -> None:
    steps, batch = 64_000, 128
    assert workload("resnet50", {}).epochs == steps * batch / 50_000


def test_options_reach_the_spec_and_a_whole_number_passes_as_a_float() -> None:
    spec = workload("mnist_cnn", {"filters": [4, 6], "learning_rate": 1})
    layers = [node.layer for node in spec.networks["model"].nodes]
    assert [layer.filters for layer in layers if isinstance(layer, Conv2d)] == [4, 6]
    optimizer = spec.phases[0].optimizers["model"]
    assert optimizer.learning_rate == 1.0
    assert isinstance(optimizer.learning_rate, float)


def test_an_unknown_workload_is_shown_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"^unknown workload 'mnist_cn'; did you mean 'mnist_cnn'\? known: "):
        workload("mnist_cn", {})
    with pytest.raises(ValueError, match=r"^unknown workload 'zzz'; known: "):
        options_class("zzz")


def test_an_unknown_option_is_shown_with_the_nearest_one() -> None:
    expected = (
        r"^unknown option of workload 'mnist_cnn', 'filter'; did you mean 'filters'\? known: dense_units, f"
    )
    with pytest.raises(ValueError, match=expected):
        workload("mnist_cnn", {"filter": [1]})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("dense_units", 2.5, r"expected int, found 2\.5"),
        ("dense_units", True, "expected int, found True"),
        ("learning_rate", "fast", "expected float, found 'fast'"),
        ("filters", 3, r"expected tuple\[int, \.\.\.\], found 3"),
        ("filters", [8, "x"], "expected int, found 'x'"),
    ],
)
def test_an_option_of_the_wrong_type_is_refused(option: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^workload 'mnist_cnn', option '{option}': {expected}$"):
        workload("mnist_cnn", {option: value})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("filters", [], r"mnist_cnn filters=\(\) must be at least 1"),
        ("filters", [8, 0], r"mnist_cnn filters=\(8, 0\) must be at least 1"),
        ("dense_units", -1, "mnist_cnn dense_units=-1 must be at least 1"),
        ("learning_rate", float("nan"), "mnist_cnn learning_rate=nan must be above 0 and finite"),
        ("momentum", 1, r"mnist_cnn momentum=1\.0 must lie in \[0, 1\)"),
    ],
)
def test_an_option_out_of_range_is_refused(option: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        workload("mnist_cnn", {option: value})


def test_more_convolutions_than_the_image_has_room_for_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'mnist_cnn': layer 9, Conv2d\(.*leaves no output of its input \(1, 1, 4\)"
    ):
        workload("mnist_cnn", {"filters": [4, 4, 4, 4]})


def test_no_framework_is_imported_for_a_spec() -> None:
    code = """
import sys
from workloads.flops import forward_flops
from workloads.registry import workload, workload_names
for name in set(workload_names()) - {"script", "causal_lm"}:
    [forward_flops(network) for network in workload(name, {}).networks.values()]
print({"torch", "tensorflow", "keras", "ray"} & set(sys.modules))
"""
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "set()"


def test_a_layer_that_holds_something_else_than_a_number_is_shown(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "spec.py").write_text(SPEC.replace("units=10", "units='ten'"))
    with (
        searched(tmp_path),
        pytest.raises(
            ValueError, match=r"^workload 'mine': .*nodes\[1\]\.layer\.units: expected int, found 'ten'"
        ),
    ):
        workload("mine", {})
