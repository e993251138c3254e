"""Batch normalisation over the global batch in PyTorch, for any number of processes."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from workloads.layers import BatchNorm


class GlobalBatchNorm(nn.Module):
    """Batch normalisation over the global batch: with several processes their statistics are summed first.

    The moving variance is of the biased one, as in Keras; PyTorch's own keeps the unbiased.

    Attributes:
        has_whole_batch: this process alone normalises, and sums with no other.
        share_weight: samples of this process over their mean number, where shares of a batch are not equal.
    """

    moving_mean: Tensor
    moving_variance: Tensor

    def __init__(self, layer: BatchNorm, channels: int) -> None:
        super().__init__()
        self._momentum, self._epsilon = layer.momentum, layer.epsilon
        self.has_whole_batch = False
        self.share_weight = 1.0
        if layer.scale:
            self.gamma = nn.Parameter(torch.ones(channels))
        self.beta = nn.Parameter(torch.zeros(channels))
        self.register_buffer("moving_mean", torch.zeros(channels))
        self.register_buffer("moving_variance", torch.ones(channels))

    def forward(self, features: Tensor) -> Tensor:
        """[batch, channel, …] -> the same."""
        gamma = getattr(self, "gamma", None)
        if not self.training:
            return functional.batch_norm(
                features, self.moving_mean, self.moving_variance, gamma, self.beta, eps=self._epsilon
            )
        axes = [0, *range(2, features.ndim)]
        if not self.has_whole_batch and dist.is_initialized() and dist.get_world_size() > 1:
            precise = features.to(self.moving_mean.dtype)
            mean, variance = _global_moments(precise, axes, weight=self.share_weight)
            normal = _normalised(features, mean, variance, epsilon=self._epsilon, gamma=gamma, beta=self.beta)
        else:
            mean, unbiased = torch.zeros_like(self.moving_mean), torch.zeros_like(self.moving_mean)
            normal = functional.batch_norm(  # with momentum 1 it leaves its own moments there
                features, mean, unbiased, gamma, self.beta, training=True, momentum=1.0, eps=self._epsilon
            )
            count = features.numel() // features.shape[1]
            variance = unbiased * ((count - 1) / count)
        self._keep(mean, variance)
        return normal

    @torch.no_grad()
    def _keep(self, mean: Tensor, variance: Tensor) -> None:
        self.moving_mean.lerp_(mean, 1 - self._momentum)
        self.moving_variance.lerp_(variance, 1 - self._momentum)


def _global_moments(features: Tensor, axes: list[int], *, weight: float) -> tuple[Tensor, Tensor]:
    """Mean and biased variance of each channel over the samples of all processes."""
    own = weight * torch.stack([features.mean(axes), features.square().mean(axes)])
    mean, square = _AllReduceMean.apply(own)  # type: ignore[no-untyped-call]  # torch types no Function.apply
    return mean, square - mean.square()


class _AllReduceMean(torch.autograd.Function):
    """Mean over the processes. Each one's loss depends on it, so its gradient is the mean of theirs."""

    @staticmethod
    def forward(_context: object, value: Tensor) -> Tensor:
        """Mean over the processes."""
        return _mean_of_processes(value)

    @staticmethod
    def backward(_context: object, gradient: Tensor) -> Tensor:
        """The sum over processes of what each asks of the mean, over their number."""
        return _mean_of_processes(gradient)


def _mean_of_processes(value: Tensor) -> Tensor:
    """Exchange through host memory on XLA's CPU devices, the only ones with a group of processes."""
    total = value.cpu() if value.device.type == "xla" else value.contiguous().clone()
    dist.all_reduce(total)
    return (total / dist.get_world_size()).to(value.device)


def _normalised(
    features: Tensor, mean: Tensor, variance: Tensor, *, epsilon: float, gamma: Tensor | None, beta: Tensor
) -> Tensor:
    shape = (1, -1, *[1] * (features.ndim - 2))
    scale = torch.rsqrt(variance + epsilon) * (1 if gamma is None else gamma)
    shift = beta - mean * scale
    return (features * scale.view(shape) + shift.view(shape)).to(features.dtype)
