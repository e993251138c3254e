"""Small real values for tests of planning: points, nodes, trainers and their environments."""

from dataclasses import replace
from typing import Any

from orchestrator.core.device import Accelerators, Device, DeviceKind, Node
from orchestrator.core.inventory import Inventory, of_host
from orchestrator.core.placement import Plan
from orchestrator.core.settings import Rerun
from orchestrator.core.sweep import Point, Sweep
from orchestrator.core.trainer import TrainerEnvironment, TrainerInfo
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.plan.planner import plan
from orchestrator.plan.requests import request_trials
from orchestrator.plan.trial_specs import data_needed, find_tasks


def device(name: str = "cpu", **changes: Any) -> Device:
    """The CPU, or a device with one replica named and made as told."""
    base = Device(
        name=name,
        kind="cpu",
        chips=1,
        replicas=1,
        native_precisions=("fp32", "bf16"),
        peak_flops_per_second={},
        driver_names=(),
        slice_type=None,
        source="a test",
    )
    return replace(base, **changes)


T4 = device("t4", kind="gpu", driver_names=("Tesla T4",), native_precisions=("fp32", "fp16"))
A100 = device("a100_40", kind="gpu", native_precisions=("fp32", "tf32", "bf16", "fp16"))
TPU = device(
    "tpu_v3_8", kind="tpu", chips=4, replicas=8, slice_type="v3-8", native_precisions=("bf16", "fp32")
)


def point(**changes: Any) -> Point:
    """mnist_cnn under torch_ddp on the CPU in fp32."""
    base = Point(
        workload="mnist_cnn",
        workload_options={},
        trainer="torch_ddp",
        trainer_options={},
        device=device(),
        precision="fp32",
        data_source="auto",
        num_workers=1,
        global_batch_size=64,
        steps=120,
        seed=0,
        timing=TimingSpec(max_blocks=6),
        label={},
    )
    return replace(base, **changes)


def node(**changes: Any) -> Node:
    """A machine with four cores and no accelerator."""
    return replace(Node(name="here", cpus=4, cpu_model="Some CPU"), **changes)


def here(**changes: Any) -> Inventory:
    """Build the inventory of that machine alone."""
    return of_host(node(**changes))


def held(count: int, *, kind: DeviceKind = "gpu", chips: int = 1) -> Accelerators:
    """Build that many accelerators of a kind, with one id each."""
    return Accelerators(kind=kind, chips=chips, ids=tuple(f"id-{index}" for index in range(count)))


def torch_like(**changes: Any) -> TrainerInfo:
    """One process per replica; forked on CPUs; no TPU."""
    base = TrainerInfo(
        name="torch_ddp",
        version=1,
        path="nowhere:Nothing",
        packages=("torch",),
        install="pip install torch",
        environment="torch",
        precisions={"cpu": ("fp32", "bf16"), "gpu": ("fp32", "tf32", "bf16", "fp16")},
        process_model=lambda _kind, _options: "per_replica",
        variables=dict,
        preload=(),
        fork_proven=("cpu",),
        spans_hosts=("cpu", "gpu"),
        rehearsed_with=lambda _kind, *, num_processes, **_: ("gloo for nccl",) if num_processes > 1 else (),
    )
    return replace(base, **changes)


def tensorflow_like(**changes: Any) -> TrainerInfo:
    """One process per replica on CPUs, one per host elsewhere; cannot request fp32 from a TPU."""
    told = {
        "name": "tensorflow",
        "environment": "tensorflow",
        "precisions": {
            "cpu": ("fp32", "bf16"),
            "gpu": ("fp32", "tf32", "bf16", "fp16"),
            "tpu": ("bf16", "tpu_default"),
        },
        "process_model": lambda kind, _options: "per_replica" if kind == "cpu" else "per_host",
        "rehearsed_with": lambda kind, **_: ("MirroredStrategy for TPUStrategy",) if kind == "tpu" else (),
        **changes,
    }
    return torch_like(**told)


def splitting(**changes: Any) -> TrainerInfo:
    """Build a trainer like kernel_split, which allows heterogeneous devices."""
    told = {"name": "kernel_split", "takes_unequal_devices": True, "splits_convolutions": True, **changes}
    return torch_like(**told)


def environment(missing: str | None = None, **versions: str) -> TrainerEnvironment:
    """An environment with torch 2.13.0, unless told otherwise."""
    return TrainerEnvironment(python="python", versions=versions or {"torch": "2.13.0"}, missing=missing)


def planned(*points: Point, repeats: int = 1, baseline: tuple[str, ...] = (), **changes: Any) -> Plan:
    """The plan of those points under the trainers above, with nothing recorded and nothing missing."""
    sweep = Sweep(name="example", points=points, repeats=repeats, baseline=baseline)
    trainers = {value.name: value for value in (torch_like(), tensorflow_like(), splitting())}
    told = {
        "inventory": here(),
        "trainers": trainers,
        "environments": {name: environment() for name in trainers},
        "start_methods": dict.fromkeys(trainers, "auto"),
        "data_ids": dict.fromkeys(data_needed(sweep), "synthetic:1"),
        "train_samples": dict.fromkeys(find_tasks(points), 60_000),
        "records": (),
        "code_sha256": "the code of now",
        "missing_device": "rehearse",
        "rerun": Rerun(),
        **changes,
    }
    of_requests = {key: told.pop(key) for key in ("trainers", "start_methods", "data_ids")}
    requested = request_trials(sweep, inventory=told["inventory"], **of_requests)
    return plan(sweep, requested, **told)
