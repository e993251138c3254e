"""Means over the CPU hosts of a torch_xla trial: XLA has no collectives between their processes."""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch_xla.core import xla_model


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Overwrite the gradients that there are with their means over all hosts, in one message.

    What is recorded so far runs first: a step is then two programs, with the message between them.
    """
    gradients = [each.grad for each in parameters if each.grad is not None]
    device = gradients[0].device
    message = torch.cat([each.flatten() for each in gradients]).cpu()
    (mean,) = xla_model.send_cpu_data_to_device([mean_over_hosts(message)], device)
    for gradient, part in zip(gradients, mean.split([each.numel() for each in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def mean_over_hosts(values: Tensor) -> Tensor:
    """Of a tensor in host memory."""
    total = values.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()
