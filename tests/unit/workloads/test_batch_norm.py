"""Batch normalisation in PyTorch: its moving moments, and the passes over the features that they take."""

import pytest
import torch

from workloads.layers import BatchNorm
from workloads.with_torch import batch_norm
from workloads.with_torch.batch_norm import GlobalBatchNorm


@pytest.mark.parametrize("shape", [(8, 3, 5, 5), (16, 3)])
def test_the_moving_moments_are_those_of_the_batch_with_the_biased_variance(shape):
    layer = GlobalBatchNorm(BatchNorm(momentum=0.75, epsilon=1e-3), 3)
    features = torch.randn(*shape, generator=torch.Generator().manual_seed(0)) * 3 + 1
    output = layer(features)
    axes = [0, *range(2, features.ndim)]
    variance, mean = torch.var_mean(features.double(), axes, correction=0)
    torch.testing.assert_close(layer.moving_mean.double(), 0.25 * mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(layer.moving_variance.double(), 0.75 + 0.25 * variance, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(output.mean(axes), torch.zeros(3), rtol=0.0, atol=1e-5)


def test_one_process_reads_the_features_once(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a second pass over the features")

    monkeypatch.setattr(batch_norm.torch, "var_mean", refuse)
    layer = GlobalBatchNorm(BatchNorm(momentum=0.9, epsilon=1e-3), 3)
    layer(torch.randn(4, 3, 2, 2))
    assert float(layer.moving_mean.detach().abs().sum()) > 0
