"""The numbers that stand for a trial: worked out by hand, and said in the documentation as in the code."""

import math
from dataclasses import replace

import pytest
from builders import placement, pursuit, record, train_result, trial_spec
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.metrics.cost import compute_costs
from orchestrator.analysis.metrics.definitions import METRICS, collect_metrics
from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.core.peaks import Peaks, ProductBenchmark
from orchestrator.core.result import Failure

OF_A_TARGET = ("seconds_to_target", "steps_to_target", "best_quality", "pursuit_evaluation_seconds")


def test_ten_steps_in_a_tenth_of_a_second_are_ten_milliseconds_a_step():
    assert find_step_seconds(train_result()).median == pytest.approx(0.01)


def test_the_slowest_rank_of_each_block_counts():
    result = train_result(block_seconds=((0.1, 0.4, 0.1), (0.2, 0.1, 0.3)))
    step_seconds = find_step_seconds(result)  # blocks of 0.2, 0.4 and 0.3 s
    assert (step_seconds.low, step_seconds.median, step_seconds.high) == pytest.approx((0.02, 0.03, 0.04))


def test_no_block_is_no_steady_state():
    assert find_step_seconds(train_result(block_seconds=())) is None
    assert find_step_seconds(train_result(block_seconds=((), ()))) is None


@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e-300, math.inf, math.nan])
def test_times_that_no_clock_can_have_shown_are_no_rate(seconds):
    poisoned = record(result=train_result(block_seconds=((seconds,) * 6,)))
    assert find_step_seconds(poisoned.result) is None
    assert "steady_samples_per_second" not in collect_metrics(poisoned)
    assert "epoch_seconds" not in collect_metrics(poisoned)


def test_batch_64_at_10_milliseconds_is_6400_samples_a_second():
    metrics = collect_metrics(record())
    assert metrics["steady_samples_per_second"] == pytest.approx(6400)
    assert metrics["step_seconds_median"] == pytest.approx(0.01)


def test_a_measurement_has_its_times_its_last_loss_and_its_quality():
    assert {name: collect_metrics(record())[name] for name in ("setup_seconds", "first_step_seconds")} == {
        "setup_seconds": 0.5,
        "first_step_seconds": 0.2,
    }
    assert collect_metrics(record())["final_loss"] == 0.1
    assert collect_metrics(record())["accuracy"] == 0.97


def test_a_training_to_a_target_has_the_time_to_it_and_its_best_quality():
    metrics = collect_metrics(record(result=train_result(pursuit=pursuit(0.5, 0.9, 0.95))))
    assert [metrics[key] for key in OF_A_TARGET] == [2.0, 20, 0.95, 0.5]


def test_a_target_that_was_not_reached_has_no_time():
    metrics = collect_metrics(record(result=train_result(pursuit=pursuit(0.5, 0.7))))
    assert [metrics.get(key) for key in OF_A_TARGET] == [None, None, 0.7, 0.5]


def test_a_rehearsal_has_no_metric_that_could_be_compared():
    assert collect_metrics(record(placement=placement(provenance="rehearsed"))) == {"final_loss": 0.1}


def test_a_failure_has_no_metrics():
    assert (
        collect_metrics(record(failure=Failure(kind="oom", message="killed", refused=train_result()))) == {}
    )


def test_a_trial_that_read_no_loss_has_none():
    assert "final_loss" not in collect_metrics(record(result=train_result(losses=())))


def test_a_measurement_has_every_metric_that_its_framework_reports():
    unsaid = {
        "steady_tokens_per_second",
        "peak_device_bytes",
        "run_seconds",
        "pipeline_samples_per_second",
        "mfu",
        "mfu_calibrated",
        "calibrated_flops_per_second",
        "roofline_fraction",
        "communication_share",
        "core_wait_seconds",
        "epoch_seconds",
        "last_phase_step_seconds",
        *OF_A_TARGET,
    }
    unsaid |= {key for key in METRICS if "joules" in key}
    assert list(collect_metrics(record())) == [*(key for key in METRICS if key not in unsaid), "accuracy"]


def peaks(flops_per_second: float | None, memory_bytes_per_second: float | None) -> Peaks:
    return Peaks(
        flops_per_second=flops_per_second,
        memory_bytes_per_second=memory_bytes_per_second,
        tdp_watts=None,
        source="a test",
    )


def test_a_gigaflop_in_ten_milliseconds_is_a_tenth_of_a_teraflop_a_second():
    metrics = collect_metrics(record(result=train_result(peaks=peaks(1e12, None))))
    assert metrics["mfu"] == pytest.approx(0.1)
    assert "roofline_fraction" not in metrics


@pytest.mark.parametrize(("flops", "memory", "fraction"), [(1e12, 1e11, 0.1), (1e12, 2e10, 0.5)])
def test_the_nearer_roof_counts(flops, memory, fraction):
    metrics = collect_metrics(record(result=train_result(peaks=peaks(flops, memory))))  # 0.1 GB a step
    assert metrics["roofline_fraction"] == pytest.approx(fraction)


def test_without_a_known_peak_there_is_no_utilisation():
    for unknown in (None, peaks(None, 1e11)):
        assert not {"mfu", "roofline_fraction"} & set(
            collect_metrics(record(result=train_result(peaks=unknown)))
        )


def test_a_gigaflop_in_ten_milliseconds_is_half_of_a_calibrated_fifth_of_a_teraflop_a_second():
    calibration = ProductBenchmark(size=1000, seconds=((0.02, 0.01),))  # 2 GFLOP in 10 ms
    metrics = collect_metrics(record(result=train_result(calibration=calibration)))
    assert metrics["calibrated_flops_per_second"] == pytest.approx(2e11)
    assert metrics["mfu_calibrated"] == pytest.approx(0.5)
    assert "mfu" not in metrics


def test_a_disturbed_calibration_gives_no_utilisation():
    disturbed = ProductBenchmark(size=1000, seconds=((0.03, 0.04),))
    metrics = collect_metrics(record(result=train_result(calibration=disturbed)))
    assert metrics["calibrated_flops_per_second"] == pytest.approx(2e9 / 0.03)
    assert "mfu_calibrated" not in metrics


def test_two_milliseconds_of_ten_that_are_gone_without_an_exchange_are_a_share_of_a_fifth():
    ranks = ((0.1, 0.05), (0.1, 0.07), (0.2, 0.1)), ((0.09, 0.08), (0.08, 0.08), (0.1, 0.18))
    metrics = collect_metrics(record(result=train_result(exchange_seconds=ranks)))  # 0.2, 0.2 and 0.1
    assert metrics["communication_share"] == pytest.approx(0.2)


def test_384_joules_for_sixty_steps_of_64_samples_are_a_tenth_of_a_joule_a_sample():
    metrics = collect_metrics(record(result=train_result(energy_joules={"accelerator": 384.0})))
    assert metrics["accelerator_joules"] == 384.0
    assert metrics["accelerator_joules_per_sample"] == pytest.approx(0.1)
    assert not {"host_joules", "host_joules_per_sample"} & set(metrics)


def test_six_tenths_of_a_second_at_400_watts_are_240_joules_at_most():
    known = replace(peaks(None, None), tdp_watts=400.0)
    metrics = collect_metrics(record(result=train_result(peaks=known)))
    assert metrics["energy_bound_joules_tdp"] == pytest.approx(240)
    assert "accelerator_joules" not in metrics


def test_what_it_took_is_that_of_all_ranks_or_of_the_one_that_needed_most():
    devices = [replace(train_result().devices[0], peak_memory_bytes=value) for value in (10**9, 2 * 10**9)]
    metrics = collect_metrics(
        record(
            result=train_result(
                block_seconds=((0.1,) * 6,) * 2,
                cpu_seconds=(0.5, 0.25),
                core_wait_seconds=((0.25, 0.5), (0.0, 0.125)),
                load_average=(0.5, 3.5),
                peak_host_bytes=(400_000_000, 500_000_000),
                devices=tuple(devices),
                launch_seconds=0.7,
                flops_per_step=2e9,
            )
        )
    )
    assert (metrics["cpu_seconds"], metrics["load_average"]) == (0.75, 3.5)
    assert metrics["core_wait_seconds"] == 0.875
    assert (metrics["peak_host_bytes"], metrics["peak_device_bytes"]) == (500_000_000, 2 * 10**9)
    assert (metrics["launch_seconds"], metrics["flops_per_step"]) == (0.7, 2e9)


def test_the_phases_of_a_training_are_kept_apart_where_there_are_several():
    phases = {"pretraining_0": 2.0, "fine_tuning": 3.0}
    metrics = collect_metrics(record(result=train_result(phase_seconds=phases)))
    assert metrics["phase_seconds.pretraining_0"] == 2.0
    assert metrics["phase_seconds.fine_tuning"] == 3.0
    assert not [name for name in collect_metrics(record()) if name.startswith("phase_seconds")]


def test_any_quality_is_taken_as_it_is_called_unless_the_name_is_taken():
    quality = {"accuracy": 0.9, "precision": 0.8, "recall": 0.7, "kappa": 0.6, "loss": 0.5, "final_loss": 0.4}
    metrics = collect_metrics(record(result=train_result(quality=quality)))
    found = {name: metrics[name] for name in list(metrics)[-len(quality) :]}
    assert found == {
        "accuracy": 0.9,
        "quality.precision": 0.8,
        "recall": 0.7,
        "kappa": 0.6,
        "quality.loss": 0.5,
        "quality.final_loss": 0.4,
    }
    assert metrics["final_loss"] == 0.1


def test_a_run_has_its_seconds_and_no_number_of_steps():
    run = train_result(run_seconds=(3.0, 4.0), block_seconds=((), ()), steps=0, samples=0)
    assert set(collect_metrics(record(result=run))) == {
        "run_seconds",
        "launch_seconds",
        "cpu_seconds",
        "peak_host_bytes",
        *compute_costs(record(result=run)),
        *run.quality,
    }
    assert collect_metrics(record(result=run))["run_seconds"] == 4.0


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), st.integers(1, 10_000))
def test_throughput_is_the_batch_over_the_step(blocks, batch):
    spec = trial_spec(global_batch_size=batch)
    metrics = collect_metrics(record(spec=spec, result=train_result(block_seconds=(tuple(blocks),))))
    assert math.isclose(metrics["steady_samples_per_second"] * metrics["step_seconds_median"], batch)
    assert metrics["step_seconds_low"] <= metrics["step_seconds_median"] <= metrics["step_seconds_high"]


def test_a_script_has_no_epoch_also_where_its_record_has_the_samples_of_a_whole_training():
    assert "epoch_seconds" in collect_metrics(record(epoch_samples=1000))
    script = record(spec=trial_spec(workload="script"), epoch_samples=1000)
    assert "epoch_seconds" not in collect_metrics(script)
