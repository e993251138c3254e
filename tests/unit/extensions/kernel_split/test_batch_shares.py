"""A batch is dealt out in proportion to speed, every sample once, and no rank goes without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.work_share import BatchShare
from orchestrator.extensions.kernel_split.training.unequal_ddp_trainer import divide_batch_shares

SPEEDS = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("samples", "speeds", "sizes"),
    [
        (64, (1.0, 1.0), [32, 32]),
        (64, (1.0, 1.0, 1.0), [22, 21, 21]),
        (64, (1.0, 7.0), [8, 56]),
        (65, (2.0, 1.0), [43, 22]),
        (64, (1e-9, 1.0), [1, 63]),
        (3, (1e-9, 1.0, 1e-9), [1, 1, 1]),
        (5, (1.0, 1e-9, 4.0, 1e-9), [1, 1, 2, 1]),
        (7, (3.0,), [7]),
    ],
)
def test_shares_are_in_proportion_to_speed_and_a_slow_rank_has_one_sample(samples, speeds, sizes):
    assert [len(batch_share) for batch_share in divide_batch_shares(samples, speeds)] == sizes


@given(speeds=SPEEDS, more=st.integers(0, 4096))
def test_every_sample_is_one_ranks_and_every_rank_has_one(speeds, more):
    shares = divide_batch_shares(len(speeds) + more, speeds)
    assert [place for share in shares for place in share] == list(range(len(speeds) + more))
    assert all(shares)


def test_fewer_samples_than_workers_are_refused():
    with pytest.raises(ValueError, match=r"^global_batch_size=2 is below 3 workers; each needs a sample$"):
        divide_batch_shares(2, (1.0, 1.0, 1.0))


def test_the_speed_of_a_rank_is_that_of_its_probe():
    share = BatchShare(samples=1, of_samples=3, probe_samples=6, probe_seconds=0.5)
    assert share.samples_per_second == 12
