"""Micro-benchmark of a device of this host, kept for later predictions."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from orchestrator.config.loader import devices_named, load
from orchestrator.core import codec
from orchestrator.core.device import Device, DeviceKind
from orchestrator.core.errors import ConfigError, PlacementError
from orchestrator.core.printable import command_text
from orchestrator.execute.machine.child_process import find_answer, link_code
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.execute.machine.inventory import local_node
from orchestrator.extensions.predictions.calibration import Calibration, DeviceBenchmark
from orchestrator.extensions.predictions.calibrations import add_calibration
from orchestrator.pipeline.point_settings import NO_SWEEP
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.registry import trainer_info

_SECONDS = 300.0  # it takes ten; a cold installation on a slow disk takes a minute more


def run_benchmark(python: str, kind: DeviceKind, precisions: Sequence[str]) -> DeviceBenchmark:
    """Measure the first device of a kind.

    Args:
        python: interpreter with torch.

    Raises:
        PlacementError: the benchmark failed, or did not end in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        link_code(Path(folder) / "code")
        command = [
            python,
            "-P",
            "-m",
            "orchestrator.extensions.predictions.device_benchmark",
            kind,
            *precisions,
        ]
        variables = {**os.environ, "PYTHONPATH": str(Path(folder) / "code")}
        try:
            answer = json.loads(find_answer(command, variables, seconds=_SECONDS))
        except TimeoutError:
            raise PlacementError(f"the benchmark of the {kind} did not end in {_SECONDS:g} s") from None
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise PlacementError(f"the benchmark of the {kind} failed: {error}") from error
    if "error" in answer:
        raise PlacementError(f"the benchmark of the {kind} failed: {answer['error']}")
    return codec.from_plain(DeviceBenchmark, answer)


_TRAINER = "torch_ddp"


def calibrate(overrides: Sequence[str], *, working_directory: Path) -> tuple[Device, Calibration, Path]:
    """Measure launches, arithmetic, memory and exchange of a device that is here, and keep the result.

    Args:
        overrides: `device=NAME` or `device=auto`, `outputs=FOLDER`, `trainer.python=PATH`.

    Returns:
        The device, the benchmark, and the file that has it.

    Raises:
        ConfigError: several devices are asked for, a TPU, or a device that is not here.
        PlacementError: the benchmark failed.
        RecordError: it cannot be kept.
    """
    settings = load([NO_SWEEP, f"trainer={_TRAINER}", *overrides], working_directory=working_directory)
    names = sorted({point.device.name for point in settings.sweep.points})
    if len(names) > 1:
        raise ConfigError(
            f"predict calibrate measures one device, not {', '.join(names)}; name one: device=…"
        )
    device = settings.sweep.points[0].device
    node = local_node([*devices_named(working_directory).values()])
    if device.kind != "cpu" and device.name not in node.devices:
        raise ConfigError(
            f"predict calibrate: no {device.name} is here; here: {node.holdings}, and device=cpu"
        )
    if device.kind == "tpu":
        raise ConfigError(
            "predict calibrate: no benchmark of TPUs exists; measure a workload in its place: "
            + command_text([NO_SWEEP, f"device={device.name}"])
        )
    info = trainer_info(_TRAINER)
    environment = trainer_environment(info, python=settings.trainers[_TRAINER].python)
    missing = environment.missing or environment.accelerator_missing.get(device.kind)
    if missing:
        raise ConfigError(f"predict calibrate: {missing}")
    calibration = Calibration(
        device=device.name,
        host_cpu=node.host_cpu,
        measured_at=time.time(),
        load_average=os.getloadavg()[0],
        benchmark=run_benchmark(environment.python, device.kind, _find_precisions(device)),
        versions={**environment.versions, **environment.accelerator_versions.get(device.kind, {})},
    )
    return device, calibration, add_calibration(settings.outputs, calibration)


def _find_precisions(device: Device) -> tuple[str, ...]:
    possible = trainer_info(_TRAINER).precisions[device.kind]
    predicted = (name for name, settings in PRECISIONS.items() if name in possible and not settings.float8)
    return tuple(name for name in predicted if name in device.native_precisions)
