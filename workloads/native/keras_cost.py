"""Operations and bytes of a Keras job's training step, counted in its traced graph; nothing is executed.

Counted are products and convolutions, two operations for each multiply-accumulate. A loop counts as often as
it runs. Bytes are those of the inputs and outputs of operations that compute: what a step moves if nothing is
fused.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from workloads.jobs import JobError, KerasJob
from workloads.native.keras_step import compute_loss, first_batch
from workloads.spec import JobCost

_SMALL, _LARGE = 2, 4
"""Batch sizes that are counted. The cost of every other size lies on the line through them."""

_FLOAT32_BYTES = 4
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_LOOPS = ("While", "StatelessWhile")
_VIEWS = frozenset(
    (
        *(*_CALLS, *_LOOPS, "Const", "ExpandDims", "Identity", "IdentityN", "NoOp", "Placeholder"),
        *("PreventGradient", "ReadVariableOp", "Reshape", "Shape", "Size", "Squeeze", "StopGradient"),
        "StridedSlice",
    )
)


def count_cost(job: KerasJob) -> JobCost:
    """Count the cost of a job's step.

    Raises:
        JobError: a loop of unknown length.
        Exception: any exception of the job's code in a step.
    """
    weights = job.model.trainable_variables
    has_gradient: list[bool] = []

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def step(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = compute_loss(job, batch)
        gradients = tape.gradient(loss, weights)
        has_gradient[:] = [gradient is not None for gradient in gradients]
        return [gradient for gradient in gradients if gradient is not None]

    small, large = (
        _count(step.get_concrete_function(_build_signature(first_batch(job, size))).graph)
        for size in (_SMALL, _LARGE)
    )
    of_sample = (large - small) / (_LARGE - _SMALL)
    flops, winograd_flops, moved_bytes, _ = map(float, of_sample)
    flops_of_step, _, bytes_of_step, time_steps = map(float, small - _SMALL * of_sample)
    if not any(has_gradient):
        raise JobError("the loss does not depend on a parameter of the model")
    num_weights = sum(math.prod(weight.shape) for weight in weights)
    slots = sum(math.prod(slot.shape) for slot in _build_slots(job))
    update_bytes = _FLOAT32_BYTES * (3 * num_weights + 2 * slots)  # a weight and its gradient are read
    return JobCost(
        flops_per_sample=flops,
        flops_per_step=max(0.0, flops_of_step),
        winograd_flops_per_sample=winograd_flops,
        value_bytes_per_sample=moved_bytes,
        weight_bytes=max(0.0, bytes_of_step) + update_bytes,
        gradient_bytes=float(_FLOAT32_BYTES * num_weights),
        num_weights=num_weights,
        layers=sum(bool(layer._trainable_variables) for layer in job.model._flatten_layers()),
        time_steps=round(time_steps),
        recurrent_bytes=0.0,  # every time step's operations were counted
        has_unused_weights=not all(has_gradient),
    )


def _build_slots(job: KerasJob) -> list[Any]:
    """Build a job's optimizer, and return what it keeps beside counters."""
    if not job.optimizer.built:
        job.optimizer.build(job.model.trainable_variables)
    return [variable for variable in job.optimizer.variables if len(variable.shape)]


def _build_signature(batch: Any) -> Any:
    return tf.nest.map_structure(lambda array: tf.TensorSpec(array.shape, array.dtype), batch)


def _count(graph: Any) -> NDArray[np.float64]:
    """Return the FLOPs, those in 3x3 convolutions, the bytes and the time steps of a graph and of the
    functions that it calls.
    """
    counts = np.zeros(4)
    for operation, times, trips in _list_all(graph, 1):
        flops = _flops(operation)
        time_steps = trips / 2  # forward, and in the loop of the gradient
        counts += np.multiply(times, (flops, flops * _is_winograd(operation), _bytes(operation), time_steps))
    return counts


def _list_all(graph: Any, times: int) -> Iterator[tuple[Any, int, int]]:
    """Yield every operation of a graph and of the functions that it calls, how often it runs, and the
    iterations of a loop.
    """
    operations = _needed(graph)
    longest = max((trips for trips in map(_trips, operations) if trips is not None), default=0)
    for operation in operations:
        is_loop = operation.type in _LOOPS
        trips = (_trips(operation) or longest) if is_loop else 0  # a gradient's loop is as long as the other
        yield operation, times, trips
        if operation.type in _CALLS:
            yield from _list_all(_called(graph, operation, "f"), times)
        elif is_loop:
            if not trips:
                raise JobError(f"loop {operation.name} has an unknown length; give the model a fixed one")
            yield from _list_all(_called(graph, operation, "body"), times * trips)


def _called(graph: Any, operation: Any, attribute: str) -> Any:
    """Return the graph of a function, with the shapes that were known when it was traced."""
    return graph._get_function(operation.get_attr(attribute).name).graph  # TensorFlow has no public way


def _needed(graph: Any) -> list[Any]:
    """Return the operations that results depend on: TensorFlow prunes all others before it runs a graph."""
    needed: dict[str, Any] = {}
    waiting = [*(value.op for value in graph.outputs), *graph.control_outputs]
    while waiting:
        operation = waiting.pop()
        if operation.name not in needed:
            needed[operation.name] = operation
            waiting += [*(value.op for value in operation.inputs), *operation.control_inputs]
    return list(needed.values())


def _trips(operation: Any) -> int | None:
    """Return the largest number of iterations of a loop: the second input of TensorFlow's while_v2."""
    if operation.type not in _LOOPS:
        return None
    most = operation.inputs[1]
    value = tf.get_static_value(most.op.inputs[0] if most.op.type == "Max" else most)
    return int(np.max(value)) if value is not None and np.max(value) > 0 else None


def _flops(operation: Any) -> float:
    count = _FLOPS.get(operation.type)
    return 2.0 * count(operation) if count else 0.0


def _is_winograd(operation: Any) -> bool:
    """Return whether it is a convolution of all channels by 3x3 kernels at every position, or a gradient."""
    if operation.type not in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"):
        return False
    of_filter = operation.type == "Conv2DBackpropFilter"
    kernel = operation.outputs[0] if of_filter else operation.inputs[1]
    images = operation.outputs[0] if operation.type == "Conv2DBackpropInput" else operation.inputs[0]
    channels = images.shape[1 if operation.get_attr("data_format") == b"NCHW" else -1]
    return tuple(kernel.shape[:3]) == (3, 3, channels) and set(operation.get_attr("strides")) == {1}


def _bytes(operation: Any) -> float:
    if operation.type in _VIEWS:
        return 0.0
    return float(sum(_size(value) * value.dtype.size for value in (*operation.inputs, *operation.outputs)))


def _size(value: Any) -> int:
    if value.dtype in (tf.resource, tf.variant, tf.string):
        return 0
    return int(value.shape.num_elements() or 0)


def _product(operation: Any, transposed: str) -> float:
    length = operation.inputs[0].shape[-2 if operation.get_attr(transposed) else -1]
    if length is None or operation.outputs[0].shape.num_elements() is None:
        raise JobError(f"product {operation.name} has an unknown shape; give the model's input a fixed one")
    return float(_size(operation.outputs[0]) * length)


def _convolution(positions: Any, kernel: Any) -> float:
    """Return the multiply-accumulates of a kernel [..., input channel, filter] at these outputs."""
    return float(_size(positions) * math.prod(kernel.shape[:-1]))


def _depthwise(positions: Any, kernel: Any) -> float:
    return float(_size(positions) * math.prod(kernel.shape[:-2]))


def _einsum(operation: Any) -> float:
    """Return the product of the lengths of all axes; an ellipsis is not counted."""
    inputs = operation.get_attr("equation").decode().partition("->")[0].split(",")
    lengths: dict[str, int] = {}
    for labels, value in zip(inputs, operation.inputs, strict=True):
        lengths |= dict(zip(labels, value.shape, strict=False))
    return float(math.prod(lengths.values())) if len(inputs) > 1 else 0.0


_FLOPS: Mapping[str, Callable[[Any], float]] = {
    "MatMul": lambda operation: _product(operation, "transpose_a"),
    "BatchMatMulV2": lambda operation: _product(operation, "adj_x"),
    "BatchMatMulV3": lambda operation: _product(operation, "adj_x"),
    "Conv2D": lambda operation: _convolution(operation.outputs[0], operation.inputs[1]),
    "Conv2DBackpropInput": lambda operation: _convolution(operation.inputs[2], operation.inputs[1]),
    "Conv2DBackpropFilter": lambda operation: _convolution(operation.inputs[2], operation.outputs[0]),
    "Conv3D": lambda operation: _convolution(operation.outputs[0], operation.inputs[1]),
    "Conv3DBackpropInputV2": lambda operation: _convolution(operation.inputs[2], operation.inputs[1]),
    "Conv3DBackpropFilterV2": lambda operation: _convolution(operation.inputs[2], operation.outputs[0]),
    "DepthwiseConv2dNative": lambda operation: _depthwise(operation.outputs[0], operation.inputs[1]),
    "DepthwiseConv2dNativeBackpropInput": lambda operation: _depthwise(
        operation.inputs[2], operation.inputs[1]
    ),
    "DepthwiseConv2dNativeBackpropFilter": lambda operation: _depthwise(
        operation.inputs[2], operation.outputs[0]
    ),
    "Einsum": _einsum,
}
"""Type of an operation -> its multiply-accumulates."""
