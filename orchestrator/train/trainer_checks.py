"""Checks of the trainers: reasons why a trainer refuses a request, one function per trainer. Pure.

A reason is one line: what the trainer cannot do, and what is possible instead.
"""

from orchestrator.core.trainer import TrainingRequest
from workloads.layers import BatchNorm

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
