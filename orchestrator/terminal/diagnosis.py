"""A diagnosis as lines for the terminal: one screen, what is missing last."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.core.printable import command_text
from orchestrator.plan.machine_state import Diagnosis, GpuState, HostState, Leftovers, TrainerState

_WIDTH = 12
_WORDS = {"cuda": "CUDA", "cudnn": "cuDNN", "nccl": "NCCL", "nvidia_driver": "driver", "libtpu": "libtpu"}


def describe_machine(diagnosis: Diagnosis) -> Iterator[str]:
    """Describe the machine, then the checks, then what it can train on."""
    yield format_line("host", _host(diagnosis.host))
    for gpu in diagnosis.host.gpus:
        yield format_line(f"GPU {gpu.index}", _gpu(gpu))
    if diagnosis.host.slice_type:
        yield format_line("TPU", f"{diagnosis.host.slice_type}, {_device(diagnosis.host.slice_device)}")
    if not diagnosis.host.gpus and not diagnosis.host.slice_type:
        yield format_line("accelerator", "none")
    for trainer in diagnosis.trainers:
        yield format_line(trainer.name, _trainer(trainer))
    for place in diagnosis.places:
        yield format_line(place.purpose, f"{place.path}, {place.free_bytes / 1e9:,.0f} GB free")
    for service in diagnosis.services:
        yield format_line(service.name, service.version or "not installed")
    for leftovers in diagnosis.leftovers:
        if leftovers.num_files or leftovers.purpose == "errors":
            yield format_line(leftovers.purpose, _leftovers(leftovers))
    yield from (f"{check.status}: {check.message}" for check in diagnosis.checks)
    yield _summary(diagnosis.trainers)


def format_line(name: str, text: str, *, width: int = _WIDTH) -> str:
    """Return a line with its text in the column after the longest name."""
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
