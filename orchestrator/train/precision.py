"""Precision labels: settings in each framework, and the label that matches observed settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.core.device import DeviceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """One label as values; parameters, gradients' sums and logits are float32 under each.

    Attributes:
        compute_dtype: type of convolutions and matrix products, by its common name in torch and TensorFlow.
        keras_policy: the Keras policy that gives this dtype.
        tf32: a GPU may round the inputs of float32 products to TF32; set either way, for defaults differ.
        xla_matmul: passes of float32 products on a TPU: `highest` is six of bfloat16, `default` one.
        scale_loss: multiply the loss, so that gradients of float16 do not underflow.
        float8: linear layers multiply in float8 (`workloads.with_torch.float8`), all else in `compute_dtype`.
    """

    compute_dtype: str
    keras_policy: str
    tf32: bool = False
    xla_matmul: str = "default"
    scale_loss: bool = False
    float8: bool = False

    @property
    def value_bytes(self) -> int:
        """Bytes of one value of a feature map."""
        return 4 if self.compute_dtype == "float32" else 2


PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp32": Precision(compute_dtype="float32", keras_policy="float32", xla_matmul="highest"),
        "tf32": Precision(compute_dtype="float32", keras_policy="float32", tf32=True),
        "bf16": Precision(compute_dtype="bfloat16", keras_policy="mixed_bfloat16"),
        "fp16": Precision(compute_dtype="float16", keras_policy="mixed_float16", scale_loss=True),
        "fp8": Precision(compute_dtype="bfloat16", keras_policy="mixed_bfloat16", float8=True),
        "tpu_default": Precision(compute_dtype="float32", keras_policy="float32"),
    }
)

_REDUCED_DTYPES = {"bfloat16": "bf16", "float16": "fp16"}
_ROUNDED_FLOAT32: Mapping[DeviceKind, str] = {"gpu": "tf32", "tpu": "tpu_default"}


def find_precision_label(
    kind: DeviceKind, compute_dtype: str, *, float32_is_rounded: bool, has_float8: bool = False
) -> str:
    """Return the label of the observed precision.

    Args:
        compute_dtype: type of the result of a step's first convolution or matrix product.
        float32_is_rounded: the framework's switches let this device round the inputs of float32 products.
        has_float8: linear layers multiply in float8, and give `compute_dtype`.

    Returns:
        A key of `PRECISIONS`, or the dtype's own name where no label means it.
    """
    if has_float8 and compute_dtype == "bfloat16":
        return "fp8"
    if compute_dtype != "float32":
        return _REDUCED_DTYPES.get(compute_dtype, compute_dtype)
    return _ROUNDED_FLOAT32.get(kind, "fp32") if float32_is_rounded else "fp32"
