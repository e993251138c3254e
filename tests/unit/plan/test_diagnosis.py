"""What a machine lacks, by its state alone."""

from dataclasses import replace

import pytest
from plan_builders import T4, device

from orchestrator.plan.diagnosis import list_checks
from orchestrator.plan.machine_state import (
    Diagnosis,
    GpuState,
    HostState,
    PlaceState,
    ServiceState,
    TrainerState,
)

DEVICES = {"cpu": device(), "t4": replace(T4, tdp_watts=70.0)}
HOST = HostState(
    hostname="here",
    platform="Linux",
    python="3.11.9",
    cpu_model="Some CPU",
    cores=4,
    load=0.1,
    memory_available_bytes=1e10,
    memory_total_bytes=2e10,
)
TORCH = TrainerState(
    name="torch_ddp",
    python="python",
    versions={"torch": "2.13.0"},
    builds={},
    missing=None,
    devices={"cpu": ""},
)
GPU = GpuState(
    index="0",
    name="Tesla T4",
    device="t4",
    driver="580.65.06",
    is_split=False,
    power_limit_watts=70.0,
    most_clock_hz=1.59e9,
    busy_fraction=0.0,
    memory_used_bytes=0.0,
    memory_total_bytes=1.6e10,
    is_persistent=True,
)


def checks(host=HOST, trainers=(TORCH,), places=(), services=()) -> list[tuple[str, str]]:
    diagnosis = Diagnosis(host=host, trainers=trainers, places=places, services=services)
    return [(check.status, check.message) for check in list_checks(diagnosis, DEVICES)]


def test_a_host_that_has_all_it_needs_has_no_checks():
    assert checks() == []


def test_a_trainer_that_is_absent_is_a_warning_beside_one_that_is_there():
    absent = replace(TORCH, name="tensorflow", missing="tensorflow not installed; get it with: pip")
    assert checks(trainers=(TORCH, absent)) == [("warning", f"tensorflow: {absent.missing}")]
    assert checks(trainers=(absent,)) == [("missing", f"tensorflow: {absent.missing}")]


def test_a_gpu_that_one_trainer_uses_is_not_missing():
    uses = replace(TORCH, devices={"cpu": "", "t4": ""})
    cannot = replace(TORCH, name="tensorflow", devices={"cpu": "", "t4": "a build without CUDA"})
    assert checks(replace(HOST, gpus=(GPU,)), (uses, cannot)) == [
        ("warning", "tensorflow cannot use t4: a build without CUDA")
    ]
    assert checks(replace(HOST, gpus=(GPU,)), (cannot,)) == [
        ("missing", "no trainer can use t4; see below"),
        ("missing", "tensorflow cannot use t4: a build without CUDA"),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_split": True}, "in MIG mode"),
        ({"power_limit_watts": 40.0}, "limited to 40 W of 70 W"),
        ({"busy_fraction": 0.3}, "used by another process: 30% busy"),
        ({"memory_used_bytes": 3e9}, "3.0 GB in use"),
        ({"is_persistent": False}, "loads its driver for every process"),
        ({"device": None}, "is unknown"),
    ],
)
def test_a_gpu_with_a_drawback_has_a_check(changes, words):
    uses = replace(TORCH, devices={"cpu": "", "t4": ""})
    ((_, message),) = checks(replace(HOST, gpus=(replace(GPU, **changes),)), (uses,))
    assert words in message


def test_figures_that_a_driver_does_not_report_are_no_drawback():
    silent = {
        "power_limit_watts": None,
        "busy_fraction": None,
        "memory_used_bytes": None,
        "is_persistent": None,
    }
    uses = replace(TORCH, devices={"cpu": "", "t4": ""})
    assert checks(replace(HOST, gpus=(replace(GPU, **silent),)), (uses,)) == []


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"free_bytes": 1e9}, ("warning", "outputs: 1.0 GB are free at out")),
        ({"is_writable": False}, ("missing", "outputs: out cannot be written to")),
    ],
)
def test_a_folder_must_have_room_and_be_writable(place, expected):
    usual = PlaceState(purpose="outputs", path="out", free_bytes=1e11, is_writable=True)
    assert checks(places=(usual,)) == []
    assert checks(places=(replace(usual, **place),)) == [expected]


def test_a_service_that_fails_is_missing():
    failing = ServiceState(name="MLflow", version="3.17.2", failure="MLflow does not answer; start it")
    assert checks(services=(failing,)) == [("missing", failing.failure)]


def test_a_busy_host_is_a_warning():
    ((status, message),) = checks(replace(HOST, load=3.2))
    assert status == "warning"
    assert message.startswith("other processes keep 3.2 of 4 cores busy")
