"""One self-contained page that opens offline: answer, settings, figures, tables, method, environment."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from orchestrator.analysis.figures.palette import variables
from orchestrator.analysis.figures.vega_lite import Figure
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.answer.summary import title_words
from orchestrator.analysis.recommendation.tables import NEXT, RANKED
from orchestrator.analysis.report.drawings import Drawings
from orchestrator.analysis.report.figures import build_figures, name_rows, names_for
from orchestrator.analysis.report.first_screen import (
    answers_table,
    cards_markup,
    footer_markup,
    format_notices,
    format_title,
    header_markup,
    nothing_yet,
)
from orchestrator.analysis.report.headline import about
from orchestrator.analysis.report.heat_map import NOTE as HEAT_NOTE
from orchestrator.analysis.report.heat_map import HeatMap, build_heat_map, heat_map_markup
from orchestrator.analysis.report.html import all_columns, element, narrow_headers, table_markup, text
from orchestrator.analysis.report.method import describe_method, environment_table
from orchestrator.analysis.report.settings_table import (
    build_filters,
    format_legend,
    rows_left_out,
    settings_table,
)
from orchestrator.analysis.table import Table, cut
from orchestrator.analysis.tables.measurements import MEASURED
from orchestrator.analysis.tables.outcomes import FAILED

_MOST_ROWS = 100
_MOST_COLUMNS = 24  # of the widest table
_WIDE_PIXELS, _NARROW_PIXELS = 1200, 350
"""Widths for which figures are drawn: the page's own, and that of a phone."""

_EVERY_SETTING = "Every setting"
_OPEN = (NEXT, MEASURED, FAILED)
"""Titles of tables that are unfolded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading.

    Attributes:
        terms: pairs of term and definition.
        facts: sentences of a list.
    """

    title: str
    note: str = ""
    table: Table | None = None
    heat_map: HeatMap | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    terms: Sequence[tuple[str, str]] = ()
    facts: Sequence[str] = ()


def drawings_wanted(figures: Mapping[str, Figure]) -> Iterator[tuple[Figure, int]]:
    """Yield each figure with the widths in pixels in which a page shows it."""
    for figure in figures.values():
        yield figure, _WIDE_PIXELS
        if not figure.is_detail:
            yield figure, _NARROW_PIXELS


def render(
    *,
    sweep: str,
    findings: Findings,
    version: str = "",
    figures: Mapping[str, Figure] | None = None,
    drawings: Drawings | None = None,
) -> str:
    """Make the page of a sweep: the same for the same arguments, whenever it is made.

    Args:
        version: version of the orchestrator.
        figures: those of the findings; None: made here.
        drawings: drawings that there are, or that have begun; None: each is drawn.
    """
    script = _asset("report.js")
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            _head(format_title(findings, sweep), script),
            "<body>",
            *_body(
                sweep,
                findings,
                build_figures(findings) if figures is None else figures,
                drawings or Drawings(),
                version=version,
            ),
            element("script", script),
            "</body>",
            "</html>\n",
        )
    )


def _asset(name: str) -> str:
    return (files("orchestrator.analysis.report") / "assets" / name).read_text(encoding="utf-8")


def _head(title: str, script: str) -> str:
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(dark=True)} }} }}"
    colours = f":root {{ {variables(dark=False)} }}\n{dark}\n"
    return element(
        "head",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        element("title", text(title)),
        element("style", "\n", colours, _asset("report.css"), narrow_headers(_MOST_COLUMNS)),
    )


def _policy(script: str) -> str:
    """Forbid the page to fetch anything, and to run anything but its own script: records may hold markup."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'"
    )


def _body(
    sweep: str, findings: Findings, figures: Mapping[str, Figure], drawings: Drawings, *, version: str
) -> Iterator[str]:
    jobs, sections = findings.recommendations, tuple(_build_sections(findings, figures))
    titles = [f"{_EVERY_SETTING} of {recommendation.job}" for recommendation in jobs]
    ids = names_for(("Contents", *titles, *(section.title for section in sections)))
    contents, *names = ids
    of_jobs, of_sections = names[: len(jobs)], names[len(jobs) :]
    first = names[0] if names else contents
    yield element("a", "Skip to settings and figures", class_="skip", href=f"#{first}")
    yield header_markup(findings, sweep)
    yield "<main>"
    yield from format_notices(findings)
    if not jobs:
        yield nothing_yet(findings.plan.command)
    if len(jobs) > 1:
        heading = element("h2", "Answers", id="heading:answers")
        places = {one.job: name for one, name in zip(jobs, of_jobs, strict=True)}
        yield element("section", heading, answers_table(jobs, places, named_by="heading:answers"))
    rows = name_rows(findings)
    for one, name in zip(jobs, of_jobs, strict=True):
        of_job = {setting: row for (job, setting), row in rows.items() if job == one.job}
        yield _job(one, of_job, name, findings, is_only=len(jobs) == 1)
    links = (
        *(
            (_EVERY_SETTING if len(jobs) == 1 else one.job, "", name)
            for one, name in zip(jobs, of_jobs, strict=True)
        ),
        *(
            (section.title, _compute_size(section), name)
            for section, name in zip(sections, of_sections, strict=True)
        ),
    )
    yield element(
        "nav",
        element("h2", "Contents", id=contents),
        element("ul", *(_link(*link) for link in links)),
        aria_labelledby=contents,
    )
    for section, name in zip(sections, of_sections, strict=True):
        yield _section(section, name, drawings)
    yield "</main>"
    yield footer_markup(findings.plan, version=version)


def _build_sections(findings: Findings, figures: Mapping[str, Figure]) -> Iterator[Section]:
    """Yield the sections after the settings: heat map, figures, all other tables, method."""
    for one in findings.recommendations:
        if heat_map := build_heat_map(one):
            yield Section(title=f"Device by precision: {one.job}", note=HEAT_NOTE, heat_map=heat_map)
    if figures:
        yield Section(title="Figures", figures=figures)
    for table in findings.tables:
        if table.title != RANKED:
            shown = cut(table, most_rows=_MOST_ROWS)
            yield Section(title=shown.title, note=shown.note, table=shown)
    facts = about(findings)
    if facts:
        yield Section(title="About this sweep", facts=facts)
    yield Section(title="How it was measured", terms=describe_method(findings))
    environment = environment_table(findings.records)
    if environment.rows:
        yield Section(title=environment.title, table=environment)


def _job(
    one: Recommendation, row_ids: Mapping[str, str], name: str, findings: Findings, *, is_only: bool
) -> str:
    """Show one job: its cards, then every setting."""
    heading = f"heading:{name}"
    cards = cards_markup(one, findings)
    title = element("h2", text(_EVERY_SETTING if is_only else f"{title_words(one)}."), id=heading)
    if not one.standings:
        return element("section", title, cards, id=name, tabindex="-1")
    settings = (
        element(
            "details",
            element("summary", "How to read the table"),
            element("p", text(format_legend(one)), class_="faint legend"),
        ),
        _controls(one),
        _note(rows_left_out(one)),
        all_columns(),
        settings_table(one, row_ids, named_by=heading),
    )
    parts = (cards, title, *settings) if is_only else (title, cards, *settings)
    return element("section", *parts, id=name, tabindex="-1", class_="job")


def _controls(one: Recommendation) -> str:
    """Make the fields of another job's length and of filters; the script shows them."""
    parts = []
    if one.samples is not None:
        samples = f'<input type="number" min="1" step="any" class="samples" value="{one.samples}">'
        parts.append(element("label", "My job trains on ", samples, " samples"))
        if one.epoch_samples:
            epochs = '<input type="number" min="0" step="any" class="epochs">'
            parts.append(element("label", " = ", epochs, f" epochs of {one.epoch_samples:,}"))
        slider = '<input type="range" class="slider" step="any" aria-label="samples, on a logarithmic scale">'
        parts.append(slider)
    for key, (name, levels) in build_filters(one).items():
        options = (element("option", text(level)) for level in levels)
        choice = element("select", element("option", "all", value=""), *options, data_key=key)
        parts.append(element("label", f"{text(name)} ", choice))
    facts = {"data_samples": f"{one.samples}"} if one.samples is not None else {}
    facts |= {"data_epoch": f"{one.epoch_samples}"} if one.epoch_samples else {}
    return f'<div class="controls" hidden{_data(facts)}>{"".join(parts)}</div>' if parts else ""


def _data(facts: Mapping[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{text(value)}"' for key, value in facts.items())


def _compute_size(section: Section) -> str:
    if section.figures:
        return counted(len(section.figures), "figure")
    return counted(len(section.table.rows), "row") if section.table else ""


def _link(title: str, size: str, name: str) -> str:
    size_text = element("span", f" {size}", class_="faint") if size else ""
    return element("li", element("a", text(title), href=f"#{name}"), size_text)


def _section(section: Section, name: str, drawings: Drawings) -> str:
    heading = f"heading:{name}"
    parts = [_note(section.note)]
    if section.heat_map:
        parts.append(heat_map_markup(section.heat_map, named_by=heading))
    parts += [_figure(figure, key, drawings) for key, figure in section.figures.items()]
    if section.table:
        parts.append(table_markup(section.table, named_by=heading))
    if section.facts:
        parts.append(element("ul", *(element("li", text(fact)) for fact in section.facts)))
    if section.terms:
        pairs = (
            element("dt", text(term)) + element("dd", text(definition)) for term, definition in section.terms
        )
        parts.append(element("dl", *pairs))
    title = element("h2", text(section.title), id=heading)
    if not (section.table or section.terms):
        return element("section", title, "\n", *parts, id=name, tabindex="-1")
    opened = " open" if section.title in _OPEN else ""
    folded = f"<details{opened}>{element('summary', title)}{''.join(parts)}</details>"
    return element("section", folded, id=name, tabindex="-1")


def _figure(figure: Figure, name: str, drawings: Drawings) -> str:
    """Show a figure twice, for wide and for narrow screens; the style sheet hides one.

    A figure that is shown on demand is drawn once, and scrolls where it has no room.
    """
    if figure.is_detail:
        box = element("div", _drawn(figure, drawings, "fixed", _WIDE_PIXELS), class_="scroll", tabindex="0")
        body = element("details", element("summary", "show"), box)
    else:
        wide = _drawn(figure, drawings, "wide", _WIDE_PIXELS)
        body = wide + _drawn(figure, drawings, "narrow", _NARROW_PIXELS)
    return element(
        "figure",
        element("figcaption", element("h3", text(figure.title)), _note(figure.caption)),
        body,
        id=f"figure:{name}",
    )


def _drawn(figure: Figure, drawings: Drawings, screen: str, width: int) -> str:
    return element(
        "div",
        drawings.draw_svg(figure, width=width),
        class_=f"drawn {screen}",
        role="img",
        aria_label=figure.alternative,
    )


def _note(words: str) -> str:
    return element("p", text(words), class_="faint") if words else ""
