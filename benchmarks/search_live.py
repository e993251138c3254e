"""Measure a whole grid on this host, then search it from an empty ledger: same winner, and at what share?

    python benchmarks/search_live.py FOLDER [--sweep search_mini] [--seeds 1,2,3,4,5] [--words ...]

It needs a quiet host: noisy trials decide nothing. FOLDER keeps every ledger, so a second command goes on
where the first one stopped. The whole grid is measured with `--repeats` repeats. Each search has its own seed
and its own empty ledger. Its share is its trials' time over that of one trial of every setting of the grid.

Hosts drift: a setting's time moves by more than the tolerance within an hour. So the choices of the searches
and the grid's two best settings of every job are measured again, in turns, `--rounds` times. A search is
right if its choice lies within 5% of the best of these, by the medians. Exit code 1: a search is wrong, or
spent more than `--most`.
"""

import argparse
import itertools
import json
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.api import report
from orchestrator.core.result import TrialRecord

TOLERANCE = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweep", default="search_mini")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=0.35)
    parser.add_argument("--words", nargs="*", default=["executor=inline", "tracking=none"])
    given = parser.parse_args()
    words = [f"+sweep={given.sweep}", *given.words]
    whole = [*words, f"outputs={given.folder / 'whole'}", f"sweep.repeats={given.repeats}"]
    _run(whole)
    grid = report(*whole).outcome.findings
    grid_seconds = sum(map(_seconds, grid.records))
    print(f"whole grid: {len(grid.records)} trials, {grid_seconds:.0f} s")
    searches = {}
    for seed in given.seeds.split(","):
        searched = [*words, f"outputs={given.folder / seed}", f"seed={seed}", "search=adaptive"]
        _run(searched)
        searches[seed] = report(*searched).outcome.findings
    times = _measure_in_turns(_contenders(grid, searches.values()), given.folder, words, given.rounds)
    print(json.dumps(times, indent=1))
    failures = [
        _compare(seed, findings, times, grid_seconds / given.repeats, most=given.most)
        for seed, findings in searches.items()
    ]
    return int(any(failures))


def _run(words: list[str]) -> None:
    print("$ python -m orchestrator", *words, flush=True)
    subprocess.run([sys.executable, "-m", "orchestrator", *words, "--yes"], check=False)


def _seconds(record: TrialRecord) -> float:
    return record.ended_at - record.started_at


def _contenders(grid: Findings, searches: Iterable[Findings]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return job -> setting -> its words: the choices of the searches and the grid's two best settings."""
    words = {
        job.where: {one.label: one.words for one in job.candidates}
        for job in jobs_of_plan(grid.records, grid.plan, grid.objective)
    }
    labels = {answer.job: set(_two_best(answer)) for answer in grid.recommendations}
    for answer in itertools.chain.from_iterable(findings.recommendations for findings in searches):
        labels[answer.job] |= {answer.chosen} if answer.chosen else set()
    return {job: {label: words[job][label] for label in sorted(labels[job])} for job in labels}


def _two_best(answer: Recommendation) -> list[str]:
    measured = [one for one in answer.standings if one.provenance == "measured"]
    return [one.setting for one in sorted(measured, key=lambda one: one.seconds.median)[:2]]


def _measure_in_turns(
    contenders: dict[str, dict[str, tuple[str, ...]]], folder: Path, words: list[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Return job -> setting -> median seconds of the job, from one trial of every setting in every round."""
    own = (
        folder / f"turns-{zlib.crc32(json.dumps(contenders).encode()):08x}"
    )  # others took turns at another time
    commands = {
        (job, label): [*words, *asked, f"outputs={own}"]
        for job, settings in contenders.items()
        for label, asked in settings.items()
    }
    for repeats in range(1, rounds + 1):
        for command in commands.values():
            _run([*command, f"sweep.repeats={repeats}"])
    times: dict[str, dict[str, float]] = {job: {} for job in contenders}
    for (job, label), command in commands.items():
        [answer] = report(*command, f"sweep.repeats={rounds}").outcome.findings.recommendations
        times[job][label] = answer.standings[0].seconds.median
    return times


def _compare(
    seed: str, findings: Findings, times: dict[str, dict[str, float]], whole: float, *, most: float
) -> bool:
    """Print how a search did, and tell whether it failed."""
    share = sum(map(_seconds, findings.records)) / whole
    failed = share > most
    for answer in findings.recommendations:
        of_job, chosen = times[answer.job], answer.chosen or ""
        above = of_job[chosen] / min(of_job.values()) - 1 if chosen else float("inf")
        failed |= above > TOLERANCE
        print(
            f"seed {seed}: {answer.job}: {answer.state}, {chosen or 'no choice'}: {above:+.1%} from the best"
        )
    num_pruned = sum(record.is_pruned for record in findings.records)
    print(
        f"seed {seed}: {len(findings.records)} trials, {num_pruned} of them pruned: "
        f"{share:.0%} of the time of the grid once",
        flush=True,
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
