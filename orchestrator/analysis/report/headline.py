"""Headline of a sweep: the sentences that a reader needs first."""

from collections import Counter
from collections.abc import Iterator

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import counted, list_inputs, number
from orchestrator.analysis.metrics.cost import marks_in
from orchestrator.analysis.predictions.backtest import describe_hindsight
from orchestrator.analysis.recommendation.answer.summary import format_sentence, noise_banner
from orchestrator.analysis.tables.costs import sum_bills


def build_headline(findings: Findings) -> tuple[str, ...]:
    """List the state of every answer, then counts, noise, bills, failures and what is not measured."""
    return (*map(format_sentence, findings.recommendations), *list_sentences(findings))


def list_sentences(findings: Findings) -> tuple[str, ...]:
    """List all sentences but the answers."""
    failures = count_failures(findings)
    return (
        *inputs_in(findings),
        count_outcomes(findings),
        *filter(None, [noise_banner(findings.recommendations)]),
        *([f"{failures} Causes and logs are in the table of failures."] if failures else []),
        *about(findings),
    )


def about(findings: Findings) -> tuple[str, ...]:
    """List facts of the sweep other than its answers, counts, noise and failures."""
    return (
        *describe_hindsight(findings.hindsights, findings.plan.track_record),
        *_billed(findings),
        *_caveats(findings),
    )


def inputs_in(findings: Findings) -> tuple[str, ...]:
    """Name the inputs of the jobs' networks, a sentence each."""
    lines = list_inputs((one.job, one.input) for one in findings.recommendations)
    return tuple(f"{line[:1].upper()}{line[1:]}." for line in lines)


def count_outcomes(findings: Findings) -> str:
    """Count the trials by their outcome: `18 trials measured, 14 rehearsed, 0 failed, …`."""
    passed = sum(record.failure is None for record in findings.rehearsed)
    counts = [
        f"{counted(findings.num_measured, 'trial')} measured",
        f"{passed:,} rehearsed",
        f"{len(findings.failed):,} failed",
        f"{counted(len(findings.plan.skipped), 'point')} skipped",
    ]
    pruned = [f"{len(findings.pruned):,} pruned"] if findings.pruned else []
    missing = [f"{findings.num_missing:,} not run yet"] if findings.num_missing else []
    return ", ".join([*counts, *pruned, *missing]) + "."


def _billed(findings: Findings) -> Iterator[str]:
    """Yield the cost of priced trials, and how far it differs from the amount paid."""
    if not findings.costs:
        return
    total = sum_bills(findings.costs)
    failed = sum(cost.num_failed for cost in findings.costs)
    parts = [f"with {counted(failed, 'failed attempt')}"] if failed else []
    parts += [mark for mark in marks_in(findings.attempts) if "hypothetical" not in mark]
    words = f" ({', '.join(parts)})" if parts else ""
    trials = counted(sum(cost.num_trials for cost in findings.costs), "trial")
    seconds = number(total.billed_node_seconds, digits=3)
    yield f"{trials} cost ${number(total.usd, digits=2)} for {seconds} node-seconds{words}."


def count_failures(findings: Findings) -> str:
    """Count the failed trials by their kind; empty without one."""
    if not findings.failed:
        return ""
    kinds = Counter(str(record.failure.kind) for record in findings.failed if record.failure)
    listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    return f"Failed: {listed}."


def _caveats(findings: Findings) -> Iterator[str]:
    if findings.rehearsed:
        devices = ", ".join(dict.fromkeys(record.spec.device_label for record in findings.rehearsed))
        yield (f"Not on this machine: {devices}. Their code ran on the CPU, to find errors; it has no times.")
    if findings.num_others:
        yield f"{describe_others(findings).capitalize()}."


def describe_others(findings: Findings) -> str:
    """Describe the trials in the sweep's folder that this request does not ask for."""
    return f"not compared: {counted(findings.num_others, 'trial')} here, of other requests or earlier code"
