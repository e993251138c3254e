"""Calibration by own records: synthetic measurements on devices of known efficiency."""

import math
from dataclasses import replace

import pytest
from builders import placement, record, train_result
from plan_builders import T4, TPU, device, held, here, planned, point
from report_builders import repeats

from orchestrator.core.estimate import Estimate, Refusal, TrackRecord
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.error_model import learned_from
from orchestrator.extensions.predictions.step_time.estimator import (
    build_bases,
    build_estimator,
    leave_one_workload_out_estimator,
)
from orchestrator.extensions.predictions.step_time.own_records import step_measurements
from orchestrator.extensions.predictions.step_time.plan_forecasts import count_track_record
from workloads.registry import workload

MODELS = default_models()
GPU = replace(
    T4,
    name="new",
    native_precisions=("fp32", "fp16", "bf16"),
    peak_flops_per_second={"fp32": 3e13, "fp16": 1.2e14, "bf16": 1.1e14},
    memory_bytes_per_second=3e11,
    link_bytes_per_second=1.6e10,
)
SLICE = replace(
    TPU,
    peak_flops_per_second={"bf16": 4.2e14},
    memory_bytes_per_second=3.6e12,
    link_bytes_per_second=8e10,
)
RATED = replace(GPU, name="v100")
FLOAT8 = replace(
    GPU,
    name="float8",
    native_precisions=(*GPU.native_precisions, "fp8"),
    peak_flops_per_second={**GPU.peak_flops_per_second, "fp8": 2.2e14},
)
DEVICES = {value.name: value for value in (GPU, RATED, SLICE, FLOAT8, device())}
BASIS = build_bases(DEVICES, MODELS)
BIG, VGG = {"workload": "vgg16"}, {"workload": "vgg11"}
"""The device decides both: their host has a twentieth of the step."""


def trial(**changes):
    """One on the new GPU, or whatever device is said."""
    asked = point(**{"device": GPU, **changes})
    there = here(devices={asked.device.name: held(2, kind=asked.device.kind)})
    return planned(asked, inventory=there).placements[0].trial


def took(spec, seconds, **changes):
    """Build the trial's record with that step time, in which one core was busy."""
    blocks = (tuple([10 * seconds] * 6),)
    result = train_result(block_seconds=blocks, cpu_seconds=(60 * seconds,))
    return record(placement=placement(spec, **changes), result=result)


def slowed(factor, *, sweep="zoo", **changes):
    """A record that took so many times its sum of parts."""
    spec = trial(**changes)
    return replace(took(spec, factor * BASIS(spec).seconds), sweep=sweep)


def estimate(asked, *records):
    return build_estimator(BASIS, step_measurements(records, devices=DEVICES), MODELS)(asked)


def width(found):
    return found.high / found.low


def test_without_records_it_is_what_others_measured():
    found = estimate(trial(**VGG))
    assert found.likely == pytest.approx(BASIS(trial(**VGG)).seconds)
    assert found.source == "rough: vgg11 on other devices (PROFET, Wightman)"
    assert 3 < width(found) < 6


def test_a_step_in_fp8_is_refused_and_one_that_was_measured_moves_no_other():
    in_fp8 = replace(trial(device=FLOAT8, **VGG), precision="fp8")
    found = estimate(in_fp8)
    assert found == Refusal(
        reason="published steps in fp8 are compiled, and train all weights of transformers; "
        "bf16 is predicted",
        to_measure="this point",
    )
    in_bf16 = trial(device=FLOAT8, precision="bf16", **BIG)
    own = took(in_fp8, 3.0)
    assert estimate(in_bf16, own) == estimate(in_bf16)
    assert estimate(in_fp8, own).likely == pytest.approx(3.0)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_peak_of_fp8_changes_no_prediction_in_another_precision(precision):
    found = [estimate(trial(device=one, precision=precision, **VGG)) for one in (GPU, FLOAT8)]
    assert found[0] == found[1]


def test_one_measured_trial_calibrates_a_device_that_was_never_seen():
    found = estimate(trial(**VGG), slowed(3.0, **BIG))
    before = estimate(trial(**VGG))
    assert found.source == (
        "own records on this device of vgg16: 1 of sweep zoo; "
        "rough: vgg11 on other devices (PROFET, Wightman)"
    )
    assert 1.3 < found.likely / before.likely < 3.0, "the deviation of networks holds it back"
    assert found.low < 3.0 * before.likely < found.high
    assert 1 < width(found) < width(before)


def test_more_workloads_come_nearer_to_the_device_and_narrow_the_interval():
    names = ("vgg16", "alexnet", "resnet18", "vgg13", "vgg19", "resnet34", "xception", "resnet50")
    records = [slowed(3.0, workload=name, global_batch_size=256) for name in names]
    found = [estimate(trial(**VGG), *records[:count]) for count in (1, 2, 4, 8)]
    truth = 3.0 * BASIS(trial(**VGG)).seconds
    errors = [abs(math.log(estimate.likely / truth)) for estimate in found]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.25
    assert [width(estimate) for estimate in found] == sorted(map(width, found), reverse=True)


def test_many_records_of_one_workload_are_no_more_than_one_workload():
    records = [slowed(3.0, **BIG, global_batch_size=value) for value in (32, 64, 128)]
    one, three = estimate(trial(**VGG), records[0]), estimate(trial(**VGG), *records)
    assert width(three) == pytest.approx(width(one), rel=0.02)
    assert "3 of sweep zoo" in three.source


def test_workloads_that_disagree_widen_the_interval():
    names = ("vgg16", "alexnet", "resnet18", "vgg13")
    agreeing = [slowed(3.0, workload=name) for name in names]
    apart = [slowed(factor, workload=each) for factor, each in zip((0.5, 2, 6, 18), names, strict=True)]
    assert width(estimate(trial(**VGG), *apart)) > 2 * width(estimate(trial(**VGG), *agreeing))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"global_batch_size": 32},
        {"precision": "fp16"},
        {"device": RATED},
        {"device": RATED, "precision": "fp16", "global_batch_size": 128},
    ],
)
def test_one_own_record_of_an_unpublished_network_narrows_its_predictions_elsewhere(changes):
    """Of another batch, precision or device: its error at least halves, where nobody measured it before."""
    asked = trial(workload="mnist_gan")
    unseen = replace(MODELS, steps=tuple(one for one in MODELS.steps if one.labels.family is not None))
    basis = build_bases(DEVICES, unseen)
    measured = trial(workload="mnist_gan", **(changes or {"global_batch_size": 256}))
    own = step_measurements([took(measured, 3.0 * basis(measured).seconds)], devices=DEVICES)
    before, found = (build_estimator(basis, records, unseen)(asked) for records in ((), own))
    assert 3.0 < before.high / before.likely < 8.0
    assert before.source == "rough: from counts alone, as nothing alike was published"
    truth = 3.0 * before.likely
    assert abs(math.log(found.likely / truth)) < 0.5 * math.log(3.0)
    assert found.holds(truth)
    assert width(found) < width(before)


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "fp16"},
        {"device": SLICE, "trainer": "tensorflow", "precision": "bf16", "global_batch_size": 256},
        {"num_workers": 2},
    ],
)
def test_own_measurements_of_another_network_correct_what_others_published(changes):
    asked = trial(**VGG, **changes)
    before, found = estimate(asked), estimate(asked, slowed(3.0, **BIG, **changes))
    assert before.source.endswith(")")
    assert 1.3 < found.likely / before.likely < 3.0, "by Bayes' rule"
    assert found.source == f"own records on this device of vgg16: 1 of sweep zoo; {before.source}"


def test_rates_of_the_same_device_narrow_more_than_those_of_others():
    there, elsewhere = (estimate(trial(**VGG, device=value, precision="fp16")) for value in (RATED, GPU))
    assert there.source == "other networks on this device in 16 bit (NVIDIA, Lambda, Sako and 1 more)"
    assert elsewhere.source == "rough: vgg11 on other devices (PROFET, Wightman)"
    assert width(there) < width(elsewhere)


def test_rates_count_in_the_other_precision_of_16_bit():
    ampere = replace(RATED, peak_flops_per_second={"fp16": 1.2e14, "bf16": 1.2e14})
    basis = build_bases({"v100": ampere}, MODELS)
    found = build_estimator(basis, (), MODELS)(trial(**VGG, device=ampere, precision="bf16"))
    assert found.source.startswith("other networks on this device in 16 bit (NVIDIA")


def test_a_batch_is_as_large_as_the_part_of_each_replica():
    changes = {"precision": "fp16", "global_batch_size": 2**18}
    assert isinstance(estimate(trial(**VGG, **changes)), Refusal)
    assert isinstance(estimate(trial(**VGG, **changes, num_workers=4)), Estimate)


def test_a_calibrated_device_is_predicted_by_its_own_figures():
    figures = DeviceBenchmark(
        driver_name="made up",
        layer_seconds={"fp32": 5e-4},
        flops_per_second={"fp32": 5e12},
        memory_bytes_per_second=1e11,
    )
    calibrated = build_estimator(build_bases(DEVICES, MODELS, {"new": figures}), (), MODELS)(trial(**VGG))
    before = estimate(trial(**VGG))
    assert calibrated.likely > 2 * before.likely
    assert width(calibrated) < width(before)


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "fp16"},
        {"num_workers": 2},
        {"device": RATED},
        {"device": SLICE, "trainer": "tensorflow", "precision": "bf16", "global_batch_size": 256},
    ],
)
def test_another_device_precision_or_number_of_workers_teaches_of_the_user(changes):
    before, elsewhere = estimate(trial(**VGG)), estimate(trial(**VGG), slowed(3.0, **BIG, **changes))
    assert before.likely < elsewhere.likely < 3.0 * before.likely
    assert width(elsewhere) < width(before)


def test_a_text_network_hardly_teaches_of_images():
    text = slowed(3.0, workload="imdb_bigru", global_batch_size=32)
    assert estimate(trial(**VGG), text).likely == pytest.approx(estimate(trial(**VGG)).likely, rel=0.3)


def test_records_of_the_same_trainer_come_first():
    records = [slowed(3.0, **BIG), slowed(9.0, **BIG, trainer="tensorflow")]
    assert estimate(trial(**VGG), *records) == estimate(trial(**VGG), records[0])
    assert estimate(trial(**VGG, trainer="tensorflow"), records[0]).likely > 0


def test_own_records_of_the_very_step_are_the_best_that_there_is():
    asked = trial(**VGG, steps=5000, seed=7)
    records = [took(trial(**VGG, seed=seed), 0.2 + 0.001 * seed) for seed in range(3)]
    found = estimate(asked, *records, slowed(3.0, **BIG))
    assert found.likely == pytest.approx(0.201, rel=1e-3)
    assert found.low < 0.2 < 0.202 < found.high < 0.22
    assert found.source == "own records of this very step: 3 of sweep example"


def test_records_of_other_data_do_not_pass_for_this_very_step():
    asked = trial(**VGG)
    found = estimate(asked, took(replace(asked, data="real:1"), 0.2))
    assert found.source.startswith("own records on this device of vgg11: 1 of sweep example; ")


def test_records_of_a_workload_that_is_another_one_now_are_left_out():
    old = replace(trial(**BIG), workload_version=99)
    gone = replace(trial(**BIG), workload="deleted")
    assert not step_measurements([took(old, 0.2), took(gone, 0.2)], devices=DEVICES)


def test_a_measurement_counts_once_however_many_ledgers_have_it_and_others_do_not():
    one = slowed(3.0, **BIG)
    taken_over = replace(one, sweep="other", reused_from="zoo")
    (own,) = step_measurements([one, taken_over], devices=DEVICES)
    assert own.sweep == "zoo"
    rehearsed = took(trial(**BIG), 0.2, provenance="rehearsed")
    idle = took(trial(**BIG), 0.2, trains=False)
    assert not step_measurements([rehearsed, idle], devices=DEVICES)
    assert not step_measurements([one], devices={})


def test_a_hindcast_sees_no_record_of_its_workload_and_all_others():
    records = [slowed(3.0, **BIG), slowed(9.0, **VGG), took(trial(**VGG), 1.0)]
    blind = leave_one_workload_out_estimator(BASIS, step_measurements(records, devices=DEVICES), MODELS)
    assert blind(trial(**VGG)) == estimate(trial(**VGG), records[0])


def test_the_track_record_has_each_step_once_by_predictions_without_its_workload():
    near, far = slowed(1.0, **BIG), slowed(50.0, **VGG)
    repeat = took(replace(trial(**BIG), repeat=1, seed=3), 1.1 * BASIS(trial(**BIG)).seconds)
    own = step_measurements([near, repeat, far], devices=DEVICES)
    blind = leave_one_workload_out_estimator(BASIS, (), MODELS)
    assert count_track_record(own, blind) == TrackRecord(num_inside=1, num_measured=2)


def test_a_step_far_larger_than_all_that_were_measured_stays_refused():
    asked = trial(**VGG, global_batch_size=2**20)
    assert isinstance(estimate(asked, slowed(3.0, **BIG)), Refusal)


def test_with_an_unknown_variance_of_the_device_its_mean_is_not_shrunk():
    found = learned_from([0.0, 2.0], device=math.inf, workload=1.0, freedom=7)
    assert found.mean == 1.0
    assert found.deviation == pytest.approx(math.sqrt((7 * 1.0 + 2.0) / 8 * 1.5))


def test_repeats_of_one_step_are_estimated_from_those_that_decide():
    current = {"workload_version": workload("mnist_cnn", {}).version}
    busy = {"load_average": (9.0, 9.0)}
    records = [
        *repeats(rates=(4483, 4500, 216), **current),
        *repeats(rates=(4400,), seed=1, recorded=busy, **current),
    ]
    own = step_measurements(records, devices=("cpu",))
    assert [64 / one.step_seconds for one in own] == pytest.approx([4483, 4500])
    alone = step_measurements(records[-1:], devices=("cpu",))
    assert [64 / one.step_seconds for one in alone] == pytest.approx([4400])
