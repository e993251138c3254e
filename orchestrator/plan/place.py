"""(trial, node) -> placement, or why there is none. Pure and deterministic."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.device import Device, Node
from orchestrator.core.errors import PlacementError
from orchestrator.core.placement import Placement, Skipped, StartMethod
from orchestrator.core.settings import MissingDevice, StartMethodChoice
from orchestrator.core.spec import TrialSpec
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerInfo

_REHEARSED_PRECISION = {"fp16": "bf16", "tf32": "fp32", "tpu_default": "fp32"}
"""What a CPU sets for a precision that it has not: the same code path, other numbers."""

_LEFT_OUT = {"fp16": " without loss scaling"}
"""What of the code path of a precision that other one has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A trial with what decides its placement.

    Attributes:
        trial_id: its id, which takes longer to make than the rest of a placement.
        point: the trial's point, for its device and replicas.
        start_method: how the user wants its workers started.
    """

    trial: TrialSpec
    trial_id: str
    point: Point
    trainer: TrainerInfo
    start_method: StartMethodChoice


def is_here(point: Point, *, node: Node) -> bool:
    """Whether this machine has the devices that the point asks for."""
    return point.device.kind == "cpu" or node.counts.get(point.device.name, 0) >= point.num_workers


def place(asked: Asked, *, node: Node, missing_device: MissingDevice) -> Placement | Skipped:
    """Where the trial runs: measured where its device is, otherwise as `missing_device` says.

    Raises:
        PlacementError: the device is not there and `missing_device` is `fail`.
    """
    if is_here(asked.point, node=node):
        return _measured(asked, node=node)
    if missing_device == "rehearse":
        return _rehearsed(asked, node=node)
    reason = _absence(asked.point, node=node)
    if missing_device == "fail":
        raise PlacementError(f"{reason}; cluster.missing_device may be rehearse or skip")
    return Skipped(point=asked.point.name, reason=reason, trial=asked.trial)


def in_order(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Measured trials first, then rehearsals, each in the order given."""
    return tuple(sorted(placements, key=lambda each: each.provenance == "rehearsed"))


def _measured(asked: Asked, *, node: Node) -> Placement:
    point = asked.point
    devices = 0 if point.device.kind == "cpu" else point.num_workers
    cpus = _share_of_cores(point.device, devices, node=node)
    num_processes = _num_processes(asked, point.replicas)
    return Placement(
        trial=asked.trial,
        trial_id=asked.trial_id,
        provenance="measured",
        kind=point.device.kind,
        precision=asked.trial.precision,
        replicas=point.replicas,
        num_processes=num_processes,
        threads=max(1, cpus // num_processes),
        node=node.name,
        cpus=cpus,
        devices=devices,
        chips=devices * point.device.chips,
        start_method=_start_method(asked, kind=point.device.kind),
        trains=asked.trainer.trains,
        warnings=_warnings(num_processes, cpus),
    )


def _rehearsed(asked: Asked, *, node: Node) -> Placement:
    point = asked.point
    replicas = max(each for each in (1, 2) if each <= point.replicas and not point.global_batch_size % each)
    precision = _REHEARSED_PRECISION.get(point.precision, point.precision)
    num_processes = _num_processes(asked, replicas)
    return Placement(
        trial=asked.trial,
        trial_id=asked.trial_id,
        provenance="rehearsed",
        kind="cpu",
        precision=precision,
        replicas=replicas,
        num_processes=num_processes,
        threads=1,
        node=node.name,
        cpus=1,
        devices=0,
        start_method=_start_method(asked, kind="cpu"),
        trains=asked.trainer.trains,
        substitutions=(
            f"cpu for {point.device.name}",
            *_other_precision(point.precision, precision),
            *((f"{_count(replicas)} for {point.replicas}",) if replicas != point.replicas else ()),
            *asked.trainer.rehearsed_with(point.device.kind, replicas=replicas, num_processes=num_processes),
        ),
    )


def _other_precision(asked: str, rehearsed: str) -> tuple[str, ...]:
    return () if rehearsed == asked else (f"{rehearsed}{_LEFT_OUT.get(asked, '')} for {asked}",)


def _num_processes(asked: Asked, replicas: int) -> int:
    """Of the code path of the device asked for, also where a CPU rehearses it."""
    return replicas if asked.trial.process_model == "per_replica" else 1


def _share_of_cores(device: Device, devices: int, *, node: Node) -> int:
    """All cores for a trial on the CPU, otherwise as many as its accelerators are of those there."""
    if device.kind == "cpu":
        return node.cpus
    return max(1, node.cpus * devices // node.counts[device.name])


def _start_method(asked: Asked, *, kind: str) -> StartMethod:
    if asked.start_method != "auto":
        return asked.start_method
    return "fork" if kind in asked.trainer.fork_proven else "spawn"


def _warnings(num_processes: int, cpus: int) -> tuple[str, ...]:
    if num_processes <= cpus:
        return ()
    return (f"{num_processes} worker processes share {cpus} cores",)


def _absence(point: Point, *, node: Node) -> str:
    return f"{point.num_workers} x {point.device.name} is not here: {node.name} has {node.holdings}"


def _count(replicas: int) -> str:
    return "1 replica" if replicas == 1 else f"{replicas} replicas"
