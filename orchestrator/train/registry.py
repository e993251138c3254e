"""Registry of trainers, with all facts that are known without importing their frameworks.

The check of a trainer gives the reason why it refuses a request, in one line: what the trainer cannot do, and
what is possible instead.
"""

from collections.abc import Mapping
from functools import cache
from pkgutil import resolve_name
from types import MappingProxyType

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import ConfigError, TrialError, UnknownNameError
from orchestrator.core.trainer import TrainerInfo, TrainingRequest
from orchestrator.core.trial_spec import Option, ProcessModel
from orchestrator.extension import add_parts, describe_unregistered
from orchestrator.train import rendezvous
from orchestrator.train.trainer import Trainer
from workloads.layers import BatchNorm

_TENSORFLOW_STRATEGIES: Mapping[str, ProcessModel | None] = {
    "auto": None,
    "mirrored": "per_host",
    "multi_worker": "per_replica",
}

_TPU_ON_ONE_HOST = (
    "TPUStrategy drives several hosts from one process, through a TensorFlow server on each, and a trial "
    "starts no such servers"
)
ON_CPUS, ON_GPUS = ("fp32", "bf16"), ("fp32", "tf32", "bf16", "fp16")
ON_TPUS = ("fp32", "bf16", "tpu_default")
_TORCH_TPU_GENERATIONS = ("v4", "v5p", "v5litepod", "v6e")


def check_torch_ddp(request: TrainingRequest) -> str | None:
    """Refuse TPUs, for which torch has a trainer of its own."""
    if request.kind == "tpu":
        return "torch_ddp does not train on a TPU; choose trainer=torch_tpu, or a CPU or GPU"
    return None


def check_torch_tpu(request: TrainingRequest) -> str | None:
    """Refuse generations of TPUs that torch_tpu 0.2 does not support."""
    if request.generation is None or request.generation in _TORCH_TPU_GENERATIONS:
        return None
    supported = ", ".join(_TORCH_TPU_GENERATIONS)
    return f"torch_tpu does not support TPU {request.generation}; it supports: {supported}"


def check_tensorflow(request: TrainingRequest) -> str | None:
    """Refuse options that TPUStrategy has no use for, and what TensorFlow computes wrong over replicas."""
    options = request.options
    if request.kind == "tpu" and options.get("strategy", "auto") != "auto":
        return (
            "tensorflow trains on a TPU with TPUStrategy only; "
            f"remove trainer.strategy={options['strategy']} for a TPU"
        )
    if request.kind == "tpu" and options.get("compile") == "on":
        return "tensorflow always compiles a step on a TPU; remove trainer.compile=on for a TPU"
    if request.replicas == 1:
        return None
    if request.kind == "gpu" and request.precision == "fp16":
        # keras 3.15: an overflow in another replica made the weights infinite
        return (
            "tensorflow scales the loss for one replica only, because Keras looks for overflow in the "
            f"gradients of the first one; for {request.replicas} replicas choose another precision than fp16"
        )
    if options.get("compile") == "on" and request.has_layer(BatchNorm):
        # tensorflow 2.21: merge_call within a nested tf.function is refused
        return (
            "tensorflow cannot sum batch normalisation over replicas in a compiled step; "
            f"for {request.replicas} replicas remove trainer.compile=on"
        )
    return None


def check_torch_xla(request: TrainingRequest) -> str | None:
    """Refuse GPUs, for which the package has no plugin, and a TPU that is newer than its runtime."""
    if request.kind == "gpu":
        return (
            "torch_xla needs a CUDA plugin for a GPU, and its package has none; "
            "choose another trainer, or a CPU or TPU"
        )
    if request.generation == "tpu7x":
        return "torch_xla 2.9 brings libtpu 0.0.21, which has no TPU v7x; choose another trainer or TPU"
    return None


def _per_replica(_kind: DeviceKind, _options: Mapping[str, Option]) -> ProcessModel:
    return "per_replica"


def _per_host(_kind: DeviceKind, _options: Mapping[str, Option]) -> ProcessModel:
    return "per_host"


def _by_strategy(kind: DeviceKind, options: Mapping[str, Option]) -> ProcessModel:
    """TensorFlow's replicas share a process on an accelerator's host; on a CPU they are processes."""
    model = _TENSORFLOW_STRATEGIES[str(options.get("strategy", "auto"))]
    return model or ("per_replica" if kind == "cpu" else "per_host")


def _torch_stand_ins(_kind: DeviceKind, /, *, num_processes: int, **_: int) -> tuple[str, ...]:
    """A single process has no process group."""
    return ("gloo for nccl",) if num_processes > 1 else ()


def _tensorflow_stand_ins(kind: DeviceKind, /, *, replicas: int, num_processes: int) -> tuple[str, ...]:
    """The strategies that `tensorflow_strategy.configure_strategy` takes on a CPU, where they are others."""
    if kind == "tpu":
        return (f"{'MirroredStrategy' if replicas > 1 else 'the default strategy'} for TPUStrategy",)
    if num_processes > 1:
        return ("RING for NCCL",)
    return ("logical CPU devices for GPUs",) if replicas > 1 else ()


def _xla_stand_ins(_kind: DeviceKind, /, *, num_processes: int, **_: int) -> tuple[str, ...]:
    """A process is a host."""
    between_hosts = ("gloo for the collectives between hosts",) if num_processes > 1 else ()
    return ("PJRT's CPU devices for TPU chips", *between_hosts)


TORCH_PRELOADED = (
    "torch._dynamo",  # 1.2 s that the first optimizer of a process would take
    "numpy.random",
)

TORCH_DDP = TrainerInfo(
    name="torch_ddp",
    version=1,
    path="orchestrator.train.trainers.torch_ddp_trainer:TorchDdpTrainer",
    packages=("torch",),
    install="pip install 'torch>=2.11,<2.14'",
    accelerator_install={"gpu": "make gpu, or pip install 'torch>=2.11,<2.14' from PyPI"},
    environment="torch",
    precisions={"cpu": ON_CPUS, "gpu": (*ON_GPUS, "fp8")},
    precision_packages={"fp8": ("torchao", "pip install 'torchao>=0.18,<0.19'")},
    process_model=_per_replica,
    variables=rendezvous.torch_distributed,
    preload=("orchestrator.train.trainers.torch_ddp_trainer", *TORCH_PRELOADED),
    fork_proven=("cpu",),
    run_on=("cpu", "gpu"),
    synchronous_on=("cpu",),
    spans_hosts=("cpu", "gpu"),
    options={"compile": ("off", "on"), "heap": ("trimmed", "kept")},
    check=check_torch_ddp,
    rehearsed_with=_torch_stand_ins,
    framework="torch",
    native_path="orchestrator.train.trainers.native.torch_ddp:NativeTorchDdpTrainer",
    sharded_path="orchestrator.train.trainers.torch_fsdp:TorchFsdpTrainer",
    native_sharded_path="orchestrator.train.trainers.native.torch_fsdp:NativeTorchFsdpTrainer",
    memory_keys=("micro_batch_size", "activation_checkpointing", "sharding"),
)

_TRAINERS: Mapping[str, TrainerInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            TORCH_DDP,
            TrainerInfo(
                name="torch_tpu",
                version=1,
                path="orchestrator.train.trainers.torch_ddp_trainer:TorchDdpTrainer",
                packages=("torch_tpu", "torch"),
                install="pip install 'torch_tpu==0.2.*' 'torch>=2.11,<2.14'",
                environment="torch_tpu",
                precisions={"tpu": ON_TPUS},
                process_model=_per_replica,
                variables=rendezvous.torch_tpu,
                preload=(),
                fork_proven=(),
                check=check_torch_tpu,
                framework="torch",
                native_path="orchestrator.train.trainers.native.torch_ddp:NativeTorchDdpTrainer",
                options={"compile": ("off", "on")},
            ),
            TrainerInfo(
                name="tensorflow",
                version=1,
                path="orchestrator.train.trainers.tensorflow_trainer:TensorFlowTrainer",
                packages=("tensorflow", "keras"),
                install="pip install 'tensorflow-cpu>=2.20,<2.22'",
                accelerator_packages={"tpu": ("libtpu",)},
                accelerator_install={
                    "gpu": "make gpu, or in an environment of its own: "
                    "pip install 'tensorflow[and-cuda]>=2.20,<2.22' 'pillow>=12,<14'",
                    "tpu": "in an environment of its own: pip install 'tensorflow-tpu==2.20.*'",
                },
                environment="tensorflow",
                python_variable="ORCHESTRATOR_TENSORFLOW_PYTHON",
                other_environments={"tpu": "tensorflow_tpu"},
                precisions={"cpu": ON_CPUS, "gpu": ON_GPUS, "tpu": ("bf16", "tpu_default")},
                process_model=_by_strategy,
                variables=rendezvous.tensorflow_cluster,
                preload=("orchestrator.train.trainers.tensorflow_trainer", "numpy.random"),
                fork_proven=("cpu",),
                synchronous_on=("cpu",),
                spans_hosts=("cpu", "gpu"),
                one_host={"tpu": _TPU_ON_ONE_HOST},
                options={"strategy": tuple(_TENSORFLOW_STRATEGIES), "compile": ("off", "on")},
                check=check_tensorflow,
                framework="keras",
                native_path="orchestrator.train.trainers.native.tensorflow:NativeTensorFlowTrainer",
                rehearsed_with=_tensorflow_stand_ins,
            ),
            TrainerInfo(
                name="torch_xla",
                version=1,
                path="orchestrator.train.trainers.torch_xla_trainer:TorchXlaTrainer",
                packages=("torch_xla", "torch"),
                install=(
                    "make xla, or in an environment .venv-xla: "
                    "pip install 'torch==2.9.*' 'torch_xla==2.9.0' 'numpy>=1.26,<3' 'pillow>=12,<14'"
                ),
                accelerator_packages={"tpu": ("libtpu",)},
                accelerator_install={
                    "tpu": "make tpu, or in the environment of torch_xla: pip install 'torch_xla[tpu]==2.9.0'"
                },
                environment="xla",
                python_variable="ORCHESTRATOR_XLA_PYTHON",
                precisions={"cpu": ON_CPUS, "tpu": ON_TPUS},
                process_model=_per_host,
                variables=rendezvous.xla_spmd,
                preload=("orchestrator.train.trainers.torch_xla_trainer", "torch._dynamo", "numpy.random"),
                fork_proven=("cpu",),
                spans_hosts=("cpu", "tpu"),
                over_hosts={
                    # pytorch/xla issues 5005, 9089, 9496
                    "cpu": "torch_xla averages the gradients of CPU hosts with gloo, through memory, because "
                    "XLA has no collectives between CPU hosts"
                },
                check=check_torch_xla,
                framework="torch",
                native_path="orchestrator.train.trainers.native.torch_xla:NativeTorchXlaTrainer",
                splits_tensors=True,
                rehearsed_with=_xla_stand_ins,
            ),
            TrainerInfo(
                name="noop",
                version=1,
                path="orchestrator.train.trainers.noop_trainer:NoopTrainer",
                packages=("numpy",),
                install="pip install 'numpy>=1.26,<3'",
                environment="core",
                precisions=dict.fromkeys(("cpu", "gpu", "tpu"), ON_CPUS),
                process_model=_per_replica,
                variables=rendezvous.alone,
                preload=("orchestrator.train.trainers.noop_trainer", "numpy.random"),
                fork_proven=("cpu",),
                spans_hosts=("cpu", "gpu", "tpu"),
                takes_unequal_devices=True,
                trains=False,
                run_on=("cpu", "gpu", "tpu"),
                options={"fault": ("none", "raise", "die", "hang", "nan", "exhaust")},
            ),
        )
    }
)


@cache
def trainers() -> Mapping[str, TrainerInfo]:
    """Return all trainers by name, those of extensions last. Raises ConfigError for a broken extension."""
    return MappingProxyType({info.name: info for info in add_parts(_TRAINERS.values(), "trainers")})


def trainer_info(name: str) -> TrainerInfo:
    """Return one trainer. Raises UnknownNameError, or ConfigError where an extension may have it."""
    if name in _TRAINERS:  # for workers, too, which may lack the distributions of extensions
        return _TRAINERS[name]
    if name in trainers():
        return trainers()[name]
    if missing := describe_unregistered():
        raise ConfigError(f"unknown trainer {name!r}; known: {', '.join(sorted(trainers()))}{missing}")
    raise UnknownNameError("trainer", name, known=trainers())


def load_trainer(info: TrainerInfo, *, native: bool = False, shards: bool = False) -> Trainer:
    """Import a trainer with its framework, and create it. Only workers call this.

    Args:
        native: True for the trainer of native jobs.
        shards: True for one that shards weights over several replicas.

    Raises:
        TrialError: `environment`, when a package is missing, with the command that installs it.
    """
    try:
        sharded = info.native_sharded_path if native else info.sharded_path
        path = sharded if shards else info.native_path if native else info.path
        assert path is not None, "planning refuses what a trainer does not have"
        trainer: Trainer = resolve_name(path)()
    except ImportError as error:
        raise TrialError("environment", f"{error}; get it with: {info.install}") from error
    return trainer
