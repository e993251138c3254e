"""End of `run` and `report` in at most twelve lines: answers, best settings, and what to do next. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.comparison.compare import distinguishing_fields
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import UNKNOWN, Number, count, counted, digits_for, list_inputs, number
from orchestrator.analysis.measurements.measured import Measurement, marks_of_repeats
from orchestrator.analysis.measurements.setting import format_label
from orchestrator.analysis.metrics.cost import marks_in
from orchestrator.analysis.next_steps import list_steps, short_command
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.job_line import format_job_lines
from orchestrator.analysis.recommendation.answer.summary import (
    chance,
    describe_next_step,
    find_answer,
    marks_of_runs,
    noise_banner,
)
from orchestrator.analysis.report.headline import describe_others
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.costs import sum_bills
from orchestrator.core.result import TrialRecord

_MOST_MEASURED, _MOST_PREDICTED = 3, 1  # rows of the only job
_MOST_JOBS = 2
_LEAST_CHANCE = 0.05  # of a setting that may be better
_LIKELY = 0.5  # chance to keep to the limits
_DIGITS = 3
_NO_LENGTH = "time and cost of your whole job: give its length, report.samples=N"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a command prints at its end.

    Attributes:
        jobs: what each job of known length takes and costs.
        facts: inputs of the jobs, counts, cost and failures.
        table: best settings of every job; without rows: none is known.
        steps: what to do next, each with its command; empty: nothing.
    """

    jobs: tuple[str, ...]
    answers: tuple[str, ...]
    table: Table
    facts: tuple[str, ...]
    steps: tuple[str, ...]


def choose_ending(findings: Findings) -> Ending:
    """Choose what a reader needs first; a sweep of several jobs has fewer rows of each."""
    answers = [one for one in findings.recommendations if findings.records or one.standings]
    shown = answers[:_MOST_JOBS]
    more = len(answers) - len(shown)
    others = [f"{counted(more, 'more job')}: --full lists all of them"] if more else []
    is_judged = any(map(_measured, shown))
    table = _table(shown) if is_judged else _unjudged_table(findings, shown)
    unjudged = 0 if is_judged or len(shown) != 1 else sum(one.trains for one in findings.measured)
    known = unjudged + sum(len(_measured(one)) + len(_maybe_better(one)) for one in shown)
    return Ending(
        jobs=format_job_lines(shown),
        answers=(*map(_answer, shown), *others),
        table=table,
        facts=(
            *list_inputs((one.job, one.input) for one in shown),
            *_facts(findings, num_left=known - len(table.rows)),
            *([_NO_LENGTH] if any(one.standings and one.samples and not one.length for one in shown) else []),
        ),
        steps=tuple(_steps(findings)),
    )


def _answer(answer: Recommendation) -> str:
    """Describe an answer: `Tie: cpu, bf16, for mnist_cnn (fastest): 2 settings share the lead`."""
    head = f"{find_answer(answer)}, for {answer.job} ({answer.asked})"
    if answer.state == "tie":
        chosen_by = f", chosen by {answer.chosen_by}" if answer.chosen_by else ""
        return f"{head}: {len(answer.tied)} settings share the lead{chosen_by}"
    if answer.state == "settled" and answer.winner and not answer.is_only_one:
        return f"{head}: chance {chance(answer.winner.chance)}"
    if answer.state == "not settled":
        best = answer.best_measured
        return f"{head}: {f'best measured is {best.setting}' if best else _without_best(answer)}"
    return head


def _without_best(answer: Recommendation) -> str:
    """Explain why no measured setting can be recommended."""
    noisy = sum(one.is_noisy for one in answer.left_out)
    if not noisy:
        return "no measured setting to recommend"
    return f"no measured setting to recommend, {counted(noisy, 'setting')} measured on a busy host"


def _table(answers: Sequence[Recommendation], *, unjudged_marks: Sequence[str] | None = None) -> Table:
    """List the best measured settings, then those that may be better; marked by how they are known.

    Args:
        unjudged_marks: marks on prices of rows that are put above; None: none of them has a price.
    """
    rows_of_job = max(1, _MOST_MEASURED // max(1, len(answers)))
    predicted_of_job = max(1, _MOST_PREDICTED // max(1, len(answers)))
    listed = [
        (answer, standing)
        for answer in answers
        for standing in (*_measured(answer)[:rows_of_job], *_maybe_better(answer)[:predicted_of_job])
    ]
    has_jobs = len(answers) > 1
    metrics = dict.fromkeys(answer.aim.metric for answer, one in listed if answer.aim and one.quality)
    marks = [mark for _, one in listed for mark in one.price_marks.split(", ") if mark]
    return Table(
        title="",
        note=" ".join((*_notes(listed), *_price_notes(listed, marks, unjudged_marks))),
        columns=(
            *([Column(header="job", rank=Rank.SETTING)] if has_jobs else []),
            Column(header="setting", rank=Rank.SETTING),
            Column(header="samples/s", is_number=True, rank=Rank.RATE),
            Column(header="$/M", is_number=True, rank=Rank.COST),
            Column(header=", ".join(metrics) or "quality", is_number=True, rank=Rank.QUALITY),
            Column(header="n", is_number=True, rank=Rank.REPEATS),
            Column(header="verdict", rank=Rank.RATE),
        ),
        rows=tuple((*([answer.job] if has_jobs else []), *_row(one, answer)) for answer, one in listed),
    )


def _unjudged_table(findings: Findings, answers: Sequence[Recommendation]) -> Table:
    """List measurements that are not judged, as of a busy host, above what may be better."""
    measured = [one for one in findings.measured if one.trains]
    if len(answers) != 1 or not measured:
        return _table(answers)
    fields = [name for name in distinguishing_fields(measured) if name != "workload"]
    fields = fields or ["device", "trainer", "precision"]
    ranked = sorted(measured, key=lambda one: -one.samples_per_second.median)[:_MOST_MEASURED]
    rows = [_unjudged_row(one, answers[0], fields) for one in ranked]
    is_priced = any(math.isfinite(one.usd_per_million_samples.median) for one in ranked)
    table = _table(answers, unjudged_marks=marks_in(findings.attempts) if is_priced else None)
    return replace(table, rows=(*rows, *table.rows))


def _unjudged_row(one: Measurement, answer: Recommendation, fields: Sequence[str]) -> tuple[str, ...]:
    quality = one.quality.get(answer.aim.metric) if answer.aim else None
    usd = one.usd_per_million_samples.median
    return (
        format_label(one.setting, fields),
        number(one.samples_per_second.median),
        number(usd, digits=_DIGITS),
        number(quality.estimate, digits=_DIGITS) if quality else UNKNOWN,
        count(one.num_deciding) if one.num_deciding else UNKNOWN,
        f"not judged{marks_of_repeats(one)}",
    )


def _measured(answer: Recommendation) -> list[RankedSetting]:
    """List measured settings: the one to take, those tied with it, then by chance and time."""
    measured = [one for one in answer.standings if one.provenance == "measured"]

    def order(one: RankedSetting) -> tuple[bool, bool, float, float]:
        return (one.setting != answer.chosen, one.setting not in answer.tied, -one.chance, one.seconds.median)

    return sorted(measured, key=order)


def _maybe_better(answer: Recommendation) -> list[RankedSetting]:
    """List settings without a measurement that may be better, the likeliest first."""
    unmeasured = [
        one for one in answer.standings if one.provenance != "measured" and one.chance >= _LEAST_CHANCE
    ]
    return sorted(unmeasured, key=lambda one: -one.chance)


def _row(one: RankedSetting, answer: Recommendation) -> tuple[str, ...]:
    usd = one.usd_per_million_samples
    return (
        one.setting,
        _rate(one),
        number(usd.median, digits=_DIGITS) if usd else UNKNOWN,
        number(one.quality.estimate, digits=_DIGITS) if one.quality else UNKNOWN,
        count(len(one.rates)) if one.rates else UNKNOWN,
        _verdict(one, answer),
    )


def _rate(one: RankedSetting) -> str:
    rate = one.samples_per_second
    if one.provenance != "measured":
        middle, low, high = (  # 32k: a prediction is not known to more digits
            f"{number(value / 1000, digits=2)}k" if value >= 1000 else str(number(value, digits=2))
            for value in (rate.median, rate.low, rate.high)
        )
        return Number(f"{middle} [{low}, {high}]", rate.median)
    width = (rate.high - rate.low) / 2 / rate.median
    interval = f" ±{width:.1%}" if len(one.rates) > 1 else ""
    return Number(f"{number(rate.median, digits=digits_for(rate))}{interval}", rate.median)


def _verdict(one: RankedSetting, answer: Recommendation) -> str:
    if one.provenance != "measured":
        return f"{one.provenance}, {chance(one.chance)}"
    marked = marks_of_runs(one)
    if one.setting in answer.tied:
        return f"tie{', recommended' if _is_taken(one, answer) else ''}{marked}"
    if one.setting == answer.chosen:
        return f"{'recommended' if _is_taken(one, answer) else 'best measured'}{marked}"
    is_over = answer.state == "none" or one.chance_within_limits < _LIKELY
    return f"{'over the limits' if is_over else 'behind'}{marked}"


def _is_taken(one: RankedSetting, answer: Recommendation) -> bool:
    return one.setting == answer.chosen and answer.state in ("settled", "tie")


def _notes(listed: Sequence[tuple[Recommendation, RankedSetting]]) -> Iterator[str]:
    if any(len(one.rates) > 1 for _, one in listed):
        yield "±: half the spread of n quiet runs."
    if any(one.provenance != "measured" for _, one in listed):
        yield "Not measured: 90% interval, chance."


def _price_notes(
    listed: Sequence[tuple[Recommendation, RankedSetting]],
    marks: Iterable[str],
    unjudged_marks: Sequence[str] | None,
) -> Iterator[str]:
    if unjudged_marks is not None or any(one.usd_per_second for _, one in listed):
        known = "".join(f", {mark} prices" for mark in dict.fromkeys((*marks, *(unjudged_marks or ()))))
        yield f"$/M: per million samples{known}."


def _facts(findings: Findings, *, num_left: int) -> Iterator[str]:
    """Yield what was run and what it cost, then what a reader must not overlook.

    Args:
        num_left: settings without a row in the table.
    """
    counts = {
        "rehearsed": sum(record.failure is None for record in findings.rehearsed),
        "pruned": len(findings.pruned),
        "failed": len(findings.failed),
        "not run yet": findings.num_missing,
        "skipped": len(findings.plan.skipped),
    }
    parts = [f"{counts[name]:,} {name}" for name in counts if counts[name]]
    cost = f"; ${number(sum_bills(findings.costs).usd, digits=2)}" if findings.costs else ""
    measured = f"{counted(findings.num_measured, 'trial')} measured"
    yield f"{', '.join([measured, *parts])}{cost}{_and_more(num_left, 'setting')}"
    if banner := noise_banner(findings.recommendations):
        yield banner
    if findings.num_others:
        yield describe_others(findings)
    causes = [_cause(record) for record in findings.failed]
    if causes:
        yield f"failed: {causes[0]}{_and_more(len(causes) - 1, 'failure')}"
    # what an installation would run; points that can never run are only counted
    curable = Counter(one.reason for one in findings.plan.skipped if "get it with: " in one.reason)
    for reason, number_of_points in curable.most_common(1):
        others = _and_more(len(curable) - 1, "reason")
        yield f"skipped: {counted(number_of_points, 'point')}: {reason}{others}"


def _cause(record: TrialRecord) -> str:
    assert record.failure is not None, "it failed"
    log = f" ({record.log_path})" if record.log_path else ""
    return f"{record.failure.kind}: {record.failure.message}{log}"


def _and_more(number_left: int, noun: str) -> str:
    return f"; {counted(number_left, f'more {noun}')} with --full" if number_left else ""


def _steps(findings: Findings) -> Iterator[str]:
    """Yield the steps with their commands."""
    for step in list_steps(findings)[:_MOST_JOBS]:
        command = short_command(step, findings)
        yield describe_next_step(step).removesuffix(".") + (f": {command}" if command else "")
