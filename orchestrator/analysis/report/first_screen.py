"""First screen of the page: the question, the state of its answer, its provenance, and what is next."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import counted, day_and_time, duration, first_names, is_standin, number
from orchestrator.analysis.metrics.cost import marks_in, price_label
from orchestrator.analysis.next_steps import short_command
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.answer.summary import (
    Card,
    build_cards,
    chance,
    find_answer,
    noise_banner,
    title_words,
)
from orchestrator.analysis.report.headline import count_failures, count_outcomes, inputs_in
from orchestrator.analysis.report.html import element, table_markup, text
from orchestrator.analysis.table import Table, list_columns
from orchestrator.core.placement import Plan

_MOST_NAMES = 4
_MOST_SENTENCES = 5  # of a card on the first screen of a phone
_STANDIN = "Stand-in data: times are valid, quality is not."
_AXES: Mapping[str, str] = {
    "trainer": "trainer",
    "precision": "precision",
    "global_batch_size": "batch size",
    "num_workers": "number of workers",
    "num_hosts": "number of hosts",
}
_OTHER = "options"


def format_title(findings: Findings, sweep: str) -> str:
    """Put what is known in one line, for the window's title too."""
    return f"{' '.join(filter(None, _verdict_and_state(findings, sweep)))}."


def _verdict_and_state(findings: Findings, sweep: str) -> tuple[str, str]:
    answers = findings.recommendations
    if not answers:
        return f"{sweep}:", "nothing is measured or predicted yet"
    if len(answers) == 1:
        return "", title_words(answers[0])
    counts = {
        state: sum(one.state == state for one in answers)
        for state in ("settled", "tie", "not settled", "none")
    }
    words = {"none": "without an answer"}
    return question_of_all(answers), ", ".join(
        f"{count} {words.get(state, state)}" for state, count in counts.items() if count
    )


def header_markup(findings: Findings, sweep: str) -> str:
    """Show the title, and one line on where the numbers come from."""
    question, state = _verdict_and_state(findings, sweep)
    states = {one.state for one in findings.recommendations}
    tone = next(iter(states)).replace(" ", "-") if len(states) == 1 else "open"
    return element(
        "header",
        element(
            "h1",
            text(f"{question} " if question else ""),
            element("span", text(f"{state}."), class_=f"state {tone}"),
        ),
        element("p", text(" ".join(_find_provenance(findings))), class_="faint"),
    )


def footer_markup(plan: Plan, *, version: str) -> str:
    """Show how the page was made, and the files beside it."""
    return element("footer", element("p", *_made_by(plan, version=version), class_="faint made"))


def _find_provenance(findings: Findings) -> Iterator[str]:
    """Yield the inputs, what was measured where and when, what was not, and on which data and prices."""
    yield from inputs_in(findings)
    measured = [
        record for record in findings.records if record.provenance == "measured" and record.result is not None
    ]
    if measured:
        hosts = dict.fromkeys(
            record.environment.get("cpu_model", record.placement.node) for record in measured
        )
        first, last = min(one.started_at for one in measured), max(one.ended_at for one in measured)
        when = day_and_time(first) if last - first < 60 else f"{day_and_time(first)} to {day_and_time(last)}"
        yield f"{count_outcomes(findings)} Measured on {first_names(list(hosts))}, {when}."
    else:
        yield count_outcomes(findings)
    absent = dict.fromkeys(
        one.device
        for recommendation in findings.recommendations
        for one in recommendation.standings
        if one.provenance != "measured"
    )
    present = {record.spec.device_label for record in findings.records if record.provenance == "measured"}
    present |= {
        place.trial.device_label for place in findings.plan.placements if place.provenance == "measured"
    }
    missing = [device for device in absent if device and device not in present]
    if missing:
        yield f"Not here, so predicted or compiled: {first_names(missing)}."
    if any(is_standin(measurement.setting.data) for measurement in findings.measured):
        yield _STANDIN
    prices = list(dict.fromkeys(filter(None, map(price_label, findings.attempts))))
    if prices:
        newest, *more = prices
        others = f" (and {len(more):,} more)" if more else ""
        listed = next((mark for mark in marks_in(findings.attempts) if "hypothetical" in mark), "")
        yield f"Dollars{f' are {listed}' if listed else ''}: {newest}{others}."


def _made_by(plan: Plan, *, version: str) -> Iterator[str]:
    """Yield the sweep's name, the command that made the page, the version, and the files beside the page."""
    yield text(f"Sweep {plan.sweep}")
    if plan.words:
        yield f" \N{MIDDLE DOT} {element('code', text(plan.command))}"
    if version:
        yield text(f" \N{MIDDLE DOT} orchestrator {version}")
    for name in ("results.csv", "comparisons.csv", "report.md", "plan.json"):
        yield f" \N{MIDDLE DOT} {element('a', name, href=name)}"


def format_notices(findings: Findings) -> Iterator[str]:
    """Yield banners: failures, and a busy host."""
    failures = count_failures(findings)
    if failures:
        link = element("a", "Causes and logs", href="#failed")
        yield element("p", text(f"{failures} "), link, ".", class_="notice failure")
    noise = noise_banner(findings.recommendations)
    if noise:
        yield element("p", text(noise), class_="notice")


def cards_markup(recommendation: Recommendation, findings: Findings) -> str:
    """Show the verdict, and what would confirm it with the command that a person types."""
    verdict, further = build_cards(recommendation)
    if step := recommendation.next_step:
        further = replace(further, command=short_command(step, findings))
    return element("div", _card(verdict, "best"), _card(further, "next"), class_="cards")


def nothing_yet(command: str) -> str:
    """Show how a sweep without results is run."""
    card = Card(
        title="To confirm it",
        headline="Run the sweep",
        sentences=("A plan shows its trials before anything runs: put `plan` before `+sweep`.",),
        command=command,
    )
    return element("div", _card(card, "next"), class_="cards")


def _card(card: Card, kind: Literal["best", "next"]) -> str:
    return element(
        "div",
        element("p", text(card.title), class_="title"),
        element("p", text(card.headline), class_="subject") if card.headline else "",
        *(element("p", text(sentence)) for sentence in card.sentences[:1]),
        element("pre", element("code", text(card.command)), tabindex="0") if card.command else "",
        *(element("p", text(sentence)) for sentence in card.sentences[1:_MOST_SENTENCES]),
        _fold_more(card),
        class_=f"card {kind}",
    )


def _fold_more(card: Card) -> str:
    """Show further sentences, which a narrow screen folds, so that the command is on its first screen."""
    more = card.sentences[_MOST_SENTENCES:]
    if not more:
        return ""
    sentences = "".join(element("p", text(sentence)) for sentence in more)
    return f"<details open>{element('summary', 'Why, and how sure')}{sentences}</details>"


def answers_table(
    recommendations: Sequence[Recommendation], names: Mapping[str, str], *, named_by: str
) -> str:
    """List the answers of several jobs, with links to their parts of the page.

    Args:
        names: job -> id of its part.
    """
    table = Table(
        title="Answers",
        note="",
        columns=(
            *list_columns("job", "answer"),
            *list_columns("time of the best measured", "$ of it", "chance to be best", is_number=True),
        ),
        rows=tuple(
            (
                one.job,
                find_answer(one),
                duration(best.seconds, digits=3) if best else "",
                number(best.usd.median, digits=3) if best and best.usd else "",
                chance(best.chance) if best else "",
            )
            for one in recommendations
            for best in [one.best_measured]
        ),
    )
    links = element(
        "p", "Go to: ", *(element("a", text(job), href=f"#{name}") + " " for job, name in names.items())
    )
    return table_markup(table, named_by=named_by) + links


def build_question(recommendation: Recommendation) -> str:
    """Ask for what differs: `cpu, t4 or v100 for mnist_cnn?`, `Which precision for resnet50 on h100?`."""
    devices = [device for device in dict.fromkeys(one.device for one in recommendation.standings) if device]
    if 1 < len(devices) <= _MOST_NAMES:
        return f"{_join_names(devices, 'or')} for {recommendation.job}?"
    if len(devices) > _MOST_NAMES:
        return f"Which of {counted(len(devices), 'device')} for {recommendation.job}?"
    on = f" on {devices[0]}" if devices else ""
    levels: dict[str, set[str]] = defaultdict(set)
    for one in recommendation.standings:
        for key, level in one.factors.items():
            levels[key].update(filter(None, [level]))
    varied = dict.fromkeys(_AXES.get(key, _OTHER) for key, found in levels.items() if len(found) > 1)
    if not varied:
        return f"What does {recommendation.job} take{on}?"
    return f"Which {_join_names(list(varied), 'and')} for {recommendation.job}{on}?"


def question_of_all(recommendations: Sequence[Recommendation]) -> str:
    """Ask for all jobs of a sweep."""
    if len(recommendations) == 1:
        return build_question(recommendations[0])
    return f"Which setting for each of {counted(len(recommendations), 'job')}?"


def _join_names(names: Sequence[str], last: str) -> str:
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
