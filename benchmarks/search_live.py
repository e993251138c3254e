"""Measure a whole grid on this host, then search it from an empty ledger: same winner, and at what share?

    python benchmarks/search_live.py FOLDER [--sweep search_mini] [--seeds 1,2,3,4,5] [--words ...]

It needs a quiet host: noisy trials decide nothing. FOLDER keeps every ledger, so a second command goes on
where the first one stopped. The whole grid is measured with `--repeats` repeats; its best setting is the one
with the least time of the job. Each search has its own seed and its own empty ledger. A search is right if
its choice, by the whole grid's times, lies within 5% of the grid's best. Its share is its trials' time over
that of one trial of every setting of the grid. Exit code 1: a search is wrong, or spent more than `--most`.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from orchestrator.api import report
from orchestrator.core.result import TrialRecord

TOLERANCE = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweep", default="search_mini")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=float, default=0.35)
    parser.add_argument("--words", nargs="*", default=["executor=inline", "tracking=none"])
    given = parser.parse_args()
    words = [f"+sweep={given.sweep}", *given.words]
    whole = [*words, f"outputs={given.folder / 'whole'}", f"sweep.repeats={given.repeats}"]
    _run(whole)
    times, seconds = _times_of(whole)
    print(f"whole grid: {len(seconds)} trials, {sum(seconds):.0f} s; best: {json.dumps(_best_of(times))}")
    failed = False
    for seed in given.seeds.split(","):
        searched = [*words, f"outputs={given.folder / seed}", f"seed={seed}", "search=adaptive"]
        _run(searched)
        failed |= _compare(seed, searched, times, sum(seconds) / given.repeats, most=given.most)
    return int(failed)


def _run(words: list[str]) -> None:
    print("$ python -m orchestrator", *words, flush=True)
    subprocess.run([sys.executable, "-m", "orchestrator", *words, "--yes"], check=False)


def _times_of(words: list[str]) -> tuple[dict[str, dict[str, float]], list[float]]:
    """Return job -> setting -> seconds of the job, of measured settings; and the seconds of every trial."""
    findings = report(*words).outcome.findings
    times = {
        answer.job: {
            one.setting: one.seconds.median for one in answer.standings if one.provenance == "measured"
        }
        for answer in findings.recommendations
    }
    return times, [_seconds(record) for record in findings.records]


def _seconds(record: TrialRecord) -> float:
    return record.ended_at - record.started_at


def _best_of(times: dict[str, dict[str, float]]) -> dict[str, str]:
    return {job: min(of_job, key=lambda one: of_job[one]) for job, of_job in times.items()}


def _compare(
    seed: str, words: list[str], times: dict[str, dict[str, float]], whole: float, *, most: float
) -> bool:
    """Print how a search did, and tell whether it failed."""
    findings = report(*words).outcome.findings
    share = sum(map(_seconds, findings.records)) / whole
    failed = share > most
    for answer in findings.recommendations:
        of_job, chosen = times.get(answer.job, {}), answer.chosen or ""
        above = of_job[chosen] / min(of_job.values()) - 1 if chosen in of_job else float("inf")
        failed |= above > TOLERANCE
        print(
            f"seed {seed}: {answer.job}: {answer.state}, {chosen or 'no choice'}: {above:+.1%} from the best"
        )
    print(
        f"seed {seed}: {len(findings.records)} trials, {share:.0%} of the time of the grid once", flush=True
    )
    return failed


if __name__ == "__main__":
    sys.exit(main())
