"""One self-contained page that opens offline: headline, tables, figures, method, environment."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from orchestrator.analysis.figures.plots import Figure
from orchestrator.analysis.findings import Findings, tables_of
from orchestrator.analysis.formatting import counted, day_and_time
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.answer.summary import Card, answer_of, cards_of, noise_banner
from orchestrator.analysis.recommendation.tables import NEXT, RANKED
from orchestrator.analysis.report.figures import drawn, figures_of, names_for
from orchestrator.analysis.report.headline import facts_of
from orchestrator.analysis.report.html import data_block, element, table_markup, text
from orchestrator.analysis.report.method import STANDIN, environment_table, method_of, uses_standin
from orchestrator.analysis.table import Table, cut
from orchestrator.analysis.tables.measurements import MEASURED
from orchestrator.core.result import TrialRecord

_MOST_ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading: a note, then a table, figures, or pairs of term and definition."""

    title: str
    note: str = ""
    table: Table | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    terms: Sequence[tuple[str, str]] = ()


def render(*, sweep: str, findings: Findings) -> str:
    """The page of a sweep: the same for the same findings, whenever it is made."""
    figures = figures_of(findings)
    sections = tuple(_sections_of(findings, figures))
    own = (*((plotly(), _asset("report.js")) if figures else ()), _asset("sort.js"))
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            _head(sweep, scripts=own),
            "<body>",
            *_body(sweep, findings, sections),
            *(element("script", script) for script in own),
            "</body>",
            "</html>\n",
        )
    )


@cache
def plotly() -> str:
    """Plotly's own script, version and licence in its first lines."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _asset(name: str) -> str:
    return (files("orchestrator.analysis.report") / "assets" / name).read_text(encoding="utf-8")


def _head(sweep: str, *, scripts: Sequence[str]) -> str:
    return element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        element("title", text(f"{sweep}: report")),
        element("style", "\n", _asset("report.css")),
    )


def _policy(scripts: Sequence[str]) -> str:
    """The page may fetch nothing, and run nothing but its own scripts, whatever a record holds."""
    hashes = (b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    )


def _sections_of(findings: Findings, figures: Mapping[str, Figure]) -> Iterator[Section]:
    """Yield the sections: measurements, figures, all other tables, method."""
    tables = [cut(table, most_rows=_MOST_ROWS) for table in tables_of(findings)]
    parts = [Section(title=table.title, note=table.note, table=table) for table in tables]
    shown_first = sum(table.title in (RANKED, NEXT, MEASURED) for table in tables)
    yield from parts[:shown_first]
    if figures:
        yield Section(title="Figures", figures=figures)
    yield from parts[shown_first:]
    yield Section(title="How it was measured", terms=method_of(findings))
    environment = environment_table(findings.records)
    if environment.rows:
        yield Section(title=environment.title, table=environment)


def _body(sweep: str, findings: Findings, sections: Sequence[Section]) -> Iterator[str]:
    contents, *names = names_for(("Contents", *(section.title for section in sections)))
    yield element("a", "Skip to tables and figures", class_="skip", href=f"#{names[0]}")
    yield element(
        "header", element("h1", text(sweep)), element("p", text(_period_of(findings.records)), class_="faint")
    )
    yield "<main>"
    yield element("section", *_decided(findings), aria_label="Headline")
    yield element(
        "nav",
        element("h2", "Contents", id=contents),
        element("ul", *map(_link, sections, names)),
        aria_labelledby=contents,
    )
    yield from map(_section, sections, names)
    yield "</main>"


def _period_of(records: Sequence[TrialRecord]) -> str:
    if not records:
        return "No trial has been run."
    first = min(record.started_at for record in records)
    last = max(record.ended_at for record in records)
    return f"Trials run from {day_and_time(first)} to {day_and_time(last)}."


def _decided(findings: Findings) -> Iterator[str]:
    """Show the state of every answer, then the facts that it stands on."""
    yield from map(_answer, findings.recommendations)
    noise = noise_banner(findings.recommendations)
    if noise:
        yield element("p", text(noise), class_="notice")
    facts = (fact for fact in facts_of(findings) if fact != noise)
    yield element("ul", *(element("li", text(fact)) for fact in facts), class_="headline")
    if uses_standin(findings):
        yield element("p", text(STANDIN), class_="notice")


def _answer(recommendation: Recommendation) -> str:
    """Show one job: the question, the state of the answer, and its parts side by side."""
    return element(
        "div",
        element("p", text(f"{recommendation.job}: {recommendation.asked}"), class_="faint"),
        element("p", text(answer_of(recommendation)), class_="answer"),
        element("div", *map(_card, cards_of(recommendation)), class_="cards"),
        class_=f"decision {recommendation.state.replace(' ', '-')}",
    )


def _card(card: Card) -> str:
    return element(
        "div",
        element("p", text(card.title), class_="faint"),
        *(element("p", text(sentence)) for sentence in card.sentences),
        element("pre", element("code", text(card.command))) if card.command else "",
    )


def _link(section: Section, name: str) -> str:
    size = counted(len(section.figures), "figure") if section.figures else ""
    size = counted(len(section.table.rows), "row") if section.table else size
    size_text = element("span", f" {size}", class_="faint") if size else ""
    return element("li", element("a", text(section.title), href=f"#{name}"), size_text)


def _section(section: Section, name: str) -> str:
    heading = f"heading:{name}"
    parts = [_note(section.note), *(_figure(figure, title) for title, figure in section.figures.items())]
    if section.table:
        parts.append(table_markup(section.table, named_by=heading))
    if section.terms:
        pairs = (
            element("dt", text(term)) + element("dd", text(definition)) for term, definition in section.terms
        )
        parts.append(element("dl", *pairs))
    heading_markup = element("h2", text(section.title), id=heading)
    return element("section", heading_markup, "\n", *parts, id=name, tabindex="-1")


def _figure(figure: Figure, name: str) -> str:
    plot = element(
        "div",
        class_="plot",
        data_plot=f"plot:{name}",
        role="img",
        aria_label=figure.alternative,
        style=f"height: {figure.height_pixels}px",
    )
    return element(
        "figure",
        element("figcaption", element("h3", text(figure.title)), _note(figure.caption)),
        plot,
        f"<noscript>{element('p', text(figure.alternative))}</noscript>",
        data_block(f"plot:{name}", drawn(figure)),
        id=f"figure:{name}",
    )


def _note(words: str) -> str:
    return element("p", text(words), class_="faint") if words else ""
