"""Figures become SVG with variables for colours, titles of marks, and nothing of a name as markup."""

import io
import re
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageStat
from report_builders import HOSTILE

from orchestrator.analysis.figures import drawing
from orchestrator.analysis.figures.drawing import draw_png, draw_svg, drawing_key, vega_svg, whole_spec
from orchestrator.analysis.figures.palette import BLUE, PAGE, on_paper
from orchestrator.analysis.figures.vega_lite import Figure, axis, colours, mark_label, panels, single

SVG = "{http://www.w3.org/2000/svg}"


def figure(name="a", label="row:0-1\ntold"):
    values = [{"panel": name, "precision": "fp32", "x": x, "y": x**2, "label": label} for x in (1.0, 2.0)]
    spec = {
        "data": {"values": values},
        "mark": {"type": "point", "aria": True},
        "encoding": {
            "x": axis("x", name),
            "y": axis("y", "y"),
            "color": colours(values),
            "description": {"field": "label"},
        },
    }
    return Figure(
        title="T",
        caption="",
        alternative="",
        build_spec=lambda width: panels([name], spec, width=width, height=100),
    )


def parsed(**changes):
    return ElementTree.fromstring(draw_svg(figure(**changes), width=700))  # noqa: S314 - own markup


def test_marks_have_titles_and_name_their_row():
    marks = [element for element in parsed().iter() if element.get("data-row")]
    assert [mark.get("data-row") for mark in marks] == ["row:0-1"] * 2
    assert [mark.find(f"{SVG}title").text for mark in marks] == ["told"] * 2


def test_a_drawing_for_a_phone_has_no_titles_because_no_pointer_shows_them():
    svg = draw_svg(figure(), width=400)
    assert "<title>" not in svg
    assert svg.count("data-row=") == 2


def test_a_smaller_drawing_looks_like_the_one_that_vega_makes():
    whole = vega_svg(whole_spec(figure(), 700))
    slim = draw_svg(figure(), width=700)
    assert len(slim) < 0.6 * len(whole)
    with (
        Image.open(io.BytesIO(draw_png(whole, scale=1))) as first,
        Image.open(io.BytesIO(draw_png(slim, scale=1))) as second,
    ):
        apart = ImageChops.difference(first.convert("L"), second.convert("L"))
    assert ImageStat.Stat(apart).mean[0] < 0.5, "of 255: coordinates are rounded"


def test_colours_are_variables_with_their_value_on_white():
    svg = draw_svg(figure(), width=700)
    assert f"var(--blue, {BLUE.light})" in svg
    assert "var(" not in on_paper(svg)
    assert BLUE.light in on_paper(svg)


def test_the_key_of_a_drawing_is_that_of_all_it_depends_on(monkeypatch):
    def key(width=700, **changes):
        return drawing_key(whole_spec(figure(**changes), width))

    first = key()
    assert key() == first
    assert len({first, key(width=400), key(name="b"), key(label="row:0-2\ntold")}) == 4
    monkeypatch.setattr(drawing, "version", lambda _: "99")
    assert key() != first


@pytest.mark.parametrize("name", [HOSTILE, "a\x00b\x1b[31m", "\ud800"])
def test_names_stay_text(name):
    root = parsed(name=name, label=mark_label(name))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "g",
        "circle",
        "path",
        "line",
        "text",
        "title",
    }
    assert not [
        key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key
    ]
    words = "".join(element.text or "" for element in root.iter())
    assert ("<img src=x" in words) == (name == HOSTILE)


def test_no_role_is_left_inside_an_image():
    assert not re.search(r"role=|aria-", draw_svg(figure(), width=700))


def test_a_png_has_a_white_background_and_is_scaled():
    svg = draw_svg(figure(), width=700)
    with Image.open(io.BytesIO(draw_png(svg, scale=2))) as image:
        assert image.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
        assert image.width == pytest.approx(2 * float(re.search(r'width="([\d.]+)"', svg)[1]), abs=2)
    assert PAGE.light == "#ffffff"


def test_panels_stand_below_each_other_where_there_is_no_room():
    spec = {"data": {"values": []}, "mark": "point"}
    columns = {
        width: panels(["a", "b", "c"], spec, width=width, height=100)["columns"] for width in (350, 700, 1200)
    }
    assert columns == {350: 1, 700: 2, 1200: 3}
    assert single(spec, width=700, height=100)["height"] == 100
