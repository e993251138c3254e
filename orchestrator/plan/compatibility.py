"""(point, trainer) -> why they cannot go together, or None. Pure; asked before anything is scheduled."""

from collections.abc import Callable, Iterator

from orchestrator.core.device import Device
from orchestrator.core.sweep import Point
from orchestrator.core.tpu_topology import generation_of
from orchestrator.core.trainer import TrainerInfo
from orchestrator.plan.trial_specs import workload_of
from workloads.layers import BatchNorm, Conv2d, ConvTranspose2d, DepthwiseConv2d, Layer

Rule = Callable[[Point, TrainerInfo], str | None]

DeviceRule = Callable[[Point, Device, TrainerInfo], str | None]
"""Of each device that the point has, by itself."""


def reason_against(point: Point, trainer: TrainerInfo) -> str | None:
    """The first rule that speaks against training this point, in one sentence; None if none does."""
    return next((reason for reason in _reasons(point, trainer) if reason), None)


def _reasons(point: Point, trainer: TrainerInfo) -> Iterator[str | None]:
    """Yield the result of every rule; a rule may rely on those before it."""
    yield _takes_unequal_devices(point, trainer)
    devices = {device.name: device for device in (point.device, *point.other_devices)}
    yield from (rule(point, device, trainer) for device in devices.values() for rule in _DEVICE_RULES)
    yield from (rule(point, trainer) for rule in _RULES)


def _takes_unequal_devices(point: Point, trainer: TrainerInfo) -> str | None:
    if not point.other_devices or trainer.takes_unequal_devices:
        return None
    return (
        f"{trainer.name} gives every worker the same to do, so that {point.device_label} would wait for the "
        f"slowest; choose a trainer that shares out by speed, or devices that are alike"
    )


def _trainer_knows_the_kind(_point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    kind = device.kind
    if kind in trainer.precisions:
        return None
    why = trainer.refusals.get(kind, f"has no path to a {kind.upper()}")
    return f"{trainer.name} {why}; it trains on: {', '.join(label.upper() for label in trainer.precisions)}"


def _trainer_knows_the_generation(_point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    found = generation_of(device.slice_type or "")
    if not found or not trainer.generations or found in trainer.generations:
        return None
    return f"{trainer.name} knows no TPU {found}; it trains on: {', '.join(trainer.generations)}"


def _kind_takes_the_options(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    kind = device.kind
    for knob, value in point.trainer_options.items():
        why = trainer.refused_options.get((kind, knob, value))
        if why:
            return f"{trainer.name} {why}; leave trainer.{knob}={value} out on a {kind.upper()}"
    return None


def _fp16_is_arithmetic_here(point: Point, device: Device, _trainer: TrainerInfo) -> str | None:
    if point.precision != "fp16" or device.kind == "gpu":
        return None
    if device.kind == "cpu":
        # 1.7 s a step under torch 2.13 and 2.5 s under TensorFlow 2.21, where fp32 takes 20 to 26 ms
        return "fp16 on a CPU is 65 to 200 times slower than fp32; choose bf16 or fp32"
    return "a TPU has no fp16; choose bf16"


def _fp32_on_a_tpu_is_fp32(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if device.kind != "tpu" or point.precision != "fp32" or "fp32" in trainer.precisions["tpu"]:
        return None
    return (
        f"{trainer.name} cannot ask a TPU for full fp32, which would be rounded to bf16 unsaid; "
        f"choose tpu_default, which says so"
    )


def _tpu_default_is_a_tpus(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if point.precision != "tpu_default" or device.kind == "tpu":
        return None
    return f"tpu_default is a TPU's own rounding of fp32; {_possible(device, trainer)}"


def _device_has_the_precision(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if point.precision == "tpu_default" or point.precision in device.native_precisions:
        return None
    return f"{device.name} has no {point.precision} arithmetic; {_possible(device, trainer)}"


def _trainer_sets_the_precision(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    kind = device.kind
    if point.precision in trainer.precisions[kind]:
        return None
    return f"{trainer.name} cannot set {point.precision} on a {kind.upper()}; {_possible(device, trainer)}"


def _replicas_share_the_precision(point: Point, trainer: TrainerInfo) -> str | None:
    why = trainer.single_replica.get(point.precision)
    if why is None or point.replicas == 1:
        return None
    return f"{trainer.name} {why}; for {point.replicas} replicas choose other than {point.precision}"


def _replicas_share_the_normalisation(point: Point, trainer: TrainerInfo) -> str | None:
    for (knob, value), why in trainer.single_replica_batch_norm.items():
        if point.trainer_options.get(knob) == value and point.replicas > 1 and _has_a(point, BatchNorm):
            return f"{trainer.name} {why}; for {point.replicas} replicas leave trainer.{knob}={value} out"
    return None


def _has_a(point: Point, *layers: type[Layer]) -> bool:
    networks = workload_of(point).networks.values()
    return any(isinstance(node.layer, layers) for network in networks for node in network.nodes)


def _there_is_something_to_split(point: Point, trainer: TrainerInfo) -> str | None:
    if not trainer.splits_convolutions:
        return None
    if _has_a(point, ConvTranspose2d):
        why = f"cannot split transposed convolutions, which {point.workload} has"
    elif not _has_a(point, Conv2d, DepthwiseConv2d):
        why = f"splits convolutions, and {point.workload} has none"
    else:
        return None
    return f"{trainer.name} {why}; choose another trainer"


def _a_target_needs_training(point: Point, trainer: TrainerInfo) -> str | None:
    if point.timing.target is None or trainer.trains:
        return None
    return f"{trainer.name} trains nothing, so it comes to no quality; leave out measure.target"


def _possible(device: Device, trainer: TrainerInfo) -> str:
    settable = trainer.precisions[device.kind]
    native = (*device.native_precisions, "tpu_default")
    return f"choose one of: {', '.join(label for label in settable if label in native)}"


_DEVICE_RULES: tuple[DeviceRule, ...] = (
    _trainer_knows_the_kind,
    _trainer_knows_the_generation,
    _kind_takes_the_options,
    _fp16_is_arithmetic_here,
    _fp32_on_a_tpu_is_fp32,
    _tpu_default_is_a_tpus,
    _device_has_the_precision,
    _trainer_sets_the_precision,
)
_RULES: tuple[Rule, ...] = (
    _replicas_share_the_precision,
    _replicas_share_the_normalisation,
    _there_is_something_to_split,
    _a_target_needs_training,
)
