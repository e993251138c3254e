"""(samples, speeds) -> which samples of a batch each rank trains on. Pure."""

from collections.abc import Sequence
from itertools import accumulate

from orchestrator.train.kernel_shares import shares_of


def batch_shares_of(samples: int, speeds: Sequence[float]) -> tuple[range, ...]:
    """Deal a batch out in proportion to speed by the largest remainder, one sample at least to each rank.

    Raises:
        ValueError: there are fewer samples than ranks.
    """
    if samples < len(speeds):
        raise ValueError(f"global_batch_size={samples} is below {len(speeds)} workers; each needs a sample")
    sizes = list(shares_of(samples, speeds))
    for rank, size in enumerate(sizes):
        if not size:
            sizes[sizes.index(max(sizes))] -= 1
            sizes[rank] = 1
    return tuple(range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True))
