"""Environments that cannot use an accelerator, and failures that a changed environment repeats."""

from dataclasses import replace

import pytest
from builders import record
from plan_builders import T4, environment, held, here, planned, point

from orchestrator.core.result import Failure
from orchestrator.train.registry import trainer_info

CPU_BUILD = "torch 2.13.0 is a build without CUDA; get one with: make gpu"
ON_T4 = point(device=T4)
WITH_T4 = {"inventory": here(devices={"t4": held(1)})}
MISMATCH = Failure(kind="device_mismatch", message="trial asks for 2 GPUs; TensorFlow 2.21.0 sees 1")


def gpu_environment(missing: str | None = None, **versions: str):
    """Build torch's environment with these versions of the GPU's software."""
    return replace(
        environment(),
        accelerator_versions={"gpu": versions},
        accelerator_missing={"gpu": missing} if missing else {},
    )


def test_a_build_without_cuda_skips_the_points_of_a_gpu_that_is_here():
    plan = planned(ON_T4, environments={"torch_ddp": gpu_environment(CPU_BUILD)}, **WITH_T4)
    assert [skipped.reason for skipped in plan.skipped] == [CPU_BUILD]
    assert not plan.placements


def test_a_build_without_cuda_trains_on_the_cpu_beside_the_gpu():
    plan = planned(point(), environments={"torch_ddp": gpu_environment(CPU_BUILD)}, **WITH_T4)
    assert [item.provenance for item in plan.placements] == ["measured"]


def test_a_build_without_cuda_rehearses_a_gpu_that_is_not_here():
    plan = planned(ON_T4, environments={"torch_ddp": gpu_environment(CPU_BUILD)})
    assert [item.provenance for item in plan.placements] == ["rehearsed"]


@pytest.mark.parametrize("inventory", [here(), here(devices={"h100": held(1)})])
def test_a_precision_without_its_package_skips_its_points_alone_measured_or_rehearsed(inventory):
    h100 = replace(T4, name="h100", native_precisions=("bf16", "fp8"))
    without = "precision=fp8 needs torchao, which is not installed; get it with: pip install torchao"
    plan = planned(
        *(point(device=h100, precision=precision) for precision in ("bf16", "fp8")),
        trainers={"torch_ddp": trainer_info("torch_ddp")},
        environments={"torch_ddp": replace(environment(), precision_missing={"fp8": without})},
        inventory=inventory,
    )
    assert [skipped.reason for skipped in plan.skipped] == [without]
    assert [item.trial.precision for item in plan.placements] == ["bf16"]


def test_a_card_that_is_too_old_for_the_build_is_skipped():
    v100 = replace(T4, name="v100", compute_capability=7.0)
    plan = planned(
        point(device=v100),
        environments={"torch_ddp": gpu_environment(cuda="13.0")},
        inventory=here(devices={"v100": held(1)}),
    )
    assert [skipped.reason for skipped in plan.skipped] == [
        "torch_ddp is built for CUDA 13.0, which has no kernels for v100 (compute capability 7.0); "
        "get a build for CUDA 12.6"
    ]


@pytest.mark.parametrize(("cuda", "capability"), [("12.6", 7.0), ("13.0", 7.5), ("", 7.0), ("13.0", None)])
def test_a_card_that_the_build_supports_is_measured(cuda, capability):
    card = replace(T4, name="v100", compute_capability=capability)
    plan = planned(
        point(device=card),
        environments={"torch_ddp": gpu_environment(cuda=cuda)},
        inventory=here(devices={"v100": held(1)}),
    )
    assert [item.provenance for item in plan.placements] == ["measured"]


@pytest.mark.parametrize(
    ("recorded", "now", "runs_again"),
    [
        ({"nvidia_driver": "580.65.06"}, {"nvidia_driver": "580.65.06"}, False),
        ({"nvidia_driver": "535.104.05"}, {"nvidia_driver": "580.65.06"}, True),
        ({"cuda": "12.6", "cudnn": "9.1"}, {"cuda": "13.0", "cudnn": "9.1"}, True),
        ({}, {"nccl": "2.27.3"}, True),
        ({"nccl": "2.27.3"}, {}, False),
    ],
)
def test_a_failure_stands_until_the_software_of_the_gpu_changes(recorded, now, runs_again):
    (request,) = planned(ON_T4, **WITH_T4).placements
    failed = record(
        placement=request, failure=MISMATCH, environment={"code_sha256": "the code of now", **recorded}
    )
    plan = planned(ON_T4, environments={"torch_ddp": gpu_environment(**now)}, records=(failed,), **WITH_T4)
    assert len(plan.placements) == runs_again
    assert len(plan.failed) == (not runs_again)


def test_a_driver_of_another_version_leaves_cpu_results_as_they_are():
    (request,) = planned(point(), **WITH_T4).placements
    done = record(placement=request, environment={"torch": "2.13.0"})
    changed = gpu_environment(nvidia_driver="580.65.06")
    plan = planned(point(), environments={"torch_ddp": changed}, records=(done,), **WITH_T4)
    assert [cached.stale for cached in plan.cached] == [None]
