"""A diagnosis as lines for the terminal: one screen, what is missing last."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.core.diagnosis import (
    ClusterDiagnosis,
    Diagnosis,
    GpuState,
    HostState,
    Leftovers,
    PoolState,
    TrainerState,
)
from orchestrator.core.printable import command_text

_WIDTH = 12
_WORDS = {"cuda": "CUDA", "cudnn": "cuDNN", "nccl": "NCCL", "nvidia_driver": "driver", "libtpu": "libtpu"}


def describe_machine(diagnosis: Diagnosis) -> Iterator[str]:
    """Describe the machine, then the checks, then what it can train on."""
    yield _line("host", _host(diagnosis.host))
    for gpu in diagnosis.host.gpus:
        yield _line(f"GPU {gpu.index}", _gpu(gpu))
    if diagnosis.host.slice_type:
        yield _line("TPU", f"{diagnosis.host.slice_type}, {_device(diagnosis.host.slice_device)}")
    if not diagnosis.host.gpus and not diagnosis.host.slice_type:
        yield _line("accelerator", "none")
    for trainer in diagnosis.trainers:
        yield _line(trainer.name, _trainer(trainer))
    for place in diagnosis.places:
        yield _line(place.purpose, f"{place.path}, {place.free_bytes / 1e9:,.0f} GB free")
    for service in diagnosis.services:
        yield _line(service.name, service.version or "not installed")
    for leftovers in diagnosis.leftovers:
        if leftovers.num_files or leftovers.purpose == "errors":
            yield _line(leftovers.purpose, _leftovers(leftovers))
    yield from (f"{check.status}: {check.message}" for check in diagnosis.checks)
    yield _summary(diagnosis.trainers)


def _line(name: str, text: str, *, width: int = _WIDTH) -> str:
    return f"{name:<{width}} {text}"


def _host(host: HostState) -> str:
    return (
        f"{host.hostname}, {host.cpu_model}, {host.cores} cores, load {host.load:.1f}, "
        f"{host.memory_available_bytes / 1e9:.1f} of {host.memory_total_bytes / 1e9:.1f} GB memory free, "
        f"Python {host.python}"
    )


def _gpu(gpu: GpuState) -> str:
    power = None if gpu.power_limit_watts is None else f"{gpu.power_limit_watts:g} W"
    clock = None if gpu.most_clock_hz is None else f"up to {gpu.most_clock_hz / 1e6:g} MHz"
    busy = None if gpu.busy_fraction is None else f"{gpu.busy_fraction:.0%} busy"
    used, total = gpu.memory_used_bytes, gpu.memory_total_bytes
    memory = None if used is None or total is None else f"{used / 1e9:.1f} of {total / 1e9:.1f} GB in use"
    facts = (_device(gpu.device), f"driver {gpu.driver}", power, clock, busy, memory)
    return ", ".join([gpu.name, *filter(None, facts)])


def _device(name: str | None) -> str:
    return f"device={name}" if name else "no device file"


def _trainer(trainer: TrainerState) -> str:
    if trainer.missing:
        return "cannot train"
    devices = ", ".join(trainer.usable_devices) or "no device of this machine"
    builds = _listed({_WORDS.get(name, name): version for name, version in trainer.builds.items()})
    return f"on {devices}: {_listed(trainer.versions)}{f' ({builds})' if builds else ''}, {trainer.python}"


def _leftovers(leftovers: Leftovers) -> str:
    if not leftovers.num_files:
        return f"{leftovers.path}, none kept"
    kind = "whole texts of errors" if leftovers.purpose == "errors" else "folders of killed processes"
    clear = command_text(["--clear"], verb="doctor")
    size = f"{leftovers.size_bytes / 1e6:,.2f} MB"
    return f"{leftovers.path}, {kind}: {leftovers.num_files}, {size}; to remove them: {clear}"


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _summary(trainers: Iterable[TrainerState]) -> str:
    by_device: dict[str, list[str]] = {}
    for trainer in trainers:
        for device in trainer.usable_devices:
            by_device.setdefault(device, []).append(trainer.name)
    listed = "; ".join(f"{device} with {', '.join(names)}" for device, names in by_device.items())
    return f"This machine can train on: {listed or 'nothing'}."


def describe_cluster(diagnosis: ClusterDiagnosis) -> Iterator[str]:
    """Describe the pools, the tools and the checks of a cluster."""
    width = max((len(f"pool {pool.name}") for pool in diagnosis.pools), default=_WIDTH)
    for pool in diagnosis.pools:
        yield _line(f"pool {pool.name}", _pool(pool), width=width)
    for tool in diagnosis.tools:
        yield _line(tool.name, tool.version or "not installed", width=width)
    yield from (f"{check.status}: {check.message}" for check in diagnosis.checks)
    devices = dict.fromkeys(pool.device for pool in diagnosis.pools if pool.trainers)
    yield f"Cluster {diagnosis.name} can train on: {', '.join(devices) or 'nothing'}."


def _pool(pool: PoolState) -> str:
    nodes = f"{pool.hosts} hosts of {pool.count} x" if pool.hosts > 1 else f"{pool.count} x"
    price = "no price" if pool.usd_per_hour is None else f"${pool.usd_per_hour:,.4g}/h"
    market = pool.provisioning.replace("_", " ")
    return (
        f"{nodes} {pool.device}, {pool.instance} {market} in {pool.zone}, {price}, at most {pool.max_nodes}, "
        f"for {', '.join(pool.trainers) or 'no trainer'}"
    )
