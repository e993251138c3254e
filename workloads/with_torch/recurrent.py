"""Recurrent layers in PyTorch: its own fused cells, and a scan where a device has none."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules import rnn  # torch_xla 2.9 puts another GRU in torch.nn, which warns of two directions

from workloads.layers import Recurrent
from workloads.with_torch.weight import Weight

_FUSED = ("CudnnRnnBackward", "MiopenRnnBackward", "MkldnnRnnLayerBackward")
"""Autograd's names of the kernels that compute a whole sequence at once."""

_GRU_GATES = (1, 0, 2)
"""PyTorch has reset, update, new."""


class BidirectionalCell(nn.Module):
    """[batch, step, unit] -> [batch, 2 * unit], or every step of it: the forward direction's units first.

    `nn.LSTM` or `nn.GRU`, which call cuDNN on a GPU and oneDNN for an LSTM on a CPU. An XLA device scans.
    Under autocast all of it, the output too, has autocast's dtype.
    """

    def __init__(self, layer: Recurrent, inputs: int) -> None:
        super().__init__()
        self._layer = layer
        self._inputs = inputs
        kind = rnn.LSTM if layer.cell == "lstm" else rnn.GRU
        self.native = kind(inputs, layer.units, batch_first=True, bidirectional=True)
        if layer.cell == "lstm":
            for _, direction in self._directions():
                _silence(direction["bias_hh"])

    def weights(self) -> dict[str, Weight]:
        """Return parameters by canonical name, without an LSTM's second bias, which stays zero."""
        is_gru = self._layer.cell == "gru"
        gates = _GRU_GATES if is_gru else None
        weights_by_name: dict[str, Weight] = {}
        for name, direction in self._directions():
            for kernel, own in (("kernel", "weight_ih"), ("recurrent_kernel", "weight_hh")):
                weights_by_name[f"{name}_{kernel}"] = Weight(tensor=direction[own], axes=(1, 0), gates=gates)
            below = direction["bias_hh"] if is_gru else None
            weights_by_name[f"{name}_bias"] = Weight(tensor=direction["bias_ih"], below=below, gates=gates)
        return weights_by_name

    def forward(self, sequence: Tensor) -> Tensor:
        """The last step of each direction, or all steps."""
        lowered = _in_compute_dtype(sequence)
        steps = self._scanned(lowered) if lowered.device.type == "xla" else self._native_steps(lowered)
        if self._layer.sequences:
            return steps
        forwards, backwards = steps.chunk(2, -1)
        return torch.cat((forwards[:, -1], backwards[:, 0]), -1)

    def is_fused(self) -> bool:
        """Return whether one kernel computes a sequence, tried with a short one on this device at this
        precision.
        """
        weight = next(self.parameters())
        if weight.device.type == "xla":
            return False
        with torch.enable_grad():
            probe = weight.new_zeros(1, 2, self._inputs).requires_grad_()
            return any(name.startswith(_FUSED) for name in _backward_names(self(probe)))

    def _directions(self) -> Iterator[tuple[str, dict[str, Tensor]]]:
        for name, suffix in (("forward", "_l0"), ("backward", "_l0_reverse")):
            yield (
                name,
                {
                    name: getattr(self.native, name + suffix)
                    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                },
            )

    def _native_steps(self, sequence: Tensor) -> Tensor:
        """All steps by PyTorch's own cells.

        Autocast casts to float16 what cuDNN's cells get, also where its own dtype is bfloat16: an H100 showed
        it (PyTorch 2.11, aten/src/ATen/cudnn/AutocastRNN.cpp). There the weights are cast here.
        """
        if sequence.device.type == "cuda" and sequence.dtype == torch.bfloat16:
            with torch.autocast("cuda", enabled=False):
                return run_steps_in_dtype(sequence, self.native)
        steps: Tensor = self.native(sequence)[0]
        return steps

    def _scanned(self, sequence: Tensor) -> Tensor:
        """The same, of operations that XLA compiles once for all steps: unrolled, 80 steps took 92 s."""
        from workloads.with_torch.scanned import scanned

        (_, forwards), (_, backwards) = self._directions()
        directions = ((forwards, sequence), (backwards, sequence.flip(1)))
        gates = [functional.linear(inputs, own["weight_ih"], own["bias_ih"]) for own, inputs in directions]
        kernels = [own["weight_hh"].t() for own, _ in directions]
        biases = [own["bias_hh"][None] for own, _ in directions]
        dtype = gates[0].dtype
        hidden = scanned(
            self._layer.cell,
            torch.stack(gates).permute(2, 0, 1, 3),
            kernels=torch.stack(kernels).to(dtype),
            biases=torch.stack(biases).to(dtype),
        )
        return torch.cat((hidden[:, 0], hidden[:, 1].flip(0)), -1).transpose(0, 1)


def fused_recurrent(model: nn.Module) -> bool | None:
    """Return whether fused kernels compute all recurrent cells of a model; None if it has none.

    Ask under the autocast of a step: the kernels that there are depend on the dtype.
    """
    cells = [module for module in model.modules() if isinstance(module, BidirectionalCell)]
    return all(cell.is_fused() for cell in cells) if cells else None


def run_steps_in_dtype(sequence: Tensor, cells: nn.RNNBase) -> Tensor:
    """Compute all steps of recurrent cells with their weights cast to the dtype of the sequence."""
    weights = {name: weight.to(sequence.dtype) for name, weight in cells.named_parameters()}
    steps: Tensor = torch.func.functional_call(cells, weights, (sequence,))[0]
    return steps


def _silence(bias: Tensor) -> None:
    """The sum of both biases is all that an LSTM has of them."""
    with torch.no_grad():
        bias.zero_()
    bias.requires_grad_(False)


def _in_compute_dtype(sequence: Tensor) -> Tensor:
    """Autocast lowers the products alone: a GRU on a CPU would keep its state in float32."""
    kind = sequence.device.type
    return sequence.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else sequence


def _backward_names(output: Tensor) -> Iterator[str]:
    """Names of the operations that autograd will go through."""
    waiting, seen = [output.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            yield node.name()
            waiting += [function for function, _ in node.next_functions]
