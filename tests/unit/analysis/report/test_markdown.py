"""A report for a pull request: nothing of a record becomes markup."""

import re

from report_builders import hostile, measured, plan_of, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.export import format_markdown
from orchestrator.analysis.table import Column, Table, cut


def test_it_begins_with_the_headline_and_has_a_table_for_each_fate():
    told = format_markdown("tpu_vs_gpu", collect_findings(*tpu_vs_gpu()))
    assert told.startswith("## tpu\\_vs\\_gpu\n\n- Not settled, for mnist\\_cnn (fastest). ")
    assert "\n- 30 trials measured, 3 rehearsed, 1 failed, 4 points skipped.\n" in told
    titles = re.findall("^### (.*)$", told, re.MULTILINE)
    assert titles[:3] == ["Settings of the job", "Measure next", "Measured"]
    assert titles[-1] == "Skipped"


def test_a_command_can_be_pasted():
    told = format_markdown("tpu_vs_gpu", collect_findings(*tpu_vs_gpu()))
    assert " Run: `python -m orchestrator +sweep=single sweep.name=example workload=mnist_cnn " in told


def test_every_row_has_as_many_cells_as_its_table_has_columns():
    for block in format_markdown("x", collect_findings(*hostile())).split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1


def test_an_attack_stays_text():
    told = format_markdown("x", collect_findings(*hostile()))
    assert not re.search(r"(?<!\\)<", told)
    assert "\\<img src=x" in told


def test_a_long_table_is_cut_and_shows_it():
    records = [measured(steps=300 + index) for index in range(40)]
    told = format_markdown("x", collect_findings(records, plan_of(records)))
    assert "Shown are the first 30 of 40 rows; results.csv has every trial" in told


def test_a_short_table_is_left_as_it_is():
    table = Table(title="x", note="", columns=(Column(header="a"),), rows=(("1",), ("2",)))
    assert cut(table, most_rows=2) is table
    assert cut(table, most_rows=1).rows == (("1",),)
