"""What the orchestrator itself costs: the same trials inline and on Ray, and how soon workers train.

    python benchmarks/overhead.py [--pairs 5] [--noops 30]

Prints tables for `docs/log.md`. Figures are ratios and differences within one run; run it on a quiet machine.
"""

import argparse
import itertools
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator import pipeline
from orchestrator.analysis.timing import step_seconds_of
from orchestrator.config.load import load
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.execute.base import Attempt


class Silent:
    """Watches without a word: a screen would be part of what is measured."""

    def started(self, attempt: Attempt) -> None:
        """Nothing."""

    def ended(self, record: TrialRecord) -> None:
        """Nothing."""


@contextmanager
def unseen(_plan: Plan) -> Iterator[Silent]:
    yield Silent()


def records_of(*overrides: str) -> tuple[TrialRecord, ...]:
    """Run a sweep of its own, in a folder of its own, untracked."""
    with tempfile.TemporaryDirectory() as outputs:
        words = (*overrides, "tracking=none", f"outputs={outputs}", "data.source=synthetic")
        settings = load(words, working_directory=Path.cwd())
        situation = pipeline.look(settings, download=False)
        outcome = pipeline.run_sweep(settings, situation, watch=unseen, say=print)
    failed = [record for record in outcome.records if record.failure]
    assert not failed, failed[0].failure
    return outcome.records


def seconds_between_ends(records: Sequence[TrialRecord]) -> float:
    """Median seconds from the end of one trial to that of the next: all that a trial costs on a warm node."""
    ends = sorted(record.ended_at for record in records)
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(ends))


def steps_per_second(records: Iterable[TrialRecord]) -> float:
    """Median over trials of the steady rate of steps."""
    rates = []
    for record in records:
        assert record.result is not None
        interval = step_seconds_of(record.result)
        assert interval is not None
        rates.append(1 / interval.median)
    return statistics.median(rates)


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
                rates[executor].append(steps_per_second(records))
            ratios.append(rates["ray"][-1] / rates["inline"][-1])
        inline, ray = (statistics.median(rates[name]) for name in ("inline", "ray"))
        listed = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        print(f"| {trainer} | {inline:.1f} | {ray:.1f} | {listed} | {statistics.median(ratios):.3f} |")


def launches() -> None:
    print("\n## From launch to the end of the first step, seconds (median of 3; the nursery is warm)\n")
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
    warm = records[1:]  # the first trial started the nursery
    results = [record.result for record in warm if record.result is not None]
    return statistics.median(each.launch_seconds + each.first_step_seconds for each in results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--noops", type=int, default=30)
    arguments = parser.parse_args()
    noop_trials(arguments.noops)
    launches()
    real_trials(arguments.pairs)


if __name__ == "__main__":
    main()
