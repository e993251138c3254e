"""Recurrent cells on XLA devices: one loop over the steps, both directions side by side.

`scan` differentiates too, but its derivative needs jax when a mesh of devices is in use (torch_xla 2.9), and
adds up a kernel's gradient step by step. Here the derivative is a second scan, and one product afterwards.

Arrays are [step, direction, batch, unit] or, of gates, [step, direction, batch, gate * unit].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch_xla.experimental.scan import scan

Step = Callable[[tuple[Tensor, ...], Any], tuple[tuple[Tensor, ...], tuple[Tensor, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell of `num_states` states, the hidden one first.

    Attributes:
        step: (states, kernel, bias), gates of the input -> the same, (states, what the derivative needs).
        back: (derivatives by the states, transposed kernel), (derivative by this step's output, what was
            kept, the last state before the step) -> the same, derivatives by the gates of the input and by
            the recurrent product: once where they are one.
    """

    num_states: int
    step: Step
    back: Step


def scanned(cell: Literal["lstm", "gru"], gates: Tensor, *, kernels: Tensor, biases: Tensor) -> Tensor:
    """Hidden states of all steps, from the input's part of the gates, in PyTorch's order of gates.

    Args:
        kernels: [direction, unit, gate * unit].
        biases: [direction, 1, gate * unit].
    """
    hidden: Tensor = _Scan.apply(_CELLS[cell], gates, kernels, biases)  # type: ignore[no-untyped-call]  # torch
    return hidden


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, cell: _Cell, gates: Tensor, *weights: Tensor) -> Tensor:
        kernels, _ = weights
        start = _zeros_like(gates[0, ..., : kernels.shape[1]], cell.num_states)
        _, (*states, kept) = scan(cell.step, (*start, *weights), gates, is_fn_pure=True)
        context.cell = cell
        context.save_for_backward(kernels, kept, *states)
        hidden: Tensor = states[0]
        return hidden

    @staticmethod
    def backward(context: Any, derivative: Tensor) -> tuple[Tensor | None, ...]:
        kernels, kept, *states = context.saved_tensors
        before = [_shifted(state) for state in states]
        start = _zeros_like(derivative[0], context.cell.num_states)
        steps = tuple(tensor.flip(0) for tensor in (derivative, kept, before[-1]))
        _, gradients = scan(context.cell.back, (*start, kernels.mT), steps, is_fn_pure=True)
        gates, products = gradients[0].flip(0), gradients[-1].flip(0)
        by_kernels = torch.einsum("tdbu,tdbg->dug", before[0], products)
        return None, gates, by_kernels, products.sum((0, 2))[:, None]


def _zeros_like(state: Tensor, count: int) -> list[Tensor]:
    return [torch.zeros_like(state) for _ in range(count)]


def _shifted(states: Tensor) -> Tensor:
    """The state before each step."""
    return torch.cat((torch.zeros_like(states[:1]), states[:-1]))


def _lstm_step(carry: tuple[Tensor, ...], gates: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    hidden, state, kernel, bias = carry
    raised = (gates + torch.bmm(hidden, kernel) + bias).chunk(4, -1)
    enter, keep, leave = (torch.sigmoid(raised[index]) for index in (0, 1, 3))
    new = torch.tanh(raised[2])
    state = keep * state + enter * new
    shown = torch.tanh(state)
    hidden = leave * shown
    kept = torch.cat((enter, keep, new, leave, shown), -1)
    return (hidden, state, kernel, bias), (hidden.clone(), state.clone(), kept)


def _lstm_back(carry: tuple[Tensor, ...], step: Any) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    by_hidden, by_state, kernel = carry
    derivative, kept, state = step
    enter, keep, new, leave, shown = kept.chunk(5, -1)
    by_hidden = by_hidden + derivative
    by_state = by_state + by_hidden * leave * (1 - shown * shown)
    by_gates = torch.cat(
        (
            by_state * new * enter * (1 - enter),
            by_state * state * keep * (1 - keep),
            by_state * enter * (1 - new * new),
            by_hidden * shown * leave * (1 - leave),
        ),
        -1,
    )
    return (torch.bmm(by_gates, kernel), by_state * keep, kernel), (by_gates,)


def _gru_step(carry: tuple[Tensor, ...], gates: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    hidden, kernel, bias = carry
    of_input = gates.chunk(3, -1)
    of_hidden = (torch.bmm(hidden, kernel) + bias).chunk(3, -1)
    reset, update = (torch.sigmoid(of_input[index] + of_hidden[index]) for index in (0, 1))
    new = torch.tanh(of_input[2] + reset * of_hidden[2])
    hidden = new + update * (hidden - new)
    kept = torch.cat((reset, update, new, of_hidden[2]), -1)
    return (hidden, kernel, bias), (hidden.clone(), kept)


def _gru_back(carry: tuple[Tensor, ...], step: Any) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    by_hidden, kernel = carry
    derivative, kept, hidden = step
    reset, update, new, of_hidden = kept.chunk(4, -1)
    by_hidden = by_hidden + derivative
    by_new = by_hidden * (1 - update) * (1 - new * new)
    by_update = by_hidden * (hidden - new) * update * (1 - update)
    by_reset = by_new * of_hidden * reset * (1 - reset)
    by_gates = torch.cat((by_reset, by_update, by_new), -1)
    by_products = torch.cat((by_reset, by_update, by_new * reset), -1)
    return (by_hidden * update + torch.bmm(by_products, kernel), kernel), (by_gates, by_products)


_CELLS = {
    "lstm": _Cell(num_states=2, step=_lstm_step, back=_lstm_back),
    "gru": _Cell(num_states=1, step=_gru_step, back=_gru_back),
}
