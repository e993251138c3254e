"""Spread of repeats forked from one fork server against that of new interpreters.

    python benchmarks/repeat_spread.py [--trainers torch_ddp tensorflow torch_xla] [--repeats 20]

For each trainer, `--repeats` repeats each way of one mnist_cnn trial in fp32, from one fork server,
interleaved: fork, spawn, spawn, fork, … Forked repeats share one memory layout; each spawned repeat has its
own. The spread is the standard deviation of logarithms of the rate. The interval of the ratio of two is that
of the F-test: it assumes independent, log-normal repeats, and one disturbed repeat widens the spread of its
way. Run it on a quiet machine and check the `noisy` marks.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median, stdev, variance

import numpy as np
from trials import count, require_all, run_in_order, steps_per_second, sweep_of

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.core.placement import Placement, StartMethod
from orchestrator.core.result import TrialRecord
from orchestrator.pipeline.planning import plan_sweep

TRAINERS = ("torch_ddp", "tensorflow", "torch_xla")
_DRAWS = 200_000  # of the F distribution: its quantiles are then known to 1%


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Repeats that were started in one way.

    Attributes:
        rates: samples per second of each.
        num_noisy: of them, those beside which something else ran.
    """

    rates: tuple[float, ...]
    num_noisy: int

    @property
    def variation(self) -> float:
        """Coefficient of variation."""
        return stdev(self.rates) / fmean(self.rates)

    @property
    def log_variance(self) -> float:
        """Variance of the logarithms of the rates."""
        return variance(map(math.log, self.rates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Spread of spawned repeats over that of forked ones, and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Verdict on spawned repeats."""
        if self.low > 1:
            return "spawned is wider"
        return "spawned is narrower" if self.high < 1 else "no difference shown"


def compute_ratio(forked: Way, spawned: Way) -> Ratio:
    """The ratio of standard deviations, with the F-test's interval of equal tails."""
    squared = spawned.log_variance / forked.log_variance
    freedom = len(spawned.rates) - 1, len(forked.rates) - 1
    low, high = np.quantile(np.random.default_rng(0).f(*freedom, _DRAWS), (0.025, 0.975))
    return Ratio(value=math.sqrt(squared), low=math.sqrt(squared / high), high=math.sqrt(squared / low))


def interleaved(placements: Sequence[Placement]) -> list[Placement]:
    """Every second repeat forked, the others spawned, the order within pairs alternating."""
    methods: tuple[StartMethod, ...] = ("fork", "spawn", "spawn", "fork")
    return [replace(placement, start_method=methods[index % 4]) for index, placement in enumerate(placements)]


def ways_of(trainer: str, *, repeats: int) -> tuple[Way, Way]:
    """Run all repeats of a trainer: those that were forked, those that were spawned."""
    words = ("+sweep=smoke", f"trainer={trainer}", "precision=fp32", "sweep.include=[]")
    with sweep_of(*words, "executor=inline", f"sweep.repeats={2 * repeats}") as (settings, preflight):
        plan = plan_sweep(settings, preflight)
        require_all(plan)
        records = run_in_order(interleaved(plan.placements), settings, preflight)
    return _way_of(records, "fork"), _way_of(records, "spawn")


def _way_of(records: Sequence[TrialRecord], method: StartMethod) -> Way:
    chosen = [record for record in records if record.placement.start_method == method]
    return Way(
        rates=tuple(steps_per_second(record) * record.spec.global_batch_size for record in chosen),
        num_noisy=sum(describe_noise(record) != "" for record in chosen),
    )


def row_of(trainer: str, forked: Way, spawned: Way) -> str:
    """A line of the table."""
    ratio = compute_ratio(forked, spawned)
    return (
        f"| {trainer} | {_words_of(forked)} | {_words_of(spawned)} "
        f"| {ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] | {ratio.verdict} |"
    )


def _words_of(way: Way) -> str:
    noisy = f", {way.num_noisy} of {len(way.rates)} noisy" if way.num_noisy else ""
    return (
        f"{median(way.rates):,.0f} [{min(way.rates):,.0f}, {max(way.rates):,.0f}], {way.variation:.2%}{noisy}"
    )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainers", nargs="+", choices=TRAINERS, default=TRAINERS)
    parser.add_argument("--repeats", type=partial(count, least=2), default=20, help="each way")
    asked = parser.parse_args(words)
    print(
        "| trainer | forked: samples/s [range], variation | spawned | spread of spawned / forked | verdict |"
    )
    print("|---|---|---|---|---|")
    for trainer in asked.trainers:
        print(row_of(trainer, *ways_of(trainer, repeats=asked.repeats)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
