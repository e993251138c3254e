"""Compatibility of a point with its trainer, checked before scheduling. Pure."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from orchestrator.core.device import Device, parse_generation
from orchestrator.core.sweep import Point
from orchestrator.core.trainer import TrainerEnvironment, TrainerInfo, TrainingRequest
from orchestrator.plan.trial_specs import build_workload
from workloads.cost import find_cost
from workloads.layers import BatchNorm, Layer
from workloads.spec import Supervised, TokenPrediction, Workload

LEAST_CAPABILITY: Mapping[str, float] = {"13": 7.5}
"""Major version of CUDA -> least compute capability of its libraries. NVIDIA, CUDA 13.0 release notes:
Maxwell, Pascal and Volta are no longer supported."""

_NATIVE_TRAINERS: Mapping[str, str] = {
    "torch": "choose torch_ddp, torch_xla or torch_tpu",
    "keras": "choose tensorflow",
    "torch and keras": "choose torch_ddp, torch_xla, torch_tpu or tensorflow",
}
"""Frameworks of a native workload -> advice about the trainer."""

_NO_SHARDS: Mapping[str, str] = {
    "tensorflow": "Keras has no such layout on TensorFlow",
    "torch_xla": "not yet",
}
"""Trainer -> why it shards no weights."""

Rule = Callable[[Point, Device, TrainerInfo], str | None]
"""Returns a reason against one device of a point; a point may have several."""


def reason_against(point: Point, trainer: TrainerInfo) -> str | None:
    """Return the first reason why the trainer cannot train the point, in one line; None if it can."""
    return next((reason for reason in _reasons(point, trainer) if reason), None)


def reason_against_build(point: Point, environment: TrainerEnvironment) -> str | None:
    """Explain why an environment's build cannot use the point's devices, which are here; None if it can."""
    devices = (point.device, *point.other_devices)
    against_cards = (reason_against_card(device, environment, trainer=point.trainer) for device in devices)
    return environment.missing_on([device.kind for device in devices]) or next(
        filter(None, against_cards), None
    )


def reason_against_card(device: Device, environment: TrainerEnvironment, *, trainer: str) -> str | None:
    """Explain why a trainer's CUDA has no kernels for a GPU; None if it may have some."""
    cuda = environment.accelerator_versions.get("gpu", {}).get("cuda", "")
    least = LEAST_CAPABILITY.get(cuda.partition(".")[0], 0.0)
    if device.compute_capability is None or device.compute_capability >= least:
        return None
    return (
        f"{trainer} is built for CUDA {cuda}, which has no kernels for {device.name} (compute capability "
        f"{device.compute_capability}); get a build for CUDA 12.6"
    )


def _reasons(point: Point, trainer: TrainerInfo) -> Iterator[str | None]:
    """Yield the result of every rule; a rule may rely on those before it."""
    yield _trains_own_code(point, trainer)
    yield _takes_unequal_devices(point, trainer)
    yield _has_memory_settings(point, trainer)
    yield find_reason_against_settings(point)
    devices = {device.name: device for device in (point.device, *point.other_devices)}
    yield from (rule(point, device, trainer) for device in devices.values() for rule in _DEVICE_RULES)
    yield _a_target_needs_training(point, trainer)


def _takes_unequal_devices(point: Point, trainer: TrainerInfo) -> str | None:
    if not point.other_devices or trainer.takes_unequal_devices:
        return None
    return (
        f"{trainer.name} gives every worker equal work, so that {point.device_label} would wait for the "
        f"slowest device; choose a trainer that divides work by speed, or equal devices"
    )


def _has_memory_settings(point: Point, trainer: TrainerInfo) -> str | None:
    missing = [name for name in point.memory_settings.chosen if name not in trainer.memory_keys]
    if not missing:
        return None
    if trainer.runs_scripts:
        return f"a script decides itself what it holds at once; leave {missing[0]} out"
    why = f" ({_NO_SHARDS[trainer.name]})" if missing[0] == "sharding" and trainer.name in _NO_SHARDS else ""
    return f"{trainer.name} has no {missing[0]}{why}; choose trainer=torch_ddp, or leave it out"


def find_reason_against_settings(point: Point) -> str | None:
    """Explain why no trainer trains a point with its settings of memory; None: one may."""
    passes = point.memory_settings.count_passes(point.global_batch_size // point.replicas)
    reason = find_reason_against_passes(build_workload(point)) if passes > 1 else None
    if reason:
        return f"{reason}; leave micro_batch_size out"
    return _can_recompute(point) or _can_shard(point)


def find_reason_against_passes(spec: Workload) -> str | None:
    """Explain why micro batches of a workload would not train what the whole batch does; None: they do."""
    if _has_layer(spec, BatchNorm):
        return f"batch normalisation of {spec.name} takes its statistics of the whole batch"
    if spec.accumulation_steps > 1:
        return f"{spec.name} accumulates by itself, accumulation_steps={spec.accumulation_steps}"
    return None


def _can_recompute(point: Point) -> str | None:
    if point.memory_settings.activation_checkpointing == "none":
        return None
    spec = build_workload(point)
    reason = find_reason_against_recomputation(spec)
    return reason and f"{reason}; {spec.advice_on_blocks}leave activation_checkpointing out"


def find_reason_against_recomputation(spec: Workload) -> str | None:
    """Explain why no block of a workload can be computed again; None: some can."""
    cost = find_cost(spec)
    if cost is not None and cost.blocks is not None and not _has_layer(spec, BatchNorm):
        return None
    return f"{spec.name} repeats no block without batch normalisation"


def _can_shard(point: Point) -> str | None:
    if point.memory_settings.sharding == "none":
        return None
    if point.trainer_options.get("compile") == "on":
        return "sharded weights are not compiled; remove trainer.compile=on, or leave sharding out"
    hosts = point.num_hosts or 1
    if point.memory_settings.sharding == "hybrid" and (hosts == 1 or point.replicas <= hosts):
        return (
            f"sharding=hybrid shards over the replicas of each host, and {point.replicas} on {hosts} are not "
            "several hosts of several; set num_hosts, or choose sharding=full"
        )
    reason = find_reason_against_shards(build_workload(point))
    return reason and f"{reason}; leave sharding out"


def find_reason_against_shards(spec: Workload) -> str | None:
    """Explain why the weights of a workload cannot be shards; None if they can.

    A generator's step, and pretraining, read weights beside the forward pass that gathers them.
    """
    protocols = [phase.protocol for phase in spec.phases]
    if len(protocols) == 1 and isinstance(protocols[0], (Supervised, TokenPrediction)):
        return None
    return f"{spec.name} trains several networks or phases, and shards are of one network in one phase"


def _a_trainer_is_known(_point: Point, device: Device, _trainer: TrainerInfo) -> str | None:
    return device.no_trainer and f"{device.no_trainer}; choose a GPU or TPU"


def _trainer_accepts(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    request = TrainingRequest(
        workload=point.workload,
        kind=device.kind,
        generation=parse_generation(device.slice_type or "") or None,
        precision=point.precision,
        replicas=point.replicas,
        options=point.trainer_options,
        has_layer=partial(_has_layer, build_workload(point)),
    )
    return trainer.check(request)


def _has_layer(spec: Workload, *layers: type[Layer]) -> bool:
    nodes = (node for network in spec.networks.values() for node in network.nodes)
    return any(isinstance(node.layer, layers) for node in nodes)


def _trainer_knows_the_kind(_point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if device.kind in trainer.precisions:
        return None
    possible = ", ".join(kind.upper() for kind in trainer.precisions)
    return f"{trainer.name} does not train on a {device.kind.upper()}; it trains on: {possible}"


def _fp16_is_arithmetic_here(point: Point, device: Device, _trainer: TrainerInfo) -> str | None:
    if point.precision != "fp16" or device.kind == "gpu":
        return None
    if device.kind == "cpu":
        # 1.7 s a step under torch 2.13 and 2.5 s under TensorFlow 2.21, where fp32 takes 20 to 26 ms
        return "fp16 on a CPU is 65 to 200 times slower than fp32; choose bf16 or fp32"
    return "a TPU has no fp16; choose bf16"


def _fp8_has_layers(point: Point, _device: Device, _trainer: TrainerInfo) -> str | None:
    cost = find_cost(build_workload(point)) if point.precision == "fp8" else None
    if cost is None or not cost.has_packed_weights:
        return None
    return f"layers of {point.workload} in 4 bits do not multiply in fp8; choose precision=bf16"


def _fp32_on_a_tpu_is_fp32(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if device.kind != "tpu" or point.precision != "fp32" or "fp32" in trainer.precisions["tpu"]:
        return None
    return (
        f"{trainer.name} cannot request full fp32 from a TPU, which would round to bf16 silently; "
        f"choose tpu_default, which names the rounding"
    )


def _tpu_default_is_a_tpus(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if point.precision != "tpu_default" or device.kind == "tpu":
        return None
    return f"tpu_default is the rounding of fp32 on a TPU; {_possible(device, trainer)}"


def _device_has_the_precision(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    if point.precision == "tpu_default" or point.precision in device.native_precisions:
        return None
    return f"{device.name} has no {point.precision} arithmetic; {_possible(device, trainer)}"


def _trainer_sets_the_precision(point: Point, device: Device, trainer: TrainerInfo) -> str | None:
    kind = device.kind
    if point.precision in trainer.precisions[kind]:
        return None
    return f"{trainer.name} cannot set {point.precision} on a {kind.upper()}; {_possible(device, trainer)}"


def _a_target_needs_training(point: Point, trainer: TrainerInfo) -> str | None:
    if point.timing.target is None or trainer.trains:
        return None
    return f"{trainer.name} trains nothing and reaches no quality; remove measure.target"


def _trains_own_code(point: Point, trainer: TrainerInfo) -> str | None:
    spec = build_workload(point)
    if bool(spec.command) != trainer.runs_scripts:
        return (
            f"{trainer.name} cannot run {spec.name}; choose trainer=script"
            if spec.command
            else f"{trainer.name} runs scripts; choose workload=script, or another trainer"
        )
    if spec.has_objects and trainer.splits_tensors:
        return (
            f"{trainer.name} splits the tensors of a batch, and collate of {spec.name} gives an object that "
            "moves its own; return tensors in a tuple, list, mapping or dataclass, or choose torch_ddp"
        )
    if not spec.costs or trainer.framework in spec.costs:
        return None
    jobs = " and ".join(spec.costs)
    return f"{trainer.name} cannot train {spec.name}, which is a {jobs} job; {_NATIVE_TRAINERS[jobs]}"


def _possible(device: Device, trainer: TrainerInfo) -> str:
    settable = trainer.precisions[device.kind]
    native = (*device.native_precisions, "tpu_default")
    return f"choose one of: {', '.join(label for label in settable if label in native)}"


_DEVICE_RULES: tuple[Rule, ...] = (
    _a_trainer_is_known,
    _trainer_accepts,
    _trainer_knows_the_kind,
    _fp16_is_arithmetic_here,
    _fp32_on_a_tpu_is_fp32,
    _tpu_default_is_a_tpus,
    _device_has_the_precision,
    _trainer_sets_the_precision,
    _fp8_has_layers,
)
