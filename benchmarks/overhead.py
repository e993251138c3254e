"""Overhead of the orchestrator: equal trials inline and on Ray, and the time until workers train.

    python benchmarks/overhead.py [--pairs 5] [--noops 30]
    python benchmarks/overhead.py --driver 1000 [--queued 10000]

Prints tables for `docs/findings/overhead_and_rates.md`. Figures are ratios and differences within one run;
run it on a quiet machine. With `--driver` it prints the driver's CPU time of a trial in each tenth of a long
sweep on Ray, which a busy machine changes little.
"""

import argparse
import itertools
import resource
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from trials import Unwatched, count, load_records, steps_per_second, sweep_of

from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.execute.scheduling.stop import request
from orchestrator.pipeline.components import open_ledger
from orchestrator.pipeline.planning import plan_sweep
from orchestrator.pipeline.run import run_plan


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
        records = load_records(
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
                records = load_records(*words, f"executor={executor}", "sweep.repeats=3")
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
    records = load_records(
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


class DriverClock(Unwatched):
    """Callback that notes the driver's CPU seconds at the end of each trial, and pauses the sweep after some.

    Args:
        most: number of trials after which nothing more is started.
        folder: folder of the sweep.
    """

    def __init__(self, *, most: int, folder: Path) -> None:
        self._most = most
        self._folder = folder
        self.ends = [time.process_time()]

    def ended(self, _record: TrialRecord) -> None:
        """Note the time."""
        self.ends.append(time.process_time())
        if len(self.ends) == self._most + 1:
            request(self._folder, "pause")


def driver_seconds(trials: int, queued: int) -> None:
    print(f"\n## CPU time of the driver: {trials:,} no-op trials on Ray, {queued:,} queued at the start\n")
    print("| tenth of the trials | CPU ms a trial |\n|---|---|")
    words = ("+sweep=smoke", "trainer=noop", "precision=fp32", "sweep.include=[]", f"seed=range(0,{queued})")
    with sweep_of(*words) as (settings, preflight):
        clock = DriverClock(most=trials, folder=open_ledger(settings).path.parent)

        @contextmanager
        def watch(_plan: Plan, _earlier: Sequence[TrialRecord]) -> Iterator[DriverClock]:
            clock.ends[0] = time.process_time()
            yield clock

        todo = plan_sweep(settings, preflight)
        run_plan(settings, preflight, todo, open_view=watch, on_message=print, confirm=None)
    for tenth in range(10):
        first, last = (number * trials // 10 for number in (tenth, tenth + 1))
        spent = 1000 * (clock.ends[last] - clock.ends[first]) / (last - first)
        print(f"| {tenth + 1}{', with the start of Ray' if tenth == 0 else ''} | {spent:.1f} |")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    after = time.process_time() - clock.ends[-1]
    print(f"\n{after:.2f} CPU s after the last trial, with the report; at most {memory:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", type=partial(count, least=10))
    parser.add_argument("--queued", type=count)
    parser.add_argument("--pairs", type=count, default=5)
    parser.add_argument("--noops", type=partial(count, least=2), default=30)
    arguments = parser.parse_args()
    if arguments.driver:
        driver_seconds(arguments.driver, max(arguments.driver, arguments.queued or 0))
        return
    noop_trials(arguments.noops)
    launches()
    real_trials(arguments.pairs)


if __name__ == "__main__":
    main()
