"""Operations and bytes of a PyTorch job's training step, counted on tensors without data.

FLOPs are PyTorch's own count (`torch.utils.flop_counter`): two for each multiply-accumulate of products and
convolutions, forward and backward. Attention is counted by its two products, and recurrent layers by theirs,
whichever kernel runs on a device. Bytes are those of the inputs and outputs of every operation that is no
view, and of one update of weights and slots: what a step moves if nothing is fused.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils.rnn import PackedSequence
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from workloads.jobs import JobError, TorchJob
from workloads.native.torch_blocks import find_blocks
from workloads.native.torch_depth import Counts, count_all, find_equal_list
from workloads.native.torch_samples import (
    batch_resizer,
    drawn_batches,
    first_batch,
    make_empty,
    num_values,
    unequal_samples,
)
from workloads.native.torch_step import JobLoss, load_weights, moved, replace_tensors, without_data
from workloads.spec import BatchLengths, BlockCost, JobCost
from workloads.traffic import block_traffic, count_values_moved
from workloads.with_torch.checkpointing import PRODUCTS

_SMALL, _LARGE = 2, 4
"""Batch sizes that are counted. The cost of every other size lies on the line through them."""

_SIZES_OF_UNEQUAL, _SIZES_WITHOUT_DATA = (8, 16), (32, 64)
"""The same of samples of unequal length: a larger batch is likelier padded to a long one."""

_COUNTED, _DRAWN = 4, 32  # batches of a size

_DEPTHS = (3, 2, 1)
"""Blocks that are counted of many equal ones."""

_DRAWN_SIZES = (1, 4, 16, 64, 256)

_OF_STEP = (
    "flops",
    "flops of 3x3 convolutions",
    "moved bytes",
    "forward flops of blocks",
    "forward flops of products of blocks",
    "forward bytes of blocks",
    "time steps of recurrent layers",
)
"""Counts of one step."""

_GRADIENT_BYTES = _FLOAT32_BYTES = 4
_BATCHED = 3  # axes of a sequence with a batch


class _Counts(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own class
    """Sums of the bytes that operations read and write, and of FLOPs of 3x3 convolutions and of products."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # likewise
        self.moved_bytes = 0
        self.winograd_flops = 0
        self.product_flops = 0

    def __torch_dispatch__(self, operation: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and count its inputs and outputs unless it is a view or a question."""
        output = operation(*args, **(kwargs or {}))
        if not operation.is_view and operation.namespace != "prim":  # which asks where a tensor lies
            tensors = (leaf for leaf in tree_leaves((args, kwargs, output)) if isinstance(leaf, Tensor))
            self.moved_bytes += sum(tensor.nbytes for tensor in tensors)
        kind = operation.overloadpacket
        if kind in _KERNELS and _is_winograd(*args[_KERNELS[kind] :]):
            self.winograd_flops += flop_registry[kind](*args, **(kwargs or {}), out_val=output)
        if operation in PRODUCTS:
            self.product_flops += flop_registry[kind](*args, **(kwargs or {}), out_val=output)
        return output


_KERNELS = {torch.ops.aten.convolution: 1, torch.ops.aten.convolution_backward: 2}
"""Operation -> place of the kernel among its arguments."""


def _is_winograd(
    kernel: Tensor,
    _bias: Any,
    stride: Any,
    _padding: Any,
    dilation: Any,
    is_transposed: bool,
    _output_padding: Any,
    groups: int,
    *_more: Any,
) -> bool:
    """Return whether a convolution is one of all channels by 3x3 kernels at every position."""
    is_dense = groups == 1 and not is_transposed
    return is_dense and tuple(kernel.shape[2:]) == (3, 3) and {*stride, *dilation} == {1}


class _Steps:
    """Counts of steps of a job.

    Args:
        few: many equal blocks: steps with a few of them are counted, from which those of all follow.
    """

    def __init__(self, job: TorchJob, few: nn.ModuleList | None = None) -> None:
        self.job = job
        self.compute_loss = JobLoss(job).train()
        self._few = few
        self.blocks = find_blocks(job.model, job.blocks) if few is None else few

    def count(self, batches: Sequence[Any]) -> tuple[NDArray[np.int64], Counts]:
        """Take a step on each batch; return the counts of each as a row of `_OF_STEP`, and of the model.

        Raises:
            ValueError: the counts do not grow by the same with each block.
        """
        count = partial(self._count_all, batches)
        if self._few is None:
            counts = count()
        else:
            counts = count_all(self._few, self.job.optimizers, count, depths=_DEPTHS)
        rows = [[counts[f"{number} {name}"] for name in _OF_STEP] for number in range(len(batches))]
        return np.array(rows), counts

    def _count_all(self, batches: Sequence[Any]) -> Counts:
        counts = {
            f"{number} {name}": value
            for number, batch in enumerate(batches)
            for name, value in zip(_OF_STEP, _count(self, batch), strict=True)
        }
        return {**counts, **_count_model(self)}

    @property
    def parts_of_blocks(self) -> list[nn.Module]:
        """All modules in the repeated blocks."""
        return [part for block in self.blocks for part in block.modules()]


def count_cost(job: TorchJob, build: Callable[[], TorchJob]) -> JobCost:
    """Count the cost of a job's step, without data where its code allows that.

    Args:
        job: it cannot be trained afterwards.
        build: builds it once more.

    Raises:
        JobError: a loss that is no scalar, or does not depend on the model; a model that is not built anew.
        Exception: any exception of the job's code in a step.
    """
    try:
        if few := find_equal_list(job.model, find_blocks(job.model, job.blocks)):
            if cost := _counted_of_few(_Steps(job, few)):
                return cost
            few_left, job = job.model, build()
            if job.model is few_left:
                raise JobError("build returns the same model again; expected a new one each time")
        return _counted_without_data(_Steps(job))
    except JobError:
        raise
    except Exception:  # noqa: BLE001  code that looks at values, which tensors without data do not have
        job = build()
        load_weights(job)
        if samples := unequal_samples(job):
            return _counted_unequal(_Steps(job), samples, sizes=_SIZES_OF_UNEQUAL)
        return _counted(_Steps(job), lambda size: first_batch(job, size))


def _counted_of_few(steps: _Steps) -> JobCost | None:
    try:
        return _counted_without_data(steps)
    except Exception:  # noqa: BLE001  a model that needs all of its blocks, or whose costs grow unevenly
        return None


def _counted_without_data(steps: _Steps) -> JobCost:
    job = steps.job
    resized, samples = batch_resizer(job), unequal_samples(job)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        replace_tensors(steps.compute_loss, job.optimizers, partial(without_data, mode))
        if samples:
            return _counted_unequal(steps, samples, sizes=_SIZES_WITHOUT_DATA, place=mode.from_tensor)
        return _counted(steps, lambda size: resized(size, make_empty))


def _counted(steps: _Steps, batch_of: Callable[[int], Any]) -> JobCost:
    (small, large), model = steps.count([batch_of(size) for size in (_SMALL, _LARGE)])
    of_sample = (large - small) / (_LARGE - _SMALL)
    return _cost(steps, model, of_sample=of_sample, of_step=small - _SMALL * of_sample)


def _counted_unequal(
    steps: _Steps,
    samples: Sequence[Any],
    *,
    sizes: tuple[int, int],
    place: Callable[[Tensor], Tensor] = lambda tensor: tensor,
) -> JobCost:
    """Count batches of drawn samples; a step costs a line over the values that they hold with padding."""
    job = steps.job
    with unset_fake_temporarily():  # collating many samples without data is slow
        drawn = [batch for size in sizes for batch in drawn_batches(job, samples, size, _COUNTED)]
        held = {size: _draw_values(job, samples, size) for size in _DRAWN_SIZES}
    values = np.array([num_values(batch) for batch in drawn])
    counts, model = steps.count([moved(batch, place) for batch in drawn])
    of_value, of_step = np.polyfit(values, counts, 1)
    of_step[-1] = counts[-_COUNTED:, -1].mean()  # time steps follow the length, not the number of samples
    counted = float(held[sizes[1]].mean())
    cost = _cost(steps, model, of_sample=of_value * counted, of_step=np.maximum(of_step, 0))
    return replace(
        cost, lengths=tuple(_describe_lengths(size, values, counted) for size, values in held.items())
    )


def _draw_values(job: TorchJob, samples: Sequence[Any], size: int) -> NDArray[np.float64]:
    """Return the values of a sample with its padding, of each of some drawn batches."""
    return np.array([num_values(batch) / size for batch in drawn_batches(job, samples, size, _DRAWN)])


def _describe_lengths(size: int, values: NDArray[np.float64], counted: float) -> BatchLengths:
    mean, deviation = float(values.mean()), float(values.std())
    return BatchLengths(samples=size, drawn=_DRAWN, mean=mean / counted, deviation=deviation / mean)


def _cost(
    steps: _Steps, model: Counts, *, of_sample: NDArray[np.float64], of_step: NDArray[np.float64]
) -> JobCost:
    """Make the cost of the counts of a sample, of a step of any size, and of the model."""
    network = steps.job.network
    flops, winograd_flops, moved_bytes, *of_blocks, _ = map(float, of_sample)
    if network is not None:
        moved_bytes = float(_FLOAT32_BYTES * count_values_moved(network))
        of_blocks[-1] = block_traffic(network)[0]
    flops_of_step, _, bytes_of_step, *_, block_bytes, time_steps = map(float, of_step)
    return JobCost(
        flops_per_sample=flops,
        flops_per_step=max(0.0, flops_of_step),
        winograd_flops_per_sample=winograd_flops,
        value_bytes_per_sample=moved_bytes,
        weight_bytes=max(0.0, bytes_of_step) + model["update bytes"],
        gradient_bytes=float(_GRADIENT_BYTES * model["gradients"]),
        num_weights=model["weights"],
        layers=model["layers"],
        time_steps=round(time_steps),
        recurrent_bytes=0.0,  # every time step's operations were counted
        has_unused_weights=model["parameters without a gradient"] > 0,
        held_bytes=float(model["held bytes"]),
        trained_bytes=float(model["trained bytes"]),
        slot_bytes=float(model["slot bytes"]),
        blocks=_describe_blocks(steps, model, of_blocks, max(0.0, block_bytes)),
        has_packed_weights=model["packed tensors"] > 0,
    )


def _count_model(steps: _Steps) -> Counts:
    """Count the model's weights and layers, and the optimizers' state, after a step."""
    groups = [group for optimizer in steps.job.optimizers for group in optimizer.param_groups]
    updated = [weight for group in groups for weight in group["params"]]
    trained = [weight for weight in steps.compute_loss.parameters() if weight.requires_grad]
    learning = [weight for weight in trained if weight.grad is not None]
    held = (*steps.compute_loss.parameters(), *steps.compute_loss.buffers())
    slot_bytes = _slot_bytes(steps.job)
    return {
        "weights": sum(weight.numel() for weight in trained),
        "gradients": sum(weight.numel() for weight in learning),
        "parameters without a gradient": len(trained) - len(learning),
        "layers": sum(map(_has_own_weights, steps.compute_loss.modules())),
        "layers of blocks": sum(map(_has_own_weights, steps.parts_of_blocks)),
        "held bytes": sum(tensor.nbytes for tensor in held),
        "trained bytes": sum(weight.nbytes for weight in trained),
        "slot bytes": slot_bytes,
        # gradients are read, weights and slots are read and written
        "update bytes": 2 * slot_bytes + 3 * sum(weight.nbytes for weight in updated),
        "packed tensors": sum(tensor.dtype == torch.uint8 for tensor in held),
    }


def _describe_blocks(
    steps: _Steps, model: Counts, of_sample: Sequence[float], weight_bytes: float
) -> BlockCost | None:
    """Return the cost of the blocks; None where they cannot be computed again."""
    parts = steps.parts_of_blocks
    if not parts or any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in parts):
        return None
    flops, product_flops, value_bytes = of_sample
    return BlockCost(
        flops_per_sample=flops,
        product_flops_per_sample=product_flops,
        value_bytes_per_sample=value_bytes,
        weight_bytes=weight_bytes,
        layers=model["layers of blocks"],
    )


def _has_own_weights(part: nn.Module) -> bool:
    return any(True for _ in part.parameters(recurse=False))


def _count(steps: _Steps, batch: Any) -> tuple[int, ...]:
    """Take one step, and return its counts by the names of `_OF_STEP`."""
    job, compute_loss = steps.job, steps.compute_loss
    for optimizer in job.optimizers:
        optimizer.zero_grad()
    with ExitStack() as modes:
        for mode in (sdpa_kernel(SDPBackend.MATH), _without_onednn()):
            modes.enter_context(mode)
        flops = modes.enter_context(FlopCounterMode(display=False))
        counts = modes.enter_context(_Counts())
        sequences = modes.enter_context(_sequences(compute_loss))
        in_blocks = modes.enter_context(
            _sums_in_blocks(
                steps, lambda: (flops.get_total_flops(), counts.product_flops, counts.moved_bytes)
            )
        )
        loss = compute_loss(batch)
        if not loss.requires_grad:
            raise JobError("the loss does not depend on a parameter of the model")
        loss.backward()
    for optimizer in job.optimizers:
        optimizer.step()
    whole = flops.get_total_flops(), counts.winograd_flops, counts.moved_bytes
    return (*whole, *map(int, in_blocks), sum(sequences))


@contextmanager
def _sums_in_blocks(steps: _Steps, read: Callable[[], tuple[int, ...]]) -> Iterator[NDArray[np.int64]]:
    """Sum what counters grow by in the forward passes of the repeated blocks."""
    sums, started = np.zeros(3, np.int64), np.zeros(3, np.int64)

    def start(_block: nn.Module, _inputs: Any) -> None:
        started[:] = read()

    def add(_block: nn.Module, _inputs: Any, _output: Any) -> None:
        sums[:] += np.array(read()) - started

    hooks = [
        hook
        for block in steps.blocks
        for hook in (block.register_forward_pre_hook(start), block.register_forward_hook(add))
    ]
    try:
        yield sums
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _sequences(model: nn.Module) -> Iterator[list[int]]:
    """Collect the time steps that PyTorch's recurrent layers run through."""
    time_steps: list[int] = []

    def add(layers: nn.RNNBase, _inputs: Any, output: Any) -> None:
        time_steps.append(layers.num_layers * _length(output[0], is_batch_first=layers.batch_first))

    hooks = [part.register_forward_hook(add) for part in model.modules() if isinstance(part, nn.RNNBase)]
    try:
        yield time_steps
    finally:
        for hook in hooks:
            hook.remove()


def _length(sequence: Any, *, is_batch_first: bool) -> int:
    """Return the time steps of a sequence, of the longest of a packed one."""
    if isinstance(sequence, PackedSequence):
        return len(sequence.batch_sizes)
    return int(sequence.shape[1 if is_batch_first and sequence.ndim == _BATCHED else 0])


def _slot_bytes(job: TorchJob) -> int:
    """Return the bytes of the optimizers' state, counters of steps left out."""
    states = [kept for optimizer in job.optimizers for kept in optimizer.state.values()]
    slots = (slot for kept in states for slot in kept.values())
    return sum(slot.nbytes for slot in slots if isinstance(slot, Tensor) and slot.ndim)


@contextmanager
def _without_onednn() -> Iterator[None]:
    """Let recurrent layers be made of products, which are counted."""
    was_enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(was_enabled)
