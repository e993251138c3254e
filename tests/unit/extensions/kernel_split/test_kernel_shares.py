"""Kernels are shared out in proportion to speed, all of them, and groups whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.work_share import KernelShare
from orchestrator.extensions.kernel_split.training.shares import (
    KernelTransfer,
    divide_shares,
    find_parts,
    transfers_between,
)

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
    assert divide_shares(count, speeds) == shares


@given(count=st.integers(1, 4096), speeds=SPEEDS)
def test_every_kernel_has_one_owner_and_no_share_is_a_kernel_off(count, speeds):
    shares = divide_shares(count, speeds)
    assert sum(shares) == count
    for share, speed in zip(shares, speeds, strict=True):
        assert abs(share - count * speed / sum(speeds)) < 1 + 1e-6


def test_parts_follow_each_other_and_each_reads_all_channels():
    parts = find_parts(10, channels=3, groups=1, speeds=(3.0, 1.0, 1.0))
    assert [part.kernels for part in parts] == [range(6), range(6, 8), range(8, 10)]
    assert {(part.channels, part.groups) for part in parts} == {(range(3), 1)}


def test_groups_stay_whole_and_a_part_reads_the_channels_of_its_groups():
    first, second, third = find_parts(12, channels=6, groups=3, speeds=(2.0, 1.0, 1e-9))
    assert (first.kernels, first.channels, first.groups) == (range(8), range(4), 2)
    assert (second.kernels, second.channels, second.groups) == (range(8, 12), range(4, 6), 1)
    assert not third.kernels


def test_kernels_go_from_the_rank_that_held_them_to_the_one_that_will():
    before, after = (
        find_parts(10, channels=3, groups=1, speeds=speeds) for speeds in ((5.0, 5.0, 0.0), (2.0, 0.0, 8.0))
    )
    assert list(transfers_between(before, after)) == [
        KernelTransfer(source=0, target=0, kernels=range(2)),
        KernelTransfer(source=0, target=2, kernels=range(2, 5)),
        KernelTransfer(source=1, target=2, kernels=range(5, 10)),
    ]


@given(count=st.integers(1, 64), speeds=st.lists(st.tuples(*[st.floats(0, 9)] * 2), min_size=1, max_size=5))
def test_every_kernel_is_hauled_once_into_the_part_of_its_new_owner_in_order(count, speeds):
    before, after = (
        find_parts(count, channels=3, groups=1, speeds=[1e-3 + of_rank for of_rank in of_ranks])
        for of_ranks in zip(*speeds, strict=True)
    )
    hauls = list(transfers_between(before, after))
    assert [kernel for haul in hauls for kernel in haul.kernels] == list(range(count))
    for haul in hauls:
        assert set(haul.kernels) <= set(before[haul.source].kernels) & set(after[haul.target].kernels)


def test_the_speed_of_a_rank_is_that_of_its_probe():
    share = KernelShare(layer="model.0", kernels=1, of_kernels=3, probe_flops=6e9, probe_seconds=0.5)
    assert share.flops_per_second == 12e9
