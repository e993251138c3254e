"""Tables in terminals of every width: numbers stay whole, and what is left out is said."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.terminal.table_layout import GAP, compute_widths, fitted

MEASURED = Table(
    title="Measured",
    note="Medians.",
    columns=(
        Column(header="trainer", rank=Rank.SETTING),
        Column(header="samples/s", is_number=True, rank=Rank.RATE),
        Column(header="set-up s", is_number=True, is_detail=True),
        Column(header="accuracy", is_number=True, rank=Rank.QUALITY),
        Column(header="over", rank=Rank.REPEATS),
    ),
    rows=(
        ("torch_ddp", "14,744 [14,260, 17,217]", "0.06657", "0.9670", "15 blocks"),
        ("torch_xla", "4,607 [4,440, 4,754]", "0.06547", "0.9710", "15 blocks"),
    ),
)
DIFFERING = replace(MEASURED, rows=(MEASURED.rows[0], (*MEASURED.rows[1][:-1], "16 blocks")))
FAILED = Table(
    title="Failed",
    note="",
    columns=(Column(header="trial"), Column(header="cause"), Column(header="log")),
    rows=(("mnist_cnn cpu noop fp32", "error: this failure was asked for", "logs/3162e7ddbf8ede54-1"),),
)


def headers(table):
    return [column.header for column in table.columns]


def test_a_table_that_fits_stays_as_it_is():
    assert fitted(MEASURED, width=80) == MEASURED


def test_what_all_rows_share_is_left_out_before_a_row_takes_two_lines():
    slim = fitted(MEASURED, width=62)
    assert headers(slim) == ["trainer", "samples/s", "set-up s", "accuracy"]
    assert slim.rows[0][1] == "14,744 [14,260, 17,217]"
    assert slim.note.endswith("over (15 blocks in all rows).")


@pytest.mark.parametrize("width", [60, 100, 120])
def test_a_wide_column_that_all_rows_share_leaves_before_it_takes_others_along(width):
    command = "script " + "--option value " * 7
    wide = replace(
        MEASURED,
        columns=(Column(header="workload", rank=Rank.SETTING), *MEASURED.columns),
        rows=tuple((command, *row) for row in MEASURED.rows),
    )
    slim = fitted(wide, width=width)
    assert headers(slim)[:2] == ["trainer", "samples/s"]
    assert f"workload ({command} in all rows)" in slim.note


def test_prose_is_folded_before_a_number_is():
    assert fitted(DIFFERING, width=62) == DIFFERING
    assert compute_widths(MEASURED, width=65)[-1] == len("15 blocks")
    assert compute_widths(MEASURED, width=62)[-1] == len("blocks")


def test_where_numbers_have_no_room_their_intervals_go_below_them():
    slim = fitted(DIFFERING, width=60)
    assert headers(slim) == ["trainer", "samples/s", "set-up\ns", "accuracy", "over"]
    assert slim.rows[0] == ("torch_ddp", "14,744\n[14,260, 17,217]", "0.06657", "0.9670", "15 blocks")
    assert slim.note == "Medians."


def test_a_remark_on_an_interval_goes_below_it():
    columns = (Column(header="device"), Column(header="$ [90%]", is_number=True))
    priced = Table(title="", note="", columns=columns, rows=(("t4", "0.93 [0.55, 1.57] hypothetical"),))
    assert fitted(priced, width=24).rows[0] == ("t4", "0.93\n[0.55, 1.57]\nhypothetical")


def test_what_all_rows_share_is_left_out_first_and_its_value_is_named():
    slim = fitted(MEASURED, width=52)
    assert headers(slim) == ["trainer", "samples/s", "set-up\ns", "accuracy"]
    assert slim.note == (
        "Medians. Columns left out because the terminal is too narrow: over (15 blocks in all rows)."
    )


def test_the_column_of_the_last_rank_is_left_out_first():
    slim = fitted(MEASURED, width=40)
    assert headers(slim) == ["trainer", "samples/s", "accuracy"]
    assert slim.note == (
        "Medians. Columns left out because the terminal is too narrow: "
        "set-up s, over (15 blocks in all rows)."
    )
    assert headers(fitted(MEASURED, width=30)) == ["trainer", "samples/s"]


def test_setting_rate_cost_quality_and_repeats_stay_longest_in_that_order():
    ranks = (Rank.OTHER, Rank.REPEATS, Rank.QUALITY, Rank.COST, Rank.RATE, Rank.SETTING)
    columns = (Column(header="key"), *(Column(header=rank.name, is_number=True, rank=rank) for rank in ranks))
    rows = tuple((name, *(f"{name}{rank:08}" for rank in ranks)) for name in ("a", "b"))
    table = Table(title="", note="", columns=columns, rows=rows)
    kept = [headers(fitted(table, width=width))[1:] for width in range(70, 3, -11)]
    names = [rank.name for rank in ranks]
    assert kept == [names[left:] for left in range(7)]


def test_the_first_column_stays_in_any_terminal():
    assert headers(fitted(MEASURED, width=5)) == ["trainer"]
    assert headers(fitted(FAILED, width=5)) == ["trial"]


def test_a_path_is_not_broken_where_there_is_another_way():
    assert compute_widths(FAILED, width=70)[-1] == len("logs/3162e7ddbf8ede54-1")
    assert compute_widths(FAILED, width=40)[-1] < len("logs/3162e7ddbf8ede54-1")


def test_a_table_without_rows_has_the_widths_of_its_headers():
    empty = Table(title="", note="", columns=MEASURED.columns, rows=())
    assert compute_widths(empty, width=80) == tuple(len(column.header) for column in MEASURED.columns)


@given(st.integers(36, 120))
def test_no_table_is_wider_than_its_terminal(width):
    for table in (MEASURED, FAILED):
        widths = compute_widths(fitted(table, width=width), width=width)
        assert sum(widths) + GAP * (len(widths) - 1) <= width
