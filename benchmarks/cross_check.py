"""Our steady samples per second against an independent script of the framework, in pairs within one run.

    python benchmarks/cross_check.py [--trainers torch_ddp tensorflow torch_xla] [--pairs 12] [--json]

The workload is mnist_cnn in fp32 with the default batch, one worker, data in memory. Each side of a pair has
fresh processes, the same arrays, threads, warm-up and blocks; which side goes first alternates. The scripts
in `bare/` share no code with us. What else the host does slows blocks down and speeds none up: beside the
median of the pairs, the fastest block of either side in all of them is compared. Exits with 1 unless one of
the two is within 3% of 1 for every trainer.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from independent import SCRIPTS, Protocol, Rates, bare_of, our_rates
from trials import count

from orchestrator.core.interval import Interval, median_interval

TOLERANCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What either side came to."""

    ours: Rates
    bare: Rates

    @property
    def ratio(self) -> float:
        """Of the median blocks: above 1 where we are faster than the script."""
        return self.ours.median / self.bare.median


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """All pairs of a trainer, in the order in which they ran."""

    trainer: str
    pairs: tuple[Pair, ...]

    @property
    def ratio(self) -> Interval:
        """Median over the pairs."""
        return median_interval([each.ratio for each in self.pairs])

    @property
    def best_ratio(self) -> float:
        """Of the fastest block of either side."""
        return max(each.ours.best for each in self.pairs) / max(each.bare.best for each in self.pairs)

    @property
    def is_within(self) -> bool:
        """Whether one of the two ratios is as near to 1 as it should be."""
        return min(abs(self.ratio.median - 1), abs(self.best_ratio - 1)) <= TOLERANCE

    @property
    def verdict(self) -> str:
        """With the words that keep a lucky median apart from a certain one."""
        ratio = self.ratio
        if not self.is_within:
            return f"not within {TOLERANCE:.0%}"
        if abs(ratio.median - 1) > TOLERANCE:
            return f"within {TOLERANCE:.0%} by the fastest blocks alone"
        is_certain = max(1 - ratio.low, ratio.high - 1) <= TOLERANCE
        return f"within {TOLERANCE:.0%}" + ("" if is_certain else ", but its interval is not: more pairs")


def check_of(trainer: str, protocol: Protocol, *, num_pairs: int) -> Check:
    """Pairs one after the other, the order within them alternating."""
    pairs: list[Pair] = []
    with bare_of(trainer, protocol) as bare:
        sides = {
            "ours": lambda: our_rates(trainer, protocol),
            "bare": lambda: bare.rates(protocol),
        }
        for index in range(num_pairs):
            order = list(sides) if index % 2 == 0 else list(reversed(sides))
            pairs.append(Pair(**{side: sides[side]() for side in order}))
            print(f"{trainer} pair {index + 1} of {num_pairs}: {pairs[-1].ratio:.3f}", file=sys.stderr)
    return Check(trainer=trainer, pairs=tuple(pairs))


def table_of(checks: Sequence[Check]) -> str:
    """As `docs/log.md` has it."""
    lines = [
        "| trainer | ours, samples/s | script | ours / script, each pair | median [interval] | "
        "fastest blocks | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in checks:
        ours = median(pair.ours.median for pair in each.pairs)
        bare = median(pair.bare.median for pair in each.pairs)
        listed = ", ".join(f"{pair.ratio:.3f}" for pair in each.pairs)
        ratio = f"{each.ratio.median:.3f} [{each.ratio.low:.3f}, {each.ratio.high:.3f}]"
        cells = (each.trainer, f"{ours:,.0f}", f"{bare:,.0f}", listed, ratio, f"{each.best_ratio:.3f}")
        lines.append(f"| {' | '.join(cells)} | {each.verdict} |")
    return "\n".join(lines)


def json_of(checks: Sequence[Check]) -> str:
    """The same with all rates, for a program."""
    return json.dumps(
        [
            {
                "trainer": each.trainer,
                "pairs": [
                    {"ours": asdict(pair.ours), "bare": asdict(pair.bare), "ratio": pair.ratio}
                    for pair in each.pairs
                ],
                "fastest_ratio": each.best_ratio,
                "median_ratio": each.ratio.median,
                "interval": [each.ratio.low, each.ratio.high],
                "coverage": each.ratio.coverage,
                "verdict": each.verdict,
                "is_within": each.is_within,
            }
            for each in checks
        ],
        indent=2,
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainers", nargs="+", choices=tuple(SCRIPTS), default=tuple(SCRIPTS))
    parser.add_argument("--pairs", type=count, default=12)
    parser.add_argument("--blocks", type=count, default=30)
    parser.add_argument("--steps-per-block", type=count, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args(words)
    protocol = Protocol(blocks=asked.blocks, steps_per_block=asked.steps_per_block)
    checks = [check_of(trainer, protocol, num_pairs=asked.pairs) for trainer in asked.trainers]
    print(json_of(checks) if asked.json else table_of(checks))
    return 0 if all(each.is_within for each in checks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
