"""Colours of the page can be read, on light and dark screens and on paper: WCAG 2.2, 1.4.3 and 1.4.11."""

import re
from importlib.resources import files

import pytest

from orchestrator.analysis.figures.palette import SHAPES

STYLE = (files("orchestrator.analysis.report") / "assets" / "report.css").read_text()
LEAST_OF_TEXT, LEAST_OF_SHAPES = 4.5, 3.0
PAIRS = [
    (text, page)
    for text in ("--text", "--faint", "--accent", "--fail")
    for page in ("--page", "--card", "--warn-page")
]
THEMES = ("light", "dark", "print")


def themes():
    """Theme -> name -> colour, in the order in which the style sheet has them."""
    blocks = re.findall(r":root \{([^}]*)\}", STYLE)
    return dict(
        zip(THEMES, (dict(re.findall(r"(--[a-z-]+): (#\w{6});", block)) for block in blocks), strict=True)
    )


def luminance(colour):
    """Relative luminance of `#rrggbb`: WCAG 2.2, definitions."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_21_to_1_and_a_colour_on_itself_1_to_1():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#2f6db3", "#2f6db3") == 1


@pytest.mark.parametrize("theme", THEMES)
def test_text_stands_out_from_what_it_is_written_on(theme):
    colours = themes()[theme]
    faint = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in PAIRS}
    assert {pair: each for pair, each in faint.items() if each < LEAST_OF_TEXT} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_marks_stand_out_from_the_page(theme):
    page = themes()[theme].get("--page")
    shapes = {shape.dark if theme == "dark" else shape.light for shape in SHAPES}
    assert {shape for shape in shapes if contrast(shape, page) < LEAST_OF_SHAPES} == set()


def test_no_two_shapes_have_one_colour():
    assert len({shape.light for shape in SHAPES}) == len({shape.dark for shape in SHAPES}) == len(SHAPES)


def test_the_style_uses_no_colour_beside_those_that_are_checked():
    rules = re.sub(r":root \{[^}]*\}", "", STYLE)
    assert re.findall(r"#[0-9a-f]{3,8}\b(?![^{]*\{)|rgb\(|hsl", rules) == []


def test_figures_of_a_narrow_page_break_at_blanks_alone():
    narrow = STYLE.partition("@media screen and (max-width: 44rem) {")[2].partition("@page")[0]
    anywhere, figures = (
        narrow.index("overflow-wrap: anywhere"),
        narrow.index("td.number { overflow-wrap: normal"),
    )
    assert anywhere < figures, "of equal weight, so that the later one counts"
    assert "td.plotted { grid-template-columns: 8.5rem minmax(3.6rem, max-content) 1fr;" in narrow
