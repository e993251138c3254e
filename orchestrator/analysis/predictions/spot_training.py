"""Time and cost of a training on machines that may be taken away, and its best checkpoint interval. Pure.

Interruptions come at a constant rate. Each loses the work since the last checkpoint, and a restart follows,
which may be interrupted too. A notice that leaves time for a checkpoint is left out: less is lost with it.

J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
Computer Systems 22 (2006).
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from statistics import NormalDist, fmean

_NORMAL = NormalDist()
_NUM_RATES = 7
"""Rates that stand for a range of them, equally far from each other in logarithms."""

_ENDS = (0.05, 0.95)
"""Quantiles between which 90 of 100 worlds lie."""

_MOST_SUMMED = 100.0
"""Interruptions to be expected above which a sum over their number is replaced by a normal distribution."""

_HOPELESS = 1e9
"""A training that is expected to lose more than this many times its undisturbed time ends in no world."""

_BISECTIONS = 40
_MOST_SLOWDOWN = 1e4
"""A training that takes longer than this many times its work counts as one that never ends."""

_LEAST_PRODUCT = 1e-3
"""Rate times duration below which a series replaces differences of exponentials, which lose their digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotTraining:
    """A training on machines that may be taken away.

    Attributes:
        work_seconds: time that it takes without interruptions and without checkpoints.
        checkpoint_seconds: time to write one checkpoint.
        restart_seconds: range of the time from an interruption until it trains again.
        interruptions_per_second: range of their rate, of all machines together; above 0.
    """

    work_seconds: float
    checkpoint_seconds: float
    restart_seconds: tuple[float, float]
    interruptions_per_second: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotOutlook:
    """Outcome of such a training.

    Attributes:
        interval_seconds: work between two checkpoints that makes it shortest; all of it: no checkpoint pays.
        expected_slowdown: mean of its time over `work_seconds`; infinite: it ends in no time.
        slowdown: (low, high) of the same, between which 90 of 100 worlds lie.
        chance_cheaper: share of the worlds in which it costs less than at the other price.
    """

    interval_seconds: float
    expected_slowdown: float
    slowdown: tuple[float, float]
    chance_cheaper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    """The training at one rate and one time to restart: segments of equal work with checkpoints between them.

    Attributes:
        segment_seconds: mean of a segment, its checkpoint included.
    """

    num_segments: int
    segment_seconds: float
    restart_seconds: float
    rate: float

    @property
    def expected_interruptions(self) -> float:
        """Number of segments that are expected to be begun again."""
        return self.num_segments * _expm1(self.rate * self.segment_seconds)

    @property
    def loss(self) -> tuple[float, float]:
        """Mean and variance of the seconds that one of them costs: its lost work and the restart."""
        lost, lost_variance = _until_interruption(self.segment_seconds, self.rate)
        again, again_variance = _until_interruption(self.restart_seconds, self.rate)
        count = _expm1(self.rate * self.restart_seconds)  # restarts that are interrupted
        mean = lost + self.restart_seconds + count * again
        return mean, lost_variance + count * again_variance + count * (1 + count) * again**2

    def chance_within(self, seconds: float) -> float:
        """Return the share of worlds that are done by then."""
        undisturbed = self.num_segments * self.segment_seconds
        expected, (mean, variance) = self.expected_interruptions, self.loss
        spare = seconds - undisturbed
        if spare < 0 or not expected * mean < _HOPELESS * undisturbed:
            return 0.0
        survival = math.exp(-self.rate * self.segment_seconds)
        if expected > _MOST_SUMMED:
            spread = expected * variance + expected / survival * mean**2
            return _NORMAL.cdf((spare - expected * mean) / math.sqrt(spread))
        share = survival**self.num_segments
        chance, seen, count = share, share, 0
        while seen < 1 - 1e-9 and share > 0:
            share *= (self.num_segments + count) / (count + 1) * (1 - survival)
            count += 1
            seen += share
            chance += share * _NORMAL.cdf((spare - count * mean) / math.sqrt(count * variance))
        return chance


def find_checkpoint_interval(checkpoint_seconds: float, interruptions_per_second: float) -> float:
    """Return the seconds of work between two checkpoints that make a long training shortest.

    Daly's refinement of Young's square root: equation 37 of his paper.
    """
    between = 1 / interruptions_per_second
    if checkpoint_seconds >= 2 * between:
        return between
    part = checkpoint_seconds / (2 * between)
    return (
        math.sqrt(2 * checkpoint_seconds * between) * (1 + math.sqrt(part) / 3 + part / 9)
        - checkpoint_seconds
    )


def expect_seconds(training: SpotTraining, interval_seconds: float) -> float:
    """Return the mean time over all rates and restarts of their ranges."""
    return fmean(
        world.num_segments * world.segment_seconds + world.expected_interruptions * world.loss[0]
        for world in _worlds(training, interval_seconds)
    )


@cache  # a job is asked about in several lines and documents, and takes 14 ms
def predict_spot(training: SpotTraining, *, price_ratio: float) -> SpotOutlook:
    """Predict the outcome over all rates of their range, even in logarithms, and both ends of the restart.

    Args:
        price_ratio: price of the interruptible machines over that of the others.
    """
    low, high = training.interruptions_per_second
    interval = find_checkpoint_interval(training.checkpoint_seconds, math.sqrt(low * high))
    worlds = _worlds(training, interval)
    ends = [_quantile(worlds, share) / training.work_seconds for share in _ENDS]
    return SpotOutlook(
        interval_seconds=training.work_seconds / worlds[0].num_segments,
        expected_slowdown=expect_seconds(training, interval) / training.work_seconds,
        slowdown=(ends[0], ends[1]),
        chance_cheaper=_chance_within(worlds, training.work_seconds / price_ratio),
    )


def _worlds(training: SpotTraining, interval_seconds: float) -> list[_World]:
    """Return a world for each of some rates and for both ends of the restart, all of them equally likely."""
    low, high = training.interruptions_per_second
    step = math.log(high / low) / _NUM_RATES
    num_segments = max(1, round(training.work_seconds / interval_seconds))
    checkpoints_seconds = (num_segments - 1) * training.checkpoint_seconds
    segment_seconds = (training.work_seconds + checkpoints_seconds) / num_segments
    return [
        _World(
            num_segments=num_segments,
            segment_seconds=segment_seconds,
            restart_seconds=restart,
            rate=low * math.exp((index + 0.5) * step),
        )
        for index, restart in product(range(_NUM_RATES), dict.fromkeys(training.restart_seconds))
    ]


def _chance_within(worlds: list[_World], seconds: float) -> float:
    return fmean(world.chance_within(seconds) for world in worlds)


def _quantile(worlds: list[_World], share: float) -> float:
    """Return the seconds within which that share of the worlds is done; infinite where they have no end."""
    low = high = worlds[0].num_segments * worlds[0].segment_seconds
    most = _MOST_SLOWDOWN * high
    while _chance_within(worlds, high) < share:
        high *= 2
        if high > most:
            return math.inf
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if _chance_within(worlds, middle) >= share else (middle, high)
    return high


def _until_interruption(seconds: float, rate: float) -> tuple[float, float]:
    """Return mean and variance of the time to an interruption that comes within some seconds."""
    hazard = rate * seconds
    if hazard < _LEAST_PRODUCT:
        return seconds / 2 - rate * seconds**2 / 12, seconds**2 / 12
    odds = 1 / _expm1(hazard)  # of no interruption
    mean = 1 / rate - seconds * odds
    return mean, 1 / rate**2 - seconds**2 * odds * (1 + odds)


def _expm1(exponent: float) -> float:
    try:
        return math.expm1(exponent)
    except OverflowError:
        return math.inf
