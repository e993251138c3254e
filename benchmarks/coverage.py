"""Coverage of a ratio's interval, and the rate of false differences between equal sides.

    python benchmarks/coverage.py [--cases 20000]

Prints tables for `docs/findings/measurement.md`. It tests the function that makes verdicts, and the
percentile bootstrap of the same repeats for comparison.
"""

import argparse
import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from orchestrator.analysis.comparison.compare import compute_ratio

Noise = Callable[[random.Random], float]
"""Factor on the rate of one repeat, 1 in the long run."""

_RESAMPLES = 500


def steady(rng: random.Random) -> float:
    return rng.lognormvariate(0, 0.03)


def restless(rng: random.Random) -> float:
    return rng.lognormvariate(0, 0.3)


def disturbed(rng: random.Random) -> float:
    """One repeat in ten is 30% slower: something else ran."""
    return steady(rng) * (0.7 if rng.random() < 0.1 else 1)


SIDES: Sequence[tuple[str, Noise, Noise]] = (
    ("both vary by 3%", steady, steady),
    ("3% against 30%", steady, restless),
    ("3%, one in ten 30% slower", disturbed, disturbed),
)


def sample(noise: Noise, size: int, rng: random.Random) -> list[float]:
    return [1000 * noise(rng) for _ in range(size)]


def misses(first: Noise, second: Noise, *, sizes: tuple[int, int], cases: int) -> float:
    """Share of intervals that miss the true ratio 1."""
    rng, count = random.Random(1), 0
    for _ in range(cases):
        ratio = compute_ratio(sample(first, sizes[0], rng), sample(second, sizes[1], rng))
        count += not ratio.low <= 1 <= ratio.high
    return count / cases


def bootstrap_misses(first: Noise, second: Noise, *, sizes: tuple[int, int], cases: int) -> float:
    """The same of the percentile bootstrap."""
    rng, count = random.Random(1), 0
    draws = np.random.default_rng(1)
    for _ in range(cases):
        sides = [np.log(sample(noise, size, rng)) for noise, size in zip((first, second), sizes, strict=True)]
        means = [side[draws.integers(len(side), size=(_RESAMPLES, len(side)))].mean(axis=1) for side in sides]
        low, high = np.quantile(means[0] - means[1], (0.025, 0.975))
        count += not low <= 0 <= high
    return count / cases


def sweeps_with_a_winner(num_settings: int, *, size: int, cases: int) -> tuple[float, float]:
    """Shares of sweeps of equal settings whose fastest is called faster than the next, and than any other."""
    rng, counts = random.Random(1), [0, 0]
    for _ in range(cases):
        settings = sorted(
            (np.log(sample(steady, size, rng)).tolist() for _ in range(num_settings)), key=lambda s: -fmean(s)
        )
        fastest, *others = [[math.exp(log) for log in side] for side in settings]
        won = [compute_ratio(fastest, other).low > 1 for other in others]
        counts = [counts[0] + won[0], counts[1] + any(won)]
    return counts[0] / cases, counts[1] / cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    cases = parser.parse_args().cases
    sizes = ((2, 2), (3, 3), (5, 5), (5, 10), (10, 10))
    print("\n## Equal sides called different, nominal 5%\n")
    print("| sides | method |", " | ".join(f"{one} and {other}" for one, other in sizes), "|")
    print("|---|---|", "---|" * len(sizes))
    for name, first, second in SIDES:
        told = [f"{misses(first, second, sizes=size, cases=cases):.1%}" for size in sizes]
        print(f"| {name} | Welch | {' | '.join(told)} |")
        told = [f"{bootstrap_misses(first, second, sizes=size, cases=cases // 10):.1%}" for size in sizes]
        print(f"| {name} | bootstrap | {' | '.join(told)} |")
    print("\n## The fastest of equal settings called faster, 5 repeats each\n")
    print("| settings | than the next | than any other |\n|---|---|---|")
    for count in (2, 3, 5, 10):
        following, any_other = sweeps_with_a_winner(count, size=5, cases=cases // 4)
        print(f"| {count} | {following:.1%} | {any_other:.1%} |")


if __name__ == "__main__":
    main()
