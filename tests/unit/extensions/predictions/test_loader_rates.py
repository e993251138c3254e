"""Measured loaders limit what is predicted of faster devices."""

from dataclasses import replace

import pytest
from builders import record, train_result, trial_spec

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.predictions.step_time.loader_rates import collect_loader_rates

STEP = Estimate(low=0.0001, likely=0.0002, high=0.0004, source="other networks there", past="of 9, 8 lay")
"""A step of 64 samples, 320 k samples/s."""

GPU = trial_spec(workload="lenet5", device="h100", host_cpu=None)


BUSY = {"load_average": (8.0, 8.0)}
"""A host of two cores on which other work let a process run for a quarter of the time."""


def rates(*samples_per_second, recorded=None, **changes):
    spec = trial_spec(**{"workload": "lenet5", "data": "own:lenet5:0123456789abcdef", **changes})
    return collect_loader_rates(
        record(spec=spec, result=train_result(pipeline_samples_per_second=rate, **recorded or {}))
        for rate in samples_per_second
    )


def test_a_step_takes_as_long_as_the_loader_needs_for_its_batch():
    limited = rates(102_400.0).limit(STEP, GPU)
    assert limited.likely == pytest.approx(64 / 102_400)
    assert limited.high / limited.likely == pytest.approx(STEP.high / STEP.likely)
    assert limited.source == "limited by your loader above 102 k samples/s; else other networks there"
    assert limited.past == "", "how good predictions of devices were says nothing of loaders"


def test_a_refusal_names_the_limit_that_holds_for_every_device():
    refusal = Refusal(reason="its operations are not known", to_measure="it")
    assert rates(102_400.0).limit(refusal, GPU) == Refusal(
        reason="its operations are not known; every device is limited by your loader above 102 k samples/s",
        to_measure="it",
    )
    assert rates(100.0).limit(refusal, trial_spec(workload="vgg11")) == refusal


def test_a_loader_faster_than_the_step_does_not_limit_it():
    assert rates(500_000.0).limit(STEP, GPU) == STEP
    assert rates(100.0).limit(STEP, trial_spec(workload="vgg11")) == STEP


def test_every_process_has_a_loader():
    measured = rates(200.0, num_workers=2)
    assert measured.rate(GPU) == 100.0
    assert measured.rate(trial_spec(workload="lenet5", num_workers=4)) == 400.0


def test_the_middle_of_several_measurements_counts():
    assert rates(90.0, 100.0, 400.0).rate(GPU) == 100.0


def test_a_pipeline_beside_a_training_on_the_same_cpu_sets_no_limit():
    assert rates(100.0, data="standin:cifar10:1").rate(GPU) is None
    assert rates(100.0, data="standin:cifar10:1", device="t4", host_cpu=None).rate(GPU) == 100.0


def test_a_loader_measured_on_a_busy_host_limits_only_by_what_it_may_reach_alone():
    limited = rates(102_400.0, recorded=BUSY).limit(STEP, GPU)
    assert (limited.low, limited.likely) == (STEP.low, STEP.likely), "alone it may make 409 k samples/s"
    assert limited.high == pytest.approx(2 * 64 / 102_400), "the measured rate may be all that it makes"
    assert limited.source == (
        "maybe limited by your loader above 102 k samples/s to 410 k samples/s, measured on a busy host; "
        "else other networks there"
    )


def test_a_loader_far_slower_than_the_step_limits_it_after_a_busy_host_too():
    limited = rates(640.0, recorded=BUSY).limit(STEP, GPU)
    assert limited.likely == pytest.approx(64 / 640 / 4), "no load of 8 explains more than a factor of 4"
    assert limited.low == pytest.approx(64 / 640 / 4 / 2)
    assert limited.high == pytest.approx(64 / 640 * 2)


def test_a_loader_fast_enough_on_a_busy_host_limits_nothing():
    assert rates(500_000.0, recorded=BUSY).limit(STEP, GPU) == STEP


def test_quiet_measurements_of_a_loader_decide_alone():
    spec = trial_spec(workload="lenet5", data="own:lenet5:0123456789abcdef")
    noisy, quiet = (
        record(spec=spec, result=train_result(pipeline_samples_per_second=rate, load_average=(load, load)))
        for rate, load in ((100.0, 8.0), (300.0, 0.0))
    )
    assert collect_loader_rates([noisy, quiet, noisy]).rate(GPU) == 300.0


def test_of_two_devices_a_busy_host_leaves_the_order_to_their_own_steps():
    slower = replace(STEP, low=0.0002, likely=0.0004, high=0.0008)
    found = rates(102_400.0, recorded=BUSY)
    assert found.limit(STEP, GPU).likely < found.limit(slower, GPU).likely
