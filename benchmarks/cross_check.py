"""Our steady rate against an independent script of the framework, in pairs that take turns block by block.

    python benchmarks/cross_check.py [--trainers torch_ddp tensorflow torch_xla] [--pairs 8]
        [--batch-size 64] [--json]

The workload is mnist_cnn in fp32, one worker, data in memory. Each side of a pair has fresh processes, the
same arrays, threads, warm-up and steps of a block; never do both train at once, and which goes first
alternates. Both keep the memory that they free: otherwise a process of torch gives back and takes anew up to
10 MB a step, by the layout of its heap, and pairs differ by a third. The scripts in `bare/` share no code
with us. Exits with 1 unless the median over the pairs is within 3% of 1 for every trainer.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from independent import SCRIPTS, Protocol, bare_of, point_of
from trials import context_of, count, require_all, sweep_of
from turns import Blocks, in_turns

from orchestrator.core.interval import Interval, median_interval
from orchestrator.pipeline.planning import plan_sweep

TOLERANCE = 0.03

KEEPS_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**32), "MALLOC_MMAP_THRESHOLD_": str(2**32)}
"""Of glibc, in bytes: more than a step takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """All pairs of a trainer, in the order in which they ran.

    Attributes:
        samples_per_block: of either side.
    """

    trainer: str
    pairs: tuple[Blocks, ...]
    samples_per_block: int

    @property
    def ratios(self) -> list[float]:
        """Ratio of the rates of each pair's median blocks: above 1 where we are faster than the script."""
        return [median(pair.bare) / median(pair.ours) for pair in self.pairs]

    @property
    def ratio(self) -> Interval:
        """Median over the pairs."""
        return median_interval(self.ratios)

    @property
    def is_within(self) -> bool:
        """True where the ratio is as near to 1 as required."""
        return abs(self.ratio.median - 1) <= TOLERANCE

    @property
    def verdict(self) -> str:
        """Verdict that distinguishes a lucky median from a certain one."""
        if not self.is_within:
            return f"not within {TOLERANCE:.0%}"
        is_certain = max(1 - self.ratio.low, self.ratio.high - 1) <= TOLERANCE
        return f"within {TOLERANCE:.0%}" + ("" if is_certain else ", but its interval is not: more pairs")

    def rate(self, blocks: Sequence[Sequence[float]]) -> float:
        """Samples per second: the median over pairs of their median blocks."""
        return self.samples_per_block / median(median(block) for block in blocks)


def check_of(trainer: str, protocol: Protocol, *, num_pairs: int, batch_size: int) -> Check:
    """Pairs one after the other."""
    pairs: list[Blocks] = []
    with sweep_of(*point_of(trainer, batch_size=batch_size), *protocol.overrides()) as (settings, preflight):
        plan = plan_sweep(settings, preflight)
        require_all(plan)
        (placement,) = plan.placements
        context = context_of(settings, preflight)
        with bare_of(placement, context) as bare:
            for index in range(num_pairs):
                bare_first = index % 2 == 1
                pairs.append(in_turns(placement, context, bare, protocol, bare_first=bare_first))
                said = median(pairs[-1].bare) / median(pairs[-1].ours)
                print(f"{trainer} pair {index + 1} of {num_pairs}: {said:.3f}", file=sys.stderr)
    samples = placement.trial.global_batch_size * protocol.steps_per_block
    return Check(trainer=trainer, pairs=tuple(pairs), samples_per_block=samples)


def table_of(checks: Sequence[Check]) -> str:
    """Return the table in the form of the documentation."""
    lines = [
        "| trainer | ours, samples/s | script | ours / script, each pair | median [interval] | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for check in checks:
        ours, bare = ([getattr(pair, side) for pair in check.pairs] for side in ("ours", "bare"))
        listed = ", ".join(f"{ratio:.3f}" for ratio in check.ratios)
        ratio = f"{check.ratio.median:.3f} [{check.ratio.low:.3f}, {check.ratio.high:.3f}]"
        cells = (check.trainer, f"{check.rate(ours):,.0f}", f"{check.rate(bare):,.0f}", listed, ratio)
        lines.append(f"| {' | '.join(cells)} | {check.verdict} |")
    return "\n".join(lines)


def json_of(checks: Sequence[Check]) -> str:
    """Return the same with all blocks, for a program."""
    return json.dumps(
        [
            {
                "trainer": check.trainer,
                "samples_per_block": check.samples_per_block,
                "pairs": [asdict(pair) for pair in check.pairs],
                "ratios": check.ratios,
                "median_ratio": check.ratio.median,
                "interval": [check.ratio.low, check.ratio.high],
                "coverage": check.ratio.coverage,
                "verdict": check.verdict,
                "is_within": check.is_within,
            }
            for check in checks
        ],
        indent=2,
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainers", nargs="+", choices=tuple(SCRIPTS), default=tuple(SCRIPTS))
    parser.add_argument("--pairs", type=count, default=8)
    parser.add_argument("--batch-size", type=count, default=64)
    parser.add_argument("--blocks", type=count, default=30)
    parser.add_argument("--steps-per-block", type=count, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args(words)
    protocol = Protocol(blocks=asked.blocks, steps_per_block=asked.steps_per_block)
    os.environ.update(KEEPS_MEMORY)  # both sides inherit it
    checks = [
        check_of(trainer, protocol, num_pairs=asked.pairs, batch_size=asked.batch_size)
        for trainer in asked.trainers
    ]
    print(json_of(checks) if asked.json else table_of(checks))
    return 0 if all(check.is_within for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
