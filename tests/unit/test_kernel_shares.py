"""Kernels are shared out in proportion to speed, all of them, and groups whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.kernel_share import KernelShare
from orchestrator.train.kernel_shares import parts_of, shares_of

SPEEDS = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("count", "speeds", "shares"),
    [
        (500, (1.0, 1.0), (250, 250)),
        (500, (2.0, 1.0), (333, 167)),
        (10, (1.0, 1.0, 1.0), (4, 3, 3)),
        (3, (1.0,) * 8, (1, 1, 1, 0, 0, 0, 0, 0)),
        (7, (1.0, 1e-6), (7, 0)),
        (7, (1e-6, 1.0), (0, 7)),
        (5, (3.0,), (5,)),
    ],
)
def test_shares_are_in_proportion_to_speed_by_the_largest_remainder(count, speeds, shares):
    assert shares_of(count, speeds) == shares


@given(count=st.integers(1, 4096), speeds=SPEEDS)
def test_every_kernel_has_one_owner_and_no_share_is_a_kernel_off(count, speeds):
    shares = shares_of(count, speeds)
    assert sum(shares) == count
    for share, speed in zip(shares, speeds, strict=True):
        assert abs(share - count * speed / sum(speeds)) < 1 + 1e-6


def test_parts_follow_each_other_and_each_reads_all_channels():
    parts = parts_of(10, channels=3, groups=1, speeds=(3.0, 1.0, 1.0))
    assert [part.kernels for part in parts] == [range(6), range(6, 8), range(8, 10)]
    assert {(part.channels, part.groups) for part in parts} == {(range(3), 1)}


def test_groups_stay_whole_and_a_part_reads_the_channels_of_its_groups():
    first, second, third = parts_of(12, channels=6, groups=3, speeds=(2.0, 1.0, 1e-9))
    assert (first.kernels, first.channels, first.groups) == (range(8), range(4), 2)
    assert (second.kernels, second.channels, second.groups) == (range(8, 12), range(4, 6), 1)
    assert not third.kernels


def test_the_speed_of_a_rank_is_that_of_its_probe():
    share = KernelShare(layer="model.0", kernels=1, of_kernels=3, probe_flops=6e9, probe_seconds=0.5)
    assert share.flops_per_second == 12e9
