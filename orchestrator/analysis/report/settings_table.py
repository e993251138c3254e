"""Every setting of a job: rate, cost and quality as interval plots, time and cost of the job beside them."""

from collections.abc import Collection, Mapping, Sequence

from orchestrator.analysis.figures.palette import choose_colour
from orchestrator.analysis.formatting import (
    UNKNOWN,
    counted,
    digits_for,
    duration_parts,
    number,
    rounded,
    share,
    shared_decimals,
)
from orchestrator.analysis.recommendation.answer.answer import RankedSetting, Recommendation
from orchestrator.analysis.recommendation.answer.summary import (
    chance,
    describe_setup,
    format_marks,
    known_by,
    marks_of_runs,
)
from orchestrator.analysis.report.html import element, header_variables, sorted_by, text
from orchestrator.analysis.report.interval_plot import Axis, axis_markup, axis_over, grid_style, plot_markup
from orchestrator.core.interval import Spread

_FILTERS: Mapping[str, str] = {
    "device": "device",
    "precision": "precision",
    "trainer": "trainer",
    "num_workers": "workers",
    "global_batch_size": "batch",
    "micro_batch_size": "micro batch",
    "activation_checkpointing": "checkpointing",
    "sharding": "sharding",
}
"""Factors that the page can filter by, with what people call them."""

_PLOTTED = {"rate": "samples/s", "usd": "$/M samples", "quality": "quality"}
_DETAILS = ("known by", "repeats", "range of samples/s", "remarks")
_MOST_DIGITS = 3
_MOST_ROWS = 100
_BETTER = {"rate": " \N{RIGHTWARDS ARROW} faster", "usd": " \N{LEFTWARDS ARROW} cheaper"}


def settings_table(recommendation: Recommendation, row_ids: Mapping[str, str], *, named_by: str) -> str:
    """Draw the table of one job, the fastest setting first.

    Args:
        row_ids: setting -> id of its row.
        named_by: id of the heading that is the table's name.
    """
    standings = _shown_settings(recommendation)
    axes = _find_axes(recommendation, standings)
    decimals = _compute_decimals(standings)
    grids = "".join(f"--{name}-grid:{grid_style(axis)};" for name, axis in axes.items())
    headers = ("setting", *(_PLOTTED[name] for name in axes), *_job_headers(axes), *_DETAILS)
    filters = build_filters(recommendation)
    rows = [
        _row(one, recommendation, axes, decimals, filters=filters, row_id=row_ids[one.setting])
        for one in standings
    ]
    table = element(
        "table",
        element("thead", _head(recommendation, axes)),
        "\n",
        element("tbody", *rows),
        aria_labelledby=named_by,
        class_="settings",
        style=header_variables(headers) + grids,
    )
    return element("div", table, class_="scroll", role="region", tabindex="0", aria_labelledby=named_by)


def _shown_settings(recommendation: Recommendation) -> list[RankedSetting]:
    """List the fastest settings, as many as a page can hold, and the chosen one."""
    standings = fastest_first(recommendation)
    rest = (one for one in standings[_MOST_ROWS:] if one.setting == recommendation.chosen)
    return [*standings[:_MOST_ROWS], *rest]


def rows_left_out(recommendation: Recommendation) -> str:
    """Describe how many settings the table leaves out; empty: it has all of them."""
    num_settings = len(recommendation.standings)
    if num_settings <= _MOST_ROWS:
        return ""
    return f"Shown are the {_MOST_ROWS:,} fastest of {num_settings:,} settings; results.csv has every trial."


def fastest_first(recommendation: Recommendation) -> list[RankedSetting]:
    """Sort the settings of a job by its time, the fastest first."""
    return sorted(recommendation.standings, key=lambda one: one.seconds.median)


def _find_axes(recommendation: Recommendation, standings: Sequence[RankedSetting]) -> dict[str, Axis]:
    costs = [usd for one in standings if (usd := one.usd_per_million_samples)]
    found = {
        "rate": axis_over([one.samples_per_second for one in standings], is_log=True),
        "usd": axis_over(costs, is_log=True, unit="$"),
        "quality": axis_over([one.quality.spread for one in standings if one.quality], is_log=False)
        if recommendation.aim
        else None,
    }
    return {name: axis for name, axis in found.items() if axis}


def _compute_decimals(standings: Sequence[RankedSetting]) -> dict[str, int | None]:
    """Choose the decimals of every column, so that its points stand below each other."""
    usd = [value.median for one in standings if (value := one.usd_per_million_samples)]
    return {
        "rate": shared_decimals((one.samples_per_second.median for one in standings), digits=3),
        "usd": shared_decimals(usd, digits=3),
        "quality": shared_decimals(one.quality.estimate for one in standings if one.quality),
        "job-usd": shared_decimals((one.usd.median for one in standings if one.usd), digits=3),
    }


def _head(recommendation: Recommendation, axes: Mapping[str, Axis]) -> str:
    metric = recommendation.aim.metric if recommendation.aim else ""
    names = {**_PLOTTED, "quality": metric}
    cells = [
        element("th", "setting", scope="col"),
        *(
            element(
                "th",
                _name(f"{names[name]}{_BETTER.get(name, '')}"),
                axis_markup(axis),
                scope="col",
                class_=f"number plotted {name}",
            )
            for name, axis in axes.items()
        ),
        *(element("th", _name(name), scope="col", class_="number") for name in _job_headers(axes)),
        *(
            element("th", _name(name), scope="col", class_=f"detail{' number' if name == 'repeats' else ''}")
            for name in _DETAILS
        ),
    ]
    return element("tr", *cells)


def _job_headers(axes: Mapping[str, Axis]) -> tuple[str, ...]:
    return ("time of the job", *(["$ of the job"] if "usd" in axes else []), "chance")


def _name(words: str) -> str:
    return element("span", text(words), class_="name")


def _row(
    one: RankedSetting,
    recommendation: Recommendation,
    axes: Mapping[str, Axis],
    decimals: Mapping[str, int | None],
    *,
    filters: Collection[str],
    row_id: str,
) -> str:
    rate = one.samples_per_second
    quality = one.quality.spread if one.quality else None
    values = {"rate": rate, "usd": one.usd_per_million_samples, "quality": quality}
    cells = [_setting_cell(one, recommendation)]
    cells += [
        _plotted_cell(values[name], axis, one, name=name, decimals=decimals[name])
        for name, axis in axes.items()
    ]
    middle, low, high = duration_parts(one.seconds, digits=digits_for(one.seconds))
    cells.append(_job_cell((middle, f"{low} to {high}" if low else ""), one.seconds, name="job-time"))
    if "usd" in axes:
        usd = None if one.usd is None else _with_range(one.usd, decimals["job-usd"])
        cells.append(_job_cell(usd, one.usd, name="job-usd"))
    cells.append(element("td", text(chance(one.chance)), class_="number", data_value=sorted_by(one.chance)))
    remarks = ", ".join(_remarks(one, recommendation))
    cells += [
        element("td", text(one.provenance), class_="detail"),
        element("td", text(f"{len(one.rates):,}"), class_="detail number", data_value=str(len(one.rates))),
        element("td", text(_with_range(rate, None)[1]), class_="detail"),
        element("td", text(remarks or UNKNOWN), class_="detail"),
    ]
    factors = {f"data_{key}": value for key, value in one.factors.items() if key in filters}
    classes = [one.provenance, *(["best"] if one.setting == recommendation.chosen else [])]
    colour = choose_colour(one.factors.get("precision", "")).name
    attributes = {"style": f"--mark:var(--{colour})", **factors, **_calculated(one, recommendation)}
    return element("tr", *cells, id=row_id, class_=" ".join(classes), **attributes) + "\n"


def _calculated(one: RankedSetting, recommendation: Recommendation) -> dict[str, str]:
    """Give the script what it needs to compute another length of the job."""
    if recommendation.samples is None:
        return {}
    facts = {
        "data_fixed": one.fixed_seconds,
        "data_rate": one.samples_per_second.median / (1 + one.checkpoint_share),
        "data_low": one.seconds.low / one.seconds.median,
        "data_high": one.seconds.high / one.seconds.median,
    }
    if one.usd_per_second is not None:
        facts["data_price"] = one.usd_per_second
    return {name: f"{value:.6g}" for name, value in facts.items()}


def _setting_cell(one: RankedSetting, recommendation: Recommendation) -> str:
    device = one.device
    label = one.setting
    bold = (
        element("b", text(device)) + text(label.removeprefix(device))
        if label.startswith(device)
        else text(label)
    )
    tags = [_describe_basis(one)]
    if one.setting == recommendation.chosen:
        tags.append("recommended" if recommendation.state in ("settled", "tie") else "best measured")
    return element(
        "th", bold, element("span", text(", ".join(tags)), class_="tag"), scope="row", data_text=label
    )


def _describe_basis(one: RankedSetting) -> str:
    """Describe what a row is known by, and what does not decide: `3 repeats, 1 noisy`, `predicted`."""
    if not one.rates:
        return known_by(one)
    return counted(len(one.rates), "repeat") + marks_of_runs(one)


def _plotted_cell(
    value: Spread | None, axis: Axis, one: RankedSetting, *, name: str, decimals: int | None
) -> str:
    if value is None:
        return element("td", text(UNKNOWN), class_=f"number plotted absent {name}")
    words, ends = _with_range(value, decimals)
    title = f"{words} {_PLOTTED[name]}, {ends or 'no range'}, {_describe_basis(one)}"
    plot = plot_markup(
        value,
        axis,
        mark="measured" if name == "quality" else one.provenance,
        rings=one.rates if name == "rate" else (),
        title=title,
    )
    return element(
        "td",
        element("span", text(words)),
        plot,
        class_=f"number plotted {name}",
        data_value=sorted_by(value.median),
    )


def _job_cell(words: tuple[str, str] | None, value: Spread | None, *, name: str) -> str:
    """Show a number of the job, and its range below it."""
    if words is None or value is None:
        return element("td", text(UNKNOWN), class_=f"number absent {name}")
    median, ends = words
    return element(
        "td",
        element("span", text(median)),
        element("small", text(ends)),
        class_=f"number {name}",
        data_value=sorted_by(value.median),
    )


def _with_range(value: Spread, decimals: int | None) -> tuple[str, str]:
    digits, shown = digits_for(value), rounded(value)
    middle = number(shown.median, digits=digits, decimals=None if digits < _MOST_DIGITS else decimals)
    return middle, _range(shown, digits=digits)


def _range(value: Spread, *, digits: int = 4) -> str:
    if value.low >= value.high:
        return ""
    return f"{number(value.low, digits=digits)} to {number(value.high, digits=digits)}"


def _remarks(one: RankedSetting, recommendation: Recommendation) -> list[str]:
    remarks = []
    if one.setting in recommendation.tied:
        remarks.append("tie")
    if one.on_front:
        remarks.append("on the front of time, cost and quality")
    if marks := format_marks(one.price_marks):
        remarks.append(f"price {marks}")
    return remarks


def format_legend(recommendation: Recommendation) -> str:
    """Explain the marks that a table has."""
    provenances = {one.provenance for one in recommendation.standings}
    parts = [
        "The fastest job is first. Colours tell the precision. Rates and costs are on log axes.",
        "Filled: measured, mean and range, a ring per repeat. Quality has its 95% interval.",
    ]
    hollow = "its 90% interval"
    if "predicted" in provenances:
        parts.append(f"Hollow circle: predicted, with {hollow}.")
    if "compiled" in provenances:
        parts.append(f"Hollow diamond: compiled by the device's own compiler, with {hollow}.")
    within = share(recommendation.tolerance)
    parts.append(
        f"Time and cost are for {recommendation.basis}. {describe_setup([recommendation])} "
        f"Chance: to keep to the limits and lie within {within} of the best."
    )
    return " ".join(parts)


def build_filters(recommendation: Recommendation) -> dict[str, tuple[str, list[str]]]:
    """Name the factors that vary: key -> what people call it, and its levels."""
    levels = {
        key: list(dict.fromkeys(value for one in recommendation.standings if (value := one.factors.get(key))))
        for key in _FILTERS
    }
    return {key: (_FILTERS[key], values) for key, values in levels.items() if len(values) > 1}
