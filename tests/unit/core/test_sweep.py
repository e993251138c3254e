"""Points, sweeps and settings are values that cannot be wrong."""

import math
from pathlib import Path

import pytest
from plan_builders import TPU, point
from price_builders import price_list

from orchestrator.core.errors import ConfigError
from orchestrator.core.settings import Deadlines, Settings
from orchestrator.core.sweep import Sweep


def deadlines(**changes):
    return Deadlines(**{"resources_seconds": 1, "start_seconds": 1, "run_seconds": 1, **changes})


def test_a_points_name_has_the_axes_that_distinguish_it():
    named = point(label={"device": "cpu", "num_workers": 1, "workload.filters": (8, 16)})
    assert named.name == "mnist_cnn cpu torch_ddp fp32 num_workers=1 workload.filters=[8,16]"


def test_replicas_are_those_of_all_devices():
    assert point(device=TPU, num_workers=2).replicas == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"device": TPU, "global_batch_size": 100},
            "global_batch_size=100 does not divide over 8 replicas (1 x tpu_v3_8); 96 or 104 would",
        ),
        (
            {"num_workers": 3, "global_batch_size": 2},
            "global_batch_size=2 does not divide over 3 replicas (3 x cpu); 3 would",
        ),
        (
            {"num_workers": 3, "global_batch_size": 2, "deals_batches": True},
            "global_batch_size=2 is below 3 replicas (3 x cpu); each needs a sample",
        ),
        ({"num_hosts": 0}, "num_hosts=0 must be at least 1"),
        ({"num_workers": 4, "num_hosts": 3}, "num_workers=4 do not divide over 3 hosts"),
        ({"num_workers": 0}, "num_workers=0 must be at least 1"),
        ({"global_batch_size": -8}, "global_batch_size=-8 must be at least 1"),
    ],
)
def test_batch_and_workers_must_divide_and_counts_be_above_zero(changes, message):
    with pytest.raises(ConfigError) as raised:
        point(**changes)
    assert str(raised.value) == message


def test_a_batch_that_is_dealt_out_need_not_divide():
    assert point(num_workers=3, global_batch_size=64, deals_batches=True).divides_over(3)


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "-m", "a b", "x" * 101])
def test_a_sweeps_name_must_be_safe_as_a_folder(name):
    with pytest.raises(ConfigError, match="cannot name a folder; use at most 100 letters"):
        Sweep(name=name, points=(), repeats=1)


def test_a_sweep_is_measured_at_least_once():
    with pytest.raises(ConfigError, match=r"sweep\.repeats=0 must be at least 1"):
        Sweep(name="example", points=(), repeats=0)


@pytest.mark.parametrize("repeats", [50_001, 10**18])
def test_a_sweep_of_too_many_trials_is_refused_before_any_is_made(repeats):
    points = (point(), point(seed=1))
    assert Sweep(name="example", points=points, repeats=50_000).repeats == 50_000
    with pytest.raises(ConfigError) as raised:
        Sweep(name="example", points=points, repeats=repeats)
    assert str(raised.value) == (
        f"sweep.repeats={repeats} makes {2 * repeats:,} trials of 2 points; a sweep has at most 100,000"
    )


@pytest.mark.parametrize("seconds", [0, -1.0, math.inf, math.nan])
def test_a_deadline_is_above_zero_and_finite(seconds):
    with pytest.raises(ConfigError, match=r"executor\.run_seconds=.* must be above 0 and finite"):
        deadlines(run_seconds=seconds)


@pytest.mark.parametrize(
    ("oom", "backoff_seconds", "message"),
    [
        (-1, 0.0, r"^retry\.oom=-1 must not be negative$"),
        (0, -1.0, r"^retry\.backoff_seconds=-1\.0 must be finite and not negative$"),
        (0, math.nan, r"^retry\.backoff_seconds=nan must be finite and not negative$"),
    ],
)
def test_retries_are_not_negative(oom, backoff_seconds, message):
    with pytest.raises(ConfigError, match=message):
        Settings(
            sweep=Sweep(name="example", points=(), repeats=1),
            executor="inline",
            deadlines=deadlines(),
            cluster_address="local",
            missing_device="skip",
            tracking_uri=None,
            retries={"oom": oom},
            backoff_seconds=backoff_seconds,
            trainers={},
            outputs=Path("outputs"),
            prices=price_list(),
            reprices=False,
            data_folder=None,
        )
