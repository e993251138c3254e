"""Many ranks' results, one result of the trial."""

import ast
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest
from builders import pursuit, train_result
from rank_result_builders import report
from repository import ROOT

from orchestrator.core.codec import from_json, to_json
from orchestrator.core.result import DeviceFacts, TrainResult
from orchestrator.core.work_share import KernelShare
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.rank_result import RankResult, merge_ranks

_OF_RANKS_ALONE = {"times", "device", "product_seconds", "versions", "counters", "written_files"}
_OF_THE_TRIAL_ALONE = {"launch_seconds", "devices", "calibration", "peaks"}


def test_one_report_is_the_result():
    assert merge_ranks([report()], launch_seconds=0.6) == train_result(launch_seconds=0.6)


def test_a_report_travels_as_json():
    assert from_json(RankResult, to_json(report())) == report()


def test_the_slowest_rank_counts():
    quick = report()
    slow = report(
        {"first_step_seconds": 0.3, "warmup_seconds": 0.04, "training_seconds": 1.5},
        setup_seconds=0.7,
        evaluation_seconds=0.2,
    )
    for reports in ([quick, slow], [slow, quick]):
        result = merge_ranks(reports, launch_seconds=0.6)
        assert (result.setup_seconds, result.first_step_seconds, result.warmup_seconds) == (0.7, 0.3, 0.04)
        assert (result.training_seconds, result.evaluation_seconds) == (1.5, 0.2)


def test_every_rank_keeps_its_blocks_processor_time_memory_and_device():
    first = report(
        {"block_seconds": (1.0,), "reading_seconds": ((0.2, 0.1),), "cpu_seconds": 1.0}, peak_host_bytes=1
    )
    second = report(
        {"block_seconds": (2.0,), "reading_seconds": ((0.4, 0.3),), "cpu_seconds": 2.0},
        peak_host_bytes=2,
        device=DeviceFacts(kind="cpu", name="Another CPU", count=2, precision="fp32"),
    )
    result = merge_ranks([first, second], launch_seconds=0.6)
    assert result.block_seconds == ((1.0,), (2.0,))
    assert result.reading_seconds == (((0.2, 0.1),), ((0.4, 0.3),))
    assert (result.cpu_seconds, result.peak_host_bytes) == ((1.0, 2.0), (1, 2))
    assert [device.name for device in result.devices] == ["Some CPU", "Another CPU"]


def test_samples_are_added_up_over_ranks():
    assert merge_ranks([report(samples=3840), report(samples=3840)], launch_seconds=0.6).samples == 7680


def test_what_is_of_the_whole_trial_is_not_added_up_over_ranks():
    result = merge_ranks([report(), report()], launch_seconds=0.6)
    assert (result.steps, result.flops_per_step) == (120, 1e9)
    assert result.quality == {"accuracy": 0.97}


def test_what_no_weight_of_one_rank_left_is_unmoved():
    reports = [report(), report(unmoved=("training.model",)), report(unmoved=("training.model",))]
    assert merge_ranks(reports, launch_seconds=0.6).unmoved == ("training.model",)


@pytest.mark.parametrize(("kernels", "found"), [(1, ()), (2, ("training.model",))])
def test_a_rank_whose_one_kernel_does_not_learn_does_not_mark_the_layer_as_unmoved(kernels, found):
    share = KernelShare(layer="model.3", kernels=kernels, of_kernels=3, probe_flops=1e9, probe_seconds=0.1)
    device = replace(report().device, kernel_shares=(share,))
    first, second = report(device=device), report(device=device, unmoved=("training.model",))
    assert merge_ranks([first, second], launch_seconds=0.6).unmoved == found
    assert merge_ranks([second, first], launch_seconds=0.6).unmoved == ("training.model",)


def test_the_rank_that_compiled_most_while_it_was_timed_counts():
    still, busy, silent = (report({"compile_counts": value}) for value in [(9, 9), (2, 4), None])
    assert merge_ranks([still, busy, silent], launch_seconds=0.6).compile_counts == (2, 4)


def test_compilations_are_unknown_if_no_rank_counts_them():
    assert merge_ranks([report(), report()], launch_seconds=0.6).compile_counts is None


def test_a_pursuit_has_the_quality_of_the_first_rank_and_the_times_of_the_slowest():
    first = pursuit(0.5, 0.9)
    slow = replace(
        first,
        curve=tuple(
            replace(item, training_seconds=item.training_seconds + 1, quality=0.1) for item in first.curve
        ),
        evaluation_seconds=0.7,
    )
    merged = merge_ranks([report({"pursuit": first}), report({"pursuit": slow})], launch_seconds=0.6).pursuit
    assert merged is not None
    assert [(item.steps, item.training_seconds, item.quality) for item in merged.curve] == [
        (10, 2.0, 0.5),
        (20, 3.0, 0.9),
    ]
    assert merged.evaluation_seconds == 0.7


def test_without_a_target_there_is_no_pursuit():
    assert merge_ranks([report(), report()], launch_seconds=0.6).pursuit is None


def test_energy_is_the_sum_over_all_that_read_a_counter_and_absent_where_one_has_none():
    first = report({"energy_joules": {"host": 5.0, "accelerator": 7.0}}, counters=("host", "accelerator"))
    second = report({"energy_joules": {"host": 3.0}}, counters=("host", "accelerator"))
    silent = report()
    assert merge_ranks([first, silent], launch_seconds=0.6).energy_joules == {
        "host": 5.0,
        "accelerator": 7.0,
    }
    assert merge_ranks([first, second, silent], launch_seconds=0.6).energy_joules == {"host": 8.0}


def test_every_field_of_a_rank_is_a_field_of_the_result_or_known_to_be_of_ranks_alone() -> None:
    of_ranks = {field.name for kind in (RankResult, LoopTimes) for field in fields(kind)}
    of_trial = {field.name for field in fields(TrainResult)}
    assert of_ranks - _OF_RANKS_ALONE == of_trial - _OF_THE_TRIAL_ALONE


@pytest.mark.parametrize(
    "name",
    [
        "block_cpu_seconds",
        "busy_core_seconds",
        "bytes_per_step",
        "exchange_seconds",
        "pipeline_samples_per_second",
        "reading_seconds",
        "resumed_seconds",
    ],
)
def test_a_measured_number_has_three_places_between_its_measurement_and_its_record(name: str) -> None:
    packages = ("core", "execute", "record", "train")
    modules = [path for package in packages for path in (ROOT / "orchestrator" / package).rglob("*.py")]
    places = [path.stem for path in modules if any(_list_declarations(path, name))]
    assert len(places) <= 3, places


def _list_declarations(path: Path, name: str) -> Iterator[ast.AST]:
    """Yield where a module declares a field of that name, or passes it by that name."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_field = isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name
        if is_field or (isinstance(node, ast.keyword) and node.arg == name):
            yield node
