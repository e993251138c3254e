"""(point, repeat) -> trial: the point with versions of code, hash of data and host filled in. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import ConfigError
from orchestrator.core.placement import task_name
from orchestrator.core.sweep import Point, Sweep
from orchestrator.core.trainer import TrainerInfo
from orchestrator.core.trial_spec import TimingSpec, TrialSpec
from workloads.registry import cached_workload
from workloads.script.command import TORCH_DEVICES, version_with
from workloads.shapes import UnsuitableInputError
from workloads.spec import OWN_SOURCE, Workload, phase_steps

_USUAL = TimingSpec()

DataKey = tuple[str, str]
"""(data set, requested source); of a native job (id of its data, `OWN_SOURCE`)."""

DataIds = Mapping[DataKey, str]
"""Key -> id of the resolved data."""

TrainSamples = Mapping[str, int | None]
"""`task_name` -> samples of the full training set; None if unknown."""


def data_needed(sweep: Sweep) -> Mapping[DataKey, Workload]:
    """Return the keys of `DataIds` that the sweep's trials need, and a workload that needs it."""
    possible = (point for point in sweep.points if unsuitable(point) is None)
    return {data_key(point): build_workload(point) for point in possible}


def data_key(point: Point) -> DataKey:
    """Return the key of the point's data."""
    return build_workload(point).find_data_key(point.data_source)


def unsuitable(point: Point) -> str | None:
    """Explain why the workload cannot take inputs of the requested size; None if it can."""
    try:
        build_workload(point)
    except UnsuitableInputError as error:
        return str(error)
    return None


def build_workload(point: Point) -> Workload:
    """Return the workload with the knobs of a point.

    Raises:
        UnsuitableInputError: an input of a size that the network cannot take.
        ConfigError: unknown workload, or knobs that give no network.
    """
    try:
        return cached_workload(point.workload, point.workload_options)
    except UnsuitableInputError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error


def find_tasks(points: Iterable[Point]) -> Mapping[str, Point]:
    """Return the first suitable point of every workload with its options, by `task_name`."""
    tasks: dict[str, Point] = {}
    for point in points:
        name = task_name(point.workload, point.workload_options)
        if name not in tasks and unsuitable(point) is None:
            tasks[name] = point
    return tasks


def build_trial(
    point: Point,
    repeat: int,
    *,
    trainer: TrainerInfo,
    data_ids: DataIds,
    host_cpu: str | None,
    num_hosts: int,
) -> TrialSpec:
    """Return one repeat of the point, on so many hosts.

    Raises:
        ConfigError: a value of the point that no trial can have.
    """
    spec = build_workload(point)
    _require_steps(spec, point)
    _require_batch(spec, point)
    return TrialSpec(
        workload=point.workload,
        workload_version=find_version(spec, point, device=point.device.name, kind=point.device.kind),
        workload_options=point.workload_options,
        trainer=point.trainer,
        trainer_version=trainer.version,
        trainer_options=point.trainer_options,
        device=point.device.name,
        precision=point.precision,
        data=data_ids[data_key(point)],
        global_batch_size=point.global_batch_size,
        steps=point.steps,
        num_workers=point.num_workers,
        num_hosts=num_hosts,
        replicas=point.replicas,
        process_model=trainer.process_model(point.device.kind, point.trainer_options),
        seed=point.seed,
        repeat=repeat,
        host_cpu=host_cpu,
        other_devices=tuple(device.name for device in point.other_devices),
        timing=_build_timing(spec, point),
        memory_settings=point.memory_settings,
    )


def find_version(spec: Workload, asked: Point | TrialSpec, *, device: str, kind: DeviceKind) -> int:
    """Return the workload's version; of a script also that of the files that the values of a trial name."""
    if not spec.command:
        return spec.version
    values = {
        "batch_size_per_worker": asked.global_batch_size // asked.num_workers,
        "device": device,
        "global_batch_size": asked.global_batch_size,
        "num_workers": asked.num_workers,
        "precision": asked.precision,
        "seed": asked.seed,
        "steps": asked.steps,
        "torch_device": TORCH_DEVICES[kind],
    }
    return version_with(spec.version, spec.command, Path(spec.folder), values)


def is_current(trial: TrialSpec) -> bool:
    """Return whether the trial's workload still exists in that version, and has the same data of its own."""
    try:
        spec = cached_workload(trial.workload, trial.workload_options)
    except ValueError:
        return False
    has_data = not spec.data_description or spec.find_data_key("") == (trial.data, OWN_SOURCE)
    # a host's CPU is named where it computes; scripts do not run on TPUs
    version = find_version(spec, trial, device=trial.device, kind="cpu" if trial.host_cpu else "gpu")
    return has_data and version == trial.workload_version


def _build_timing(spec: Workload, point: Point) -> TimingSpec:
    """Return the protocol with its target as a number: the workload's own may be requested by name.

    Least seconds are for accelerators. Trials on CPUs keep the defaults, and with them their ids.
    """
    timing, target = point.timing, point.timing.target
    if all(device.kind == "cpu" for device in (point.device, *point.other_devices)):
        timing = _with_usual_seconds(timing)
    if target is None:
        return timing
    return replace(timing, target=_declared_target(spec) if target == "workload" else float(target))


def _with_usual_seconds(timing: TimingSpec) -> TimingSpec:
    least = (_USUAL.min_warmup_seconds, _USUAL.min_block_seconds)
    if (timing.min_warmup_seconds, timing.min_block_seconds) == least:
        return timing
    return replace(timing, min_warmup_seconds=least[0], min_block_seconds=least[1])


def _declared_target(spec: Workload) -> float:
    target = spec.quality.target if spec.quality else None
    if target is None:
        raise ConfigError(
            f"measure.target=workload: {spec.name} declares no target; give a number, or its job target=…"
        )
    return target


def _require_batch(spec: Workload, point: Point) -> None:
    """Refuse a batch above the training set; a declared workload's worker refuses likewise."""
    batch, count, parts = point.global_batch_size, spec.train_samples, spec.accumulation_steps
    if count is not None and batch > count:
        raise ConfigError(f"global_batch_size={batch} is above the {count} training samples of {spec.name}")
    if parts > 1 and batch % (point.replicas * parts):
        raise ConfigError(
            f"global_batch_size={batch} does not divide into {point.replicas} x {parts} equal parts, for "
            f"{point.replicas} replicas and accumulation_steps={parts} of {spec.name}"
        )


def _require_steps(spec: Workload, point: Point) -> None:
    """Refuse too few steps: the last of several phases is timed, and alone needs the protocol's steps."""
    *_, timed = phase_steps(spec.phases, point.steps)
    if len(spec.phases) > 1 and timed < point.timing.least_steps:
        raise ConfigError(
            f"steps={point.steps} leave {timed} to phase {spec.phases[-1].name!r} of workload {spec.name!r}, "
            f"below the {point.timing.least_steps} that the measurement protocol needs"
        )
