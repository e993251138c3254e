"""Kernels change hands when a rank is slower than it was, for good, and never for noise."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.kernel_split.training.balance import Parts, RebalanceState, Speeds, StepProfile
from orchestrator.extensions.kernel_split.training.shares import find_parts

KERNELS = (96, 480)
REST_SECONDS = 20.0
SMALL = st.floats(0.975, 1.025)
"""By how much seconds that were measured are wrong."""

WILD = st.floats(0.01, 100.0)


def divided(speeds: Speeds) -> Parts:
    return [
        find_parts(count, channels=3, groups=1, speeds=each)
        for count, each in zip(KERNELS, speeds, strict=True)
    ]


def kernels_in(parts: Parts) -> list[tuple[int, ...]]:
    return [tuple(len(part.kernels) for part in ranks) for ranks in parts]


def look_at(
    parts: Parts, slowness: Sequence[float], noise: Sequence[Sequence[float]], *, kernel_seconds: float = 1.0
) -> StepProfile:
    """Profile ranks that need as many seconds per kernel as their slowness, times noise."""
    seconds = [
        [
            kernel_seconds * len(part.kernels) * slow * wrong
            for part, slow, wrong in zip(ranks, slowness, factors, strict=True)
        ]
        for ranks, factors in zip(parts, noise, strict=True)
    ]
    rest = kernel_seconds * REST_SECONDS
    return StepProfile(steps=5, step_seconds=rest + sum(map(max, seconds)), convolving_seconds=seconds)


def moves_of(looks: Sequence[tuple[Sequence[float], Sequence[Sequence[float]]]]) -> Iterator[Parts | None]:
    """Yield the decision of each look at ranks that began with even shares, by their slowness and noise."""
    ones = [[1.0] * len(looks[0][0])] * len(KERNELS)
    balance, parts = RebalanceState(probed=ones), divided(ones)
    for slowness, noise in looks:
        balance, better = balance.after(look_at(parts, slowness, noise), parts, divided)
        parts = better or parts
        yield better


def describe_noise(
    size: int, factor: st.SearchStrategy[float] = SMALL
) -> st.SearchStrategy[list[list[float]]]:
    ranks = st.lists(factor, min_size=size, max_size=size)
    return st.lists(ranks, min_size=len(KERNELS), max_size=len(KERNELS))


QUIET = [[1.0, 1.0]] * len(KERNELS)


@given(st.data(), st.integers(2, 4))
def test_equal_ranks_that_are_measured_with_noise_never_move(data, size):
    looks = [([1.0] * size, data.draw(describe_noise(size))) for _ in range(6)]
    assert not any(moves_of(looks))


@given(st.data())
def test_a_single_wrong_look_between_right_ones_moves_no_kernels(data):
    looks = [([1.0, 1.0], data.draw(describe_noise(2, WILD)) if index % 2 else QUIET) for index in range(7)]
    assert not any(moves_of(looks))


@given(st.data(), st.integers(2, 4), st.floats(1.0, 2.0), st.integers(1, 4))
def test_a_rank_that_becomes_half_as_fast_gives_kernels_once_and_stays(data, size, partly, begin):
    """The first look may have seen it for a part of its steps only."""
    slowness = [*[1.0] * begin, partly, *[2.0] * 6]
    looks = [([1.0] * (size - 1) + [slow], data.draw(describe_noise(size))) for slow in slowness]
    found = list(moves_of(looks))
    [(when, parts)] = [(index, each) for index, each in enumerate(found) if each is not None]
    assert begin < when <= begin + 2
    for count, shares in zip(KERNELS, kernels_in(parts), strict=True):
        exact = count * 0.5 / (size - 0.5)
        assert shares[-1] == pytest.approx(exact, abs=1 + 0.06 * exact)  # a whole kernel, and the noise


def test_a_rank_that_recovers_gets_its_kernels_back():
    looks = [([1.0, slow], QUIET) for slow in [1.0] * 3 + [3.0] * 4 + [1.0] * 5]
    moved = [kernels_in(parts) for parts in moves_of(looks) if parts]
    assert moved == [[(72, 24), (360, 120)], [(48, 48), (240, 240)]]


def test_a_gain_that_is_little_of_a_whole_step_moves_no_kernels():
    ones = [[1.0, 1.0]] * 2
    parts = divided(ones)
    balance = RebalanceState(probed=ones)
    look = look_at(parts, [1.0, 2.0], QUIET)
    rest = 10 * (look.step_seconds - REST_SECONDS)
    for _ in range(4):
        balance, better = balance.after(
            StepProfile(steps=5, step_seconds=rest, convolving_seconds=look.convolving_seconds),
            parts,
            divided,
        )
        assert better is None


def test_a_rank_without_kernels_keeps_its_calibrated_speed_until_it_was_measured():
    probed = [[3.0, 1.0]] * 2
    parts = divided([[1.0, 0.0]] * 2)
    balance = RebalanceState(probed=probed)
    for _ in range(2):
        balance, better = balance.after(look_at(parts, [2.0, 9.0], QUIET), parts, divided)
    assert kernels_in(better) == [(72, 24), (360, 120)]


def test_a_rank_that_lost_all_is_remembered_as_slow_and_gets_some_when_the_other_is_slower():
    slow = [([1.0, 1e4], QUIET)] * 3 + [([1.0, 1.0], QUIET)] * 4
    moved = [kernels_in(parts) for parts in moves_of([*slow, *[([1e4, 1.0], QUIET)] * 2]) if parts]
    assert moved == [[(96, 0), (480, 0)], [(48, 48), (240, 240)]]


def test_a_layer_that_no_step_goes_through_stays():
    ones = [[1.0, 1.0]] * 2
    parts = divided(ones)
    balance = RebalanceState(probed=ones)
    look = StepProfile(steps=5, step_seconds=1000.0, convolving_seconds=[[0.0, 0.0], [240.0, 720.0]])
    for _ in range(2):
        balance, better = balance.after(look, parts, divided)
    assert kernels_in(better) == [(48, 48), (360, 120)]


def moved_at(
    kernel_seconds: float, probed: Speeds, noise: Sequence[Sequence[float]]
) -> list[tuple[int, ...]]:
    """Kernels after two looks at an even split whose second rank is half as fast."""
    parts = divided([[1.0, 1.0]] * 2)
    balance = RebalanceState(probed=probed)
    for _ in range(2):
        look = look_at(parts, [1.0, 2.0], noise, kernel_seconds=kernel_seconds)
        balance, better = balance.after(look, parts, divided)
    assert better is not None
    return kernels_in(better)


BETWEEN_PAUSES = [[2.0, 0.5], [1.0, 1.0]]
"""A small layer in which the slow rank seems the faster one."""


def test_a_layer_of_a_few_milliseconds_is_divided_by_the_speeds_in_other_layers():
    seconds = 200e-6  # a kernel: 5 steps of 48 are 48 ms, of 240 are 0.24 s
    small, large = moved_at(seconds, [[1 / seconds] * 2] * 2, BETWEEN_PAUSES)
    assert (small, large) == ((59, 37), (320, 160))


def test_a_layer_of_a_few_milliseconds_is_divided_by_its_own_calibration():
    seconds = 200e-6
    probed = [[1 / seconds, 3 / seconds], [1 / seconds] * 2]
    small, _ = moved_at(seconds, probed, QUIET)
    assert small[1] > small[0]


def test_a_layer_that_takes_long_is_shared_out_by_its_own_seconds():
    small, large = moved_at(1.0, [[1.0, 1.0]] * 2, BETWEEN_PAUSES)
    assert (small, large) == ((32, 64), (320, 160))


@pytest.mark.parametrize(("step_seconds", "steps"), [(10.0, 5), (0.05, 10), (1e-4, 100)])
def test_a_look_lasts_for_half_a_second_and_five_steps_but_no_more_than_a_hundred(step_seconds, steps):
    ones = [[1.0, 1.0]] * 2
    look = StepProfile(steps=5, step_seconds=step_seconds, convolving_seconds=ones)
    assert RebalanceState(probed=ones).after(look, divided(ones), divided)[0].steps_to_look == steps
