"""Tables as markup: every word is text, and every number carries the value that it is sorted by."""

import math
import re

import pytest
from report_builders import HOSTILE

from orchestrator.analysis.formatting import FileLink, Number, count, number, percent, ratio, share, spread
from orchestrator.analysis.report.html import element, table_markup
from orchestrator.analysis.table import Column, Table, cut
from orchestrator.core.interval import Spread


def table(*rows, headers=("name", "samples/s"), has_total=False):
    columns = tuple(Column(header=each, is_number=index > 0) for index, each in enumerate(headers))
    return Table(title="T", note="", columns=columns, rows=rows, has_total=has_total)


def cells(found):
    return re.findall(r"<td[^>]*>", table_markup(found, named_by="heading:t"))


@pytest.mark.parametrize(
    ("shown", "words", "value"),
    [
        (number(12345.678), "12,346", 12345.678),
        (spread(Spread(median=0.0112, low=0.011, high=0.0114), factor=1000), "11.20 [11.00, 11.40]", 11.2),
        (ratio(Spread(median=1.3, low=1.2, high=1.4)), "1.30x [1.20, 1.40]", 1.3),
        (percent(Spread(median=0.934, low=0.9, high=0.96)), "93% [90, 96]", 0.934),
        (share(0.0123, decimals=1), "1.2%", 0.0123),
        (count(2000), "2,000", 2000),
    ],
)
def test_a_number_is_sorted_by_its_value_and_not_by_its_words(shown, words, value):
    assert shown == words
    (_, cell) = cells(table(("a", shown)))
    assert float(re.search('data-value="([^"]+)"', cell)[1]) == pytest.approx(value, rel=1e-12)


def test_what_is_not_known_has_no_value_and_is_marked_absent():
    for unknown in (number(math.nan), spread(Spread(median=math.nan, low=0, high=0)), share(math.nan)):
        (_, cell) = cells(table(("a", unknown)))
        assert "data-value" not in cell
        assert 'class="number absent"' in cell
    assert "data-value" not in cells(table(("a", Number("not reached", math.inf))))[1]


def test_a_name_that_looks_like_a_number_is_no_number():
    assert "data-value" not in cells(table(("12", number(1.0))))[0]


def test_hostile_headers_cells_and_names_stay_text():
    markup = table_markup(
        table((HOSTILE, Number(HOSTILE, 1.0)), headers=(HOSTILE, HOSTILE)), named_by=HOSTILE
    )
    assert set(re.findall(r"<(\w+)", markup)) == {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert "onerror=" not in re.sub('"[^"]*"', "", re.sub(">[^<]*<", "><", markup))


def test_a_total_is_below_the_body_and_stays_when_the_table_is_cut():
    rows = tuple((str(index), count(index)) for index in range(9))
    whole = table(*rows, ("all", count(36)), has_total=True)
    short = cut(whole, most_rows=2)
    assert [row[0] for row in short.rows] == ["0", "1", "all"]
    assert short.note.startswith("Shown are the first 2 of 9 rows")
    body, foot = table_markup(short, named_by="t").split("<tfoot>")
    assert (body.count("<tr>"), foot.count("<tr>")) == (3, 1)
    assert cut(whole, most_rows=9) == whole


def test_every_box_can_have_the_focus():
    markup = table_markup(table(("a", count(1))), named_by="heading:t")
    assert markup.startswith('<div class="scroll" role="region" tabindex="0" aria-labelledby="heading:t">')


def test_details_and_what_has_no_room_are_shown_on_demand():
    columns = tuple(Column(header=str(index), is_detail=index == 1) for index in range(10))
    wide = Table(title="T", note="", columns=columns, rows=(tuple("abcdefghij"),))
    markup = table_markup(wide, named_by="t")
    hidden = re.findall(r'<th scope="col" class="detail"><span class="name">(\d)', markup)
    assert hidden == ["1", "8", "9"]
    assert markup.startswith('<label class="columns"><input type="checkbox">')


def test_headers_have_the_scope_of_columns():
    assert '<th scope="col" class="number"><span class="name">samples/s</span></th>' in table_markup(
        table(), named_by="t"
    )


def test_attributes_are_escaped():
    assert element("p", title='a"b<c') == '<p title="a&quot;b&lt;c"></p>'


@pytest.mark.parametrize(
    ("path", "is_linked"),
    [
        ("logs/0a1b/attempt_1", True),
        ("../x", False),
        ("javascript:x()", False),
        ("//host/x", False),
        (HOSTILE, False),
    ],
)
def test_only_files_beside_the_page_are_linked(path, is_linked):
    assert ("<a href=" in table_markup(table((FileLink(path), count(1))), named_by="t")) == is_linked
