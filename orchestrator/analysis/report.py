"""One self-contained page that opens offline: headline, tables, figures, method, environment."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from orchestrator.analysis.choice import front_figures
from orchestrator.analysis.findings import Findings, tables_of
from orchestrator.analysis.headline import headline_of
from orchestrator.analysis.markup import data_block, element, table_markup, text
from orchestrator.analysis.method import STANDIN, environment_table, method_of, uses_standin
from orchestrator.analysis.plots import Figure, loss_figures, throughput_figures
from orchestrator.analysis.tables import cut
from orchestrator.analysis.trends import scaling_figures, step_cost_figures
from orchestrator.analysis.wording import day_and_time
from orchestrator.core.result import TrialRecord

_MOST_ROWS = 500


def render(*, sweep: str, findings: Findings) -> str:
    """The page of a sweep: the same for the same findings, whenever it is made."""
    figures = (
        *throughput_figures(findings.measured),
        *front_figures([each.job for each in findings.advice]),
        *step_cost_figures(findings.step_costs),
        *scaling_figures(findings.scaling),
        *loss_figures(findings.records),
    )
    scripts = (plotly(), _asset("report.js")) if figures else ()
    body = (*_top(sweep, findings), *_findings(findings, figures), *_method(findings))
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en">',
            _head(sweep, scripts=scripts),
            "<body>",
            *body,
            *(element("script", each) for each in scripts),
            "</body>",
            "</html>\n",
        )
    )


@cache
def plotly() -> str:
    """Plotly's own script, version and licence in its first lines."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _asset(name: str) -> str:
    return (files("orchestrator.analysis") / name).read_text(encoding="utf-8")


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
    hashes = (b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in hashes) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    )


def _top(sweep: str, findings: Findings) -> Iterator[str]:
    yield element("h1", text(sweep))
    yield element("p", text(_period_of(findings.records)), class_="faint")
    yield element("ul", *(element("li", text(each)) for each in headline_of(findings)), class_="headline")
    if uses_standin(findings):
        yield element("p", text(STANDIN), class_="notice")


def _period_of(records: Sequence[TrialRecord]) -> str:
    if not records:
        return "No trial has been run."
    first = min(each.started_at for each in records)
    last = max(each.ended_at for each in records)
    return f"Trials run from {day_and_time(first)} to {day_and_time(last)}."


def _findings(findings: Findings, figures: Sequence[Figure]) -> Iterator[str]:
    for table in (cut(each, most_rows=_MOST_ROWS) for each in tables_of(findings)):
        drawn = _drawn(figures) if table.title == "Measured" else ""
        yield _section(table.title, _note(table.note), table_markup(table), drawn)


def _drawn(figures: Sequence[Figure]) -> str:
    return "\n".join(_figure(figure, f"plot-{index}") for index, figure in enumerate(figures, start=1))


def _figure(figure: Figure, plot_id: str) -> str:
    return element(
        "div",
        element("h3", text(figure.title)),
        _note(figure.caption),
        element("div", class_="plot", data_plot=plot_id, style=f"height: {figure.height_pixels}px"),
        "<noscript>Figures need JavaScript; the table holds their numbers.</noscript>",
        data_block(plot_id, figure.plot),
        class_="figure",
    )


def _method(findings: Findings) -> Iterator[str]:
    pairs = (element("dt", text(term)) + element("dd", text(said)) for term, said in method_of(findings))
    yield _section("How it was measured", element("dl", *pairs))
    environment = environment_table(findings.records)
    if environment.rows:
        yield _section(environment.title, table_markup(environment))


def _section(title: str, *content: str) -> str:
    section_id = title.lower().replace(",", "").replace(" ", "-")
    return element("section", element("h2", text(title)), "\n", *content, id=section_id)


def _note(words: str) -> str:
    return element("p", text(words), class_="faint") if words else ""
