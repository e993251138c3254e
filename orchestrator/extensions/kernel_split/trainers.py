"""Trainers that split convolutions, or a batch, over devices of unequal speed; their frameworks stay out."""

from dataclasses import replace

from orchestrator.core.trainer import TrainingRequest
from orchestrator.train.registry import ON_CPUS, ON_GPUS, TORCH_DDP, TORCH_PRELOADED
from workloads.layers import Conv2d, ConvTranspose2d, DepthwiseConv2d

_CODE = "orchestrator.extensions.kernel_split.training"


def check_unequal_ddp(request: TrainingRequest) -> str | None:
    """Refuse TPUs, because their chips have one speed."""
    if request.kind == "tpu":
        return "unequal_ddp shares a batch by speed, and TPU chips have equal speeds; choose a CPU or GPU"
    return None


def check_kernel_split(request: TrainingRequest) -> str | None:
    """Refuse TPUs, and networks without convolutions that can be split by kernels."""
    if request.kind == "tpu":
        return "kernel_split cannot send messages between TPUs; choose a CPU or GPU"
    if request.has_layer(ConvTranspose2d):
        return (
            f"kernel_split cannot split transposed convolutions, which {request.workload} has; "
            "choose another trainer"
        )
    if not request.has_layer(Conv2d, DepthwiseConv2d):
        return f"kernel_split splits convolutions, and {request.workload} has none; choose another trainer"
    return None


TRAINERS = (
    replace(
        TORCH_DDP,
        name="unequal_ddp",
        version=1,
        path=f"{_CODE}.unequal_ddp_trainer:UnequalDdpTrainer",
        precisions={"cpu": ON_CPUS, "gpu": ON_GPUS},
        preload=(f"{_CODE}.unequal_ddp_trainer", *TORCH_PRELOADED),
        run_on=("cpu",),
        options={"shares": ("measured", "even")},
        check=check_unequal_ddp,
        takes_unequal_devices=True,
        deals_batches=True,
        framework=None,
        native_path=None,
        memory_keys=(),
    ),
    replace(
        TORCH_DDP,
        name="kernel_split",
        version=1,
        path=f"{_CODE}.trainer:KernelSplitTrainer",
        precisions={"cpu": ("fp32", "bf16"), "gpu": ("fp32", "tf32", "bf16")},
        preload=(f"{_CODE}.trainer", *TORCH_PRELOADED),
        run_on=("cpu",),
        options={"shares": ("measured", "even"), "rebalance": ("off", "on")},
        check=check_kernel_split,
        takes_unequal_devices=True,
        splits_convolutions=True,
        framework=None,
        native_path=None,
        memory_keys=(),
    ),
)
