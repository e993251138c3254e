"""Our batch normalisation against `torch.nn.BatchNorm2d`: forward and backward, in turns within one process.

    python benchmarks/batch_norm.py [--pairs 40]

Ours keeps the biased variance of the global batch, as Keras does. On one process it takes its moments from
PyTorch's own pass over the features. The ratio is that of the median times on one thread.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
from torch import Tensor, nn

from workloads.layers import BatchNorm
from workloads.with_torch.batch_norm import GlobalBatchNorm

_CHANNELS = 64


def main(arguments: Sequence[str]) -> int:
    """Print the ratio of the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=40)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    ours = GlobalBatchNorm(BatchNorm(momentum=0.9, epsilon=1e-5), _CHANNELS)
    theirs = nn.BatchNorm2d(_CHANNELS, momentum=0.1)
    features = torch.randn(32, _CHANNELS, 28, 28, requires_grad=True)
    pairs = [(_seconds(ours, features), _seconds(theirs, features)) for _ in range(1 + chosen.pairs)][1:]
    ratio = median(own for own, _ in pairs) / median(other for _, other in pairs)
    sys.stdout.write(f"ours / torch.nn.BatchNorm2d: {ratio:.2f}, {chosen.pairs} pairs\n")
    return 0


def _seconds(layer: Callable[[Tensor], Tensor], features: Tensor) -> float:
    began = time.perf_counter()
    layer(features).sum().backward()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
