"""Layers that frameworks cannot build are refused when they are told."""

import pytest

from workloads.layers import ConvTranspose2d, MaxPool2d


def test_pooling_refuses_padding_that_would_fill_whole_squares() -> None:
    with pytest.raises(ValueError, match=r"^MaxPool2d: padding=2 must be at most half of size=3$"):
        MaxPool2d(size=3, padding=2)


def test_a_transposed_convolution_refuses_a_kernel_that_leaves_gaps() -> None:
    with pytest.raises(ValueError, match=r"^ConvTranspose2d: kernel=2 must be at least stride=3$"):
        ConvTranspose2d(filters=1, kernel=2, stride=3)
