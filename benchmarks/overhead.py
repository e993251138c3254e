"""Overhead of the orchestrator: equal trials inline and on Ray, and the time until workers train.

    python benchmarks/overhead.py [--pairs 5] [--noops 30]

Prints tables for `docs/findings/overhead_and_rates.md`. Figures are ratios and differences within one run;
run it on a quiet machine.
"""

import argparse
import itertools
import statistics
from collections.abc import Iterable, Sequence
from functools import partial

from trials import count, records_of, steps_per_second

from orchestrator.core.result import TrialRecord


def seconds_between_ends(records: Sequence[TrialRecord]) -> float:
    """Median seconds from the end of one trial to that of the next: all that a trial costs on a warm node."""
    ends = sorted(record.ended_at for record in records)
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(ends))


def median_rate(records: Iterable[TrialRecord]) -> float:
    """Median over trials of the steady rate of steps."""
    return statistics.median(map(steps_per_second, records))


def noop_trials(count: int) -> None:
    print("\n## A no-op trial in its own fresh process, seconds from end to end on a warm node\n")
    print("| executor | seconds per trial |\n|---|---|")
    for executor in ("inline", "ray"):
        records = records_of(
            "+sweep=smoke",
            "trainer=noop",
            "precision=fp32",
            "sweep.include=[]",
            f"executor={executor}",
            f"sweep.repeats={count}",
        )
        print(f"| {executor} | {seconds_between_ends(records):.3f} |")


def real_trials(pairs: int) -> None:
    print("\n## A real trial: steps per second on Ray over inline, paired\n")
    print("| trainer | inline | Ray | Ray / inline, each pair | median |\n|---|---|---|---|---|")
    for trainer in ("torch_ddp", "tensorflow"):
        ratios, rates = [], {"inline": [], "ray": []}
        for _ in range(pairs):
            for executor in ("inline", "ray"):
                words = ("+sweep=smoke", f"trainer={trainer}", "precision=fp32", "sweep.include=[]")
                records = records_of(*words, f"executor={executor}", "sweep.repeats=3")
                rates[executor].append(median_rate(records))
            ratios.append(rates["ray"][-1] / rates["inline"][-1])
        inline, ray = (statistics.median(rates[name]) for name in ("inline", "ray"))
        listed = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"| {trainer} | {inline:.1f} | {ray:.1f} | {listed} | {statistics.median(ratios):.3f} |")


def launches() -> None:
    print(
        "\n## From launch to the end of the first step, seconds (median of 3; the fork server is running)\n"
    )
    print("| trainer | workers | forked | spawned |\n|---|---|---|---|")
    for trainer in ("torch_ddp", "tensorflow", "torch_xla"):
        for num_workers in (1, 2):
            cells = [f"{_launch_seconds(trainer, num_workers, method):.2f}" for method in ("fork", "spawn")]
            print(f"| {trainer} | {num_workers} | {' | '.join(cells)} |")


def _launch_seconds(trainer: str, num_workers: int, method: str) -> float:
    records = records_of(
        "+sweep=smoke",
        "executor=inline",
        f"trainer={trainer}",
        "precision=fp32",
        "sweep.include=[]",
        f"num_workers={num_workers}",
        f"trainer.start_method={method}",
        "sweep.repeats=4",
        "steps=70",
        "measure.steps_per_block=1",
    )
    warm = records[1:]  # the first trial started the fork server
    results = [record.result for record in warm if record.result is not None]
    return statistics.median(result.launch_seconds + result.first_step_seconds for result in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=count, default=5)
    parser.add_argument("--noops", type=partial(count, least=2), default=30)
    arguments = parser.parse_args()
    noop_trials(arguments.noops)
    launches()
    real_trials(arguments.pairs)


if __name__ == "__main__":
    main()
