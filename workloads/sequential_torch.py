"""Builds a workload's sequential network in PyTorch; twin of `sequential_keras.py`."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from workloads.initial import State, initial_weights
from workloads.shapes import Shape, shapes_of
from workloads.spec import Conv2d, Dense, Flatten, Layer, MaxPool2d, WorkloadSpec


def build(spec: WorkloadSpec, seed: int) -> nn.Module:
    """Make the network on the CPU, with the initial weights of `seed`."""
    modules = OrderedDict(
        named
        for index, (layer, inputs) in enumerate(zip(spec.layers, shapes_of(spec), strict=False))
        for named in _modules_of(layer, index, inputs=inputs)
    )
    model = _Network(modules)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in torch's own types
    load_state(model, initial_weights(spec, seed))
    return model


def state_of(model: nn.Module) -> State:
    """Copy the parameters out, by canonical name and in canonical layout (`workloads/initial.py`)."""
    return {
        name: np.array(_canonical(parameter.detach().cpu().numpy()), order="C")
        for name, parameter in _named(model)
    }


def load_state(model: nn.Module, state: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Overwrite the parameters with a state of canonical names and layout."""
    with torch.no_grad():
        for name, parameter in _named(model):
            parameter.copy_(torch.from_numpy(_native(state[name])))


class _Network(nn.Sequential):
    """images: [batch, height, width, channel] float32 -> logits: [batch, num_classes] float32.

    Children are named after the index of their layer in the spec.
    """

    def forward(self, images: Tensor) -> Tensor:
        *hidden, last = self.children()
        features = images.permute(0, 3, 1, 2)  # a channels_last view: nothing is copied
        for module in hidden:
            features = module(features)
        with torch.autocast(features.device.type, enabled=False):  # logits are float32 at every precision
            logits: Tensor = last(features.float())
        return logits


class _ChannelsFastest(nn.Module):
    """[batch, channel, height, width] -> [batch, height * width * channel]: channels fastest, as in Keras."""

    def forward(self, features: Tensor) -> Tensor:
        return features.permute(0, 2, 3, 1).flatten(1)


def _modules_of(layer: Layer, index: int, *, inputs: Shape) -> Iterator[tuple[str, nn.Module]]:
    match layer:
        case Conv2d():
            yield (
                f"{index}",
                nn.Conv2d(
                    inputs[-1], layer.filters, layer.kernel, stride=layer.stride, padding=layer.padding
                ),
            )
        case MaxPool2d():
            yield f"{index}", nn.MaxPool2d(layer.size)
        case Flatten():
            yield f"{index}", _ChannelsFastest()
        case Dense():
            yield f"{index}", nn.Linear(inputs[-1], layer.units)
    if isinstance(layer, (Conv2d, Dense)) and layer.activation == "relu":
        yield f"{index}_relu", nn.ReLU()


def _named(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Parameters by canonical name: what PyTorch calls a weight is a kernel."""
    for name, parameter in model.named_parameters():
        yield name.replace("weight", "kernel"), parameter


def _canonical(native: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """PyTorch's (filter, channel, height, width) and (unit, input) as `shapes.kernel_shapes_of` says."""
    return native.transpose(2, 3, 1, 0) if native.ndim == 4 else native.T


def _native(canonical: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The inverse of `_canonical`."""
    return canonical.transpose(3, 2, 0, 1) if canonical.ndim == 4 else canonical.T
