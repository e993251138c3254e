"""What a sweep says, in the sentences that a reader needs first."""

from collections import Counter
from collections.abc import Iterator, Sequence

from orchestrator.analysis.compare import Comparison
from orchestrator.analysis.compared import in_words
from orchestrator.analysis.cost import marks_in
from orchestrator.analysis.cost_tables import total_of
from orchestrator.analysis.decision import decisions_of
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.hindsight import hindsight_in_words
from orchestrator.analysis.outlook_words import outlook_in_words
from orchestrator.analysis.wording import counted, number

_MOST_COMPARISONS = 6


def headline_of(findings: Findings) -> tuple[str, ...]:
    """Counts, what is recommended, what comparisons show, what it cost, what failed or is not measured."""
    counts, *others = facts_of(findings)
    return (counts, *(each.sentence for each in decisions_of(findings.advice, findings.wish)), *others)


def facts_of(findings: Findings) -> tuple[str, ...]:
    """All of that but what is recommended; the counts come first."""
    return (
        _counts_of(findings),
        *_against(findings.against.compared),
        *_compared(findings.compared),
        *outlook_in_words(findings.outlooks, findings.wish),
        *hindsight_in_words(findings.hindsights, findings.plan.track_record),
        *_billed(findings),
        *_caveats(findings),
    )


def _counts_of(findings: Findings) -> str:
    passed = sum(each.failure is None for each in findings.rehearsed)
    counts = [
        f"{counted(findings.num_measured, 'trial')} measured",
        f"{passed:,} rehearsed",
        f"{len(findings.failed):,} failed",
        f"{counted(len(findings.plan.skipped), 'point')} skipped",
    ]
    missing = [f"{findings.num_missing:,} not run yet"] if findings.num_missing else []
    return ", ".join([*counts, *missing]) + "."


def _against(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Of each baseline, what is fastest against it."""
    best: dict[tuple[str, str], Comparison] = {}
    for each in comparisons:
        best.setdefault((each.where, each.second), each)
    for (where, base), each in list(best.items())[:_MOST_COMPARISONS]:
        yield f"Against the baseline {base} on {where}: {each.first}: {in_words(each)}."
    if len(best) > _MOST_COMPARISONS:
        yield f"{counted(len(best) - _MOST_COMPARISONS, 'baseline')} more in the table of the baseline."


def _compared(groups: Sequence[Sequence[Comparison]]) -> Iterator[str]:
    """The two fastest of each group."""
    for fastest, *_ in groups[:_MOST_COMPARISONS]:
        sides = f"{fastest.first} against {fastest.second}"
        yield f"By {fastest.factor} on {fastest.where}: {sides}: {in_words(fastest)}."
    if len(groups) > _MOST_COMPARISONS:
        more = counted(len(groups) - _MOST_COMPARISONS, "comparison")
        yield f"{more} more in the table of comparisons."


def _billed(findings: Findings) -> Iterator[str]:
    """What the trials cost that have a price, and how far that is not what was paid."""
    if not findings.costs:
        return
    total = total_of(findings.costs)
    failed = sum(each.num_failed for each in findings.costs)
    told = [f"with {counted(failed, 'failed attempt')}"] if failed else []
    told += marks_in(findings.attempts)
    words = f" ({', '.join(told)})" if told else ""
    trials = counted(sum(each.num_trials for each in findings.costs), "trial")
    yield f"{trials} cost ${number(total.usd)} for {number(total.billed_node_seconds)} node-seconds{words}."


def _caveats(findings: Findings) -> Iterator[str]:
    if findings.failed:
        kinds = Counter(str(each.failure.kind) for each in findings.failed if each.failure)
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        yield f"Failed: {listed}. Causes and logs are in the table of failures."
    if findings.rehearsed:
        devices = ", ".join(dict.fromkeys(each.spec.device_label for each in findings.rehearsed))
        yield f"Not measured, for they are not here: {devices}. Their code path ran on the CPU, untimed."
    if findings.num_others:
        others = counted(findings.num_others, "trial")
        yield f"Not shown: {others} of this sweep's ledger that this plan does not ask for."
