"""Placement of a trial on slots, or the reason for none. Pure and deterministic."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import PlacementError
from orchestrator.core.inventory import Inventory, NodeGroup
from orchestrator.core.placement import Placement, Skipped, StartMethod
from orchestrator.core.settings import MissingDevice, StartMethodChoice
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.plan.rank_groups import find_parts
from orchestrator.plan.slots import Slot, why_no_slot

_REHEARSED_PRECISION = {"fp16": "bf16", "tf32": "fp32", "tpu_default": "fp32"}
"""Precision that a CPU uses in the rehearsal of a precision that it lacks: same code path, other numbers."""

_LEFT_OUT = {"fp16": " without loss scaling", "fp8": " emulated by wider products"}
"""Part of a precision's code path that its rehearsal omits or replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """A trial with what decides its placement.

    Attributes:
        trial_id: id of the trial, stored because it takes longest to compute.
        point: the trial's point, for its devices and replicas.
        slots: slots that satisfy the request, if any.
        start_method: requested start method of its workers.
    """

    trial: TrialSpec
    trial_id: str
    point: Point
    trainer: TrainerInfo
    slots: tuple[Slot, ...]
    start_method: StartMethodChoice

    @property
    def node_group(self) -> NodeGroup | None:
        """The first worker's."""
        return self.slots[0].node_group if self.slots else None

    @property
    def pools(self) -> tuple[str, ...]:
        """Pools of its nodes, as `Placement.pools`."""
        return tuple(dict.fromkeys(slot.node_group.pool.name for slot in self.slots if slot.node_group.pool))

    @property
    def is_measured(self) -> bool:
        """True where the trial runs on the requested device."""
        return self.node_group is not None and not self.node_group.is_fake


def place(
    request: PlacementRequest, *, inventory: Inventory, missing_device: MissingDevice
) -> Placement | Skipped:
    """Place the trial: measured if its device is available, otherwise by `missing_device`.

    A fake node rehearses it. A cluster's driver rehearses nothing on its own host. A trainer without CPU
    support is never rehearsed.

    Raises:
        PlacementError: the device is not there and `missing_device` is `fail`.
    """
    node_group = request.node_group
    if request.point.other_devices and node_group and (request.is_measured or request.trainer.rehearses):
        return _unequal(request)
    if node_group and not node_group.is_fake:
        return _measured(request, node_group=node_group)
    here = inventory.node_groups.get(inventory.host.name) if missing_device == "rehearse" else None
    stage = node_group or here
    if stage and request.trainer.rehearses:
        return _rehearsed(request, node_group=stage)
    reason = _no_stage(request, inventory=inventory)
    if missing_device == "fail":
        raise PlacementError(f"{reason}; cluster.missing_device may be rehearse or skip")
    return Skipped(point=request.point.name, reason=reason, trial=request.trial, lacks_device=True)


def in_order(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Measured trials first, then rehearsals, each in the order given."""
    return tuple(sorted(placements, key=lambda placement: placement.provenance == "rehearsed"))


def _no_stage(request: PlacementRequest, *, inventory: Inventory) -> str:
    """Explain why the trial is neither measured nor rehearsed."""
    point, node_group, trainer = request.point, request.node_group, request.trainer
    why = (
        f"nodes of {node_group.pool_name} are fake"
        if node_group
        else why_no_slot(point, trainer, inventory=inventory)
    )
    return why if trainer.rehearses else f"{why}; {trainer.name} has no rehearsal, for it knows no CPU"


def _measured(request: PlacementRequest, *, node_group: NodeGroup) -> Placement:
    point, num_hosts = request.point, request.trial.num_hosts
    devices = _num_devices(request)
    cpus = _share_of_cores(request, node_group)
    num_processes = _num_processes(request, point.replicas, num_hosts=num_hosts)
    processes_per_host = num_processes // num_hosts
    note = request.trainer.over_hosts.get(request.point.device.kind)
    is_whole = request.trial.memory_settings.sharding != "none" and request.point.replicas == 1
    return Placement(
        trial=request.trial,
        trial_id=request.trial_id,
        provenance="measured",
        kind=point.device.kind,
        precision=request.trial.precision,
        replicas=point.replicas,
        num_processes=num_processes,
        threads=max(1, cpus // processes_per_host),
        node=node_group.node.name,
        num_hosts=num_hosts,
        pool=node_group.pool_name,
        cpus=cpus,
        devices=devices,
        chips=devices * point.device.chips,
        start_method=_start_method(request, kinds=[point.device.kind]),
        trains=request.trainer.trains,
        warnings=(
            *_crowd(processes_per_host, cpus),
            *_first_run(request, kind=point.device.kind),
            *((note,) if note and request.trial.num_hosts > 1 else ()),
            *(("a single replica holds all weights: sharding changes nothing",) if is_whole else ()),
        ),
    )


def _unequal(request: PlacementRequest) -> Placement:
    """Each rank has what its own device gives it; all that its fake nodes would hold, they hold."""
    point, is_measured = request.point, request.is_measured
    parts = find_parts(request.slots, request.trial.process_model)
    precision = point.precision if is_measured else _REHEARSED_PRECISION.get(point.precision, point.precision)
    crowds = (
        _crowd(sum(group.num_processes for group in held), sum(group.cpus for group in held))
        for host in range(request.trial.num_hosts)
        if (held := [part for part in parts if part.host == host])
    )
    first_runs = (_first_run(request, kind=part.kind) for part in parts)
    warnings = dict.fromkeys(warning for crowd in (*crowds, *first_runs) for warning in crowd)
    num_processes = sum(part.num_processes for part in parts)
    stood_in = (
        *_devices_stood_in(point, is_fake=True),
        *_other_precision(point.precision, precision),
        *_stand_ins(request, replicas=point.replicas, num_processes=num_processes),
    )
    return Placement(
        trial=request.trial,
        trial_id=request.trial_id,
        provenance="measured" if is_measured else "rehearsed",
        kind=parts[0].kind,
        precision=precision,
        replicas=point.replicas,
        num_processes=num_processes,
        threads=parts[0].threads,
        node=request.slots[0].node_group.node.name,
        num_hosts=request.trial.num_hosts,
        pool=parts[0].pool,
        cpus=parts[0].cpus,
        devices=parts[0].devices,
        chips=parts[0].chips,
        start_method=_start_method(request, kinds=[part.kind for part in parts]),
        unequal=parts,
        trains=request.trainer.trains,
        substitutions=() if is_measured else stood_in,
        warnings=tuple(warnings) if is_measured else (),
    )


def _rehearsed(request: PlacementRequest, *, node_group: NodeGroup) -> Placement:
    """Place a rehearsal on a CPU of this host; a fake node also reserves what a real one would."""
    point = request.point
    devices = _num_devices(request) if node_group.is_fake else 0
    spans_hosts = node_group.is_fake and "cpu" in request.trainer.spans_hosts
    num_hosts = request.trial.num_hosts if spans_hosts else 1
    # two replicas are enough for the code path of several, if the batch divides over them
    one_or_two = 2 if point.replicas >= 2 and point.divides_over(2) else 1
    replicas = num_hosts if num_hosts > 1 else one_or_two
    precision = _REHEARSED_PRECISION.get(point.precision, point.precision)
    num_processes = _num_processes(request, replicas, num_hosts=num_hosts)
    return Placement(
        trial=request.trial,
        trial_id=request.trial_id,
        provenance="rehearsed",
        kind="cpu",
        precision=precision,
        replicas=replicas,
        num_processes=num_processes,
        threads=1,
        node=node_group.node.name,
        num_hosts=num_hosts,
        pool=node_group.pool_name,
        cpus=_share_of_cores(request, node_group) if node_group.is_fake else 1,
        devices=devices,
        chips=devices * point.device.chips,
        start_method=_start_method(request, kinds=["cpu"]),
        trains=request.trainer.trains,
        substitutions=(
            *_devices_stood_in(point, is_fake=node_group.is_fake),
            *_other_precision(point.precision, precision),
            *((f"{_count(replicas)} for {point.replicas}",) if replicas != point.replicas else ()),
            *((f"1 host for {request.trial.num_hosts}",) if num_hosts != request.trial.num_hosts else ()),
            *(("sharding=full for hybrid",) if request.trial.memory_settings.sharding == "hybrid" else ()),
            *_stand_ins(request, replicas=replicas, num_processes=num_processes),
        ),
    )


def _stand_ins(request: PlacementRequest, *, replicas: int, num_processes: int) -> tuple[str, ...]:
    """Return the substitutes of a missing device's parts; a CPU rehearses another CPU without any."""
    kinds = {device.kind for device in (request.point.device, *request.point.other_devices)}
    if "cpu" in kinds:
        return ()
    return request.trainer.rehearsed_with(
        request.point.device.kind, replicas=replicas, num_processes=num_processes
    )


def _devices_stood_in(point: Point, *, is_fake: bool) -> tuple[str, ...]:
    """Each device once; of a mix, what is a processor of this host anyway is in no other's place."""
    devices = list(dict.fromkeys((point.device.name, *(device.name for device in point.other_devices))))
    if is_fake:
        return tuple(f"a fake node for {device}" for device in devices)
    cpus = [device.name for device in point.devices if device.kind == "cpu"] if point.other_devices else []
    if len({*cpus}) > 1:
        return (f"the cpu of one host for {' and '.join(devices)}",)
    return tuple(f"cpu for {device}" for device in devices if device not in cpus)


def _other_precision(precision: str, rehearsed: str) -> tuple[str, ...]:
    is_whole = rehearsed == precision and precision not in _LEFT_OUT
    return () if is_whole else (f"{rehearsed}{_LEFT_OUT.get(precision, '')} for {precision}",)


def _num_processes(request: PlacementRequest, replicas: int, *, num_hosts: int) -> int:
    """Return the number of processes on the requested device's code path, also where a CPU rehearses it."""
    return replicas if request.trial.process_model == "per_replica" else num_hosts


def _num_devices(request: PlacementRequest) -> int:
    """Accelerators of each host that the trial holds."""
    return 0 if request.point.device.kind == "cpu" else request.point.num_workers // request.trial.num_hosts


def _share_of_cores(request: PlacementRequest, node_group: NodeGroup) -> int:
    """Return the cores per host: all for a trial on the CPU, otherwise in proportion to the accelerators it
    uses.
    """
    node, device = node_group.node, request.point.device
    if device.kind == "cpu":
        return node.cpus
    return max(1, node.cpus * _num_devices(request) // node.counts[device.name])


def _start_method(request: PlacementRequest, *, kinds: Iterable[DeviceKind]) -> StartMethod:
    if request.start_method != "auto":
        return request.start_method
    return "fork" if all(kind in request.trainer.fork_proven for kind in kinds) else "spawn"


def _crowd(num_processes: int, cpus: int) -> tuple[str, ...]:
    if num_processes <= cpus:
        return ()
    return (f"{num_processes} worker processes share {cpus} cores",)


def _first_run(request: PlacementRequest, *, kind: DeviceKind) -> tuple[str, ...]:
    if kind not in request.trainer.run_on:
        return (f"{request.trainer.name} was never run on a {kind.upper()} by those who wrote it",)
    if kind != "cpu" and request.trial.num_workers > 1:
        return (f"{request.trainer.name} was never run on several {kind.upper()}s by those who wrote it",)
    return ()


def _count(replicas: int) -> str:
    return "1 replica" if replicas == 1 else f"{replicas} replicas"
