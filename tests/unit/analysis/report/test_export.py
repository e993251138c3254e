"""Trials and comparisons as CSV and Parquet, with every column documented."""

import io
import re

import pandas as pd
import pytest
from report_builders import baseline_of, hostile, measured, plan_of, rehearsed, repeats, tpu_vs_gpu
from repository import ROOT

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import COLUMNS
from orchestrator.analysis.report.export import (
    COMPARISON_COLUMNS,
    RECOMMENDATION_COLUMNS,
    comparisons_frame,
    format_csv,
)
from orchestrator.analysis.tables.plan import PLAN_COLUMNS
from orchestrator.core.objective import FASTEST
from orchestrator.pipeline.report import files_in, write_report

DOCUMENTED = (ROOT / "docs/reference/results.md").read_text()


def nothing():
    return [], plan_of([])


def only_rehearsed():
    return [rehearsed()], plan_of([rehearsed()])


def test_every_column_is_documented_and_no_other():
    parts = (part.partition("\n") for part in re.split("^## ", DOCUMENTED, flags=re.MULTILINE))
    sections = {title: text for title, _, text in parts}
    results, comparisons, notebook = (
        sections[title] for title in ("results", "comparisons", "In a notebook")
    )
    names = r"^\| `(\w+)` \|"
    assert re.findall(names, results, re.MULTILINE) == list(COLUMNS)
    assert re.findall(names, comparisons, re.MULTILINE) == ["kind", *COMPARISON_COLUMNS]
    in_notebooks = [*RECOMMENDATION_COLUMNS, *PLAN_COLUMNS]
    assert re.findall(names, notebook, re.MULTILINE) == in_notebooks


def test_a_csv_is_read_back_with_one_row_per_trial():
    findings = collect_findings(*tpu_vs_gpu())
    found = pd.read_csv(io.StringIO(format_csv(findings.frame)), keep_default_na=False)
    assert list(found.columns) == [*COLUMNS, "quality.accuracy"]
    assert len(found) == len(findings.records) == 34
    assert set(found["provenance"]) == {"measured", "rehearsed"}
    rehearsals = found[found["provenance"] == "rehearsed"]
    assert set(rehearsals["steady_samples_per_second"]) == {""}


def test_a_text_that_a_spreadsheet_would_compute_is_inert():
    records = [measured(workload='=HYPERLINK("http://127.0.0.1","x")')]
    text = format_csv(collect_findings(records, plan_of(records)).frame)
    assert "'=HYPERLINK" in text
    assert not re.search(r'(^|[,"])=HYPERLINK', text, re.MULTILINE)


def test_comparisons_are_numbers_with_their_verdicts():
    rates = (1000, 1010, 990, 1005, 995)
    records = [*repeats(rates=rates), *repeats(rates=[2 * rate for rate in rates], precision="bf16")]
    findings = collect_findings(records, plan_of(records, baseline=baseline_of(records, precision="fp32")))
    frame = comparisons_frame(findings)
    assert list(frame["kind"]) == ["baseline", "pair"]
    assert list(frame["ratio"]) == pytest.approx([2, 2])
    assert set(frame["verdict"]) == {"faster"}
    single = [measured(), measured(precision="bf16")]
    assert comparisons_frame(collect_findings(single, plan_of(single)))["ratio_low"].isna().all()


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile, nothing, only_rehearsed])
def test_a_report_is_files_of_every_form(case, tmp_path):
    records, plan = case()
    folder = tmp_path / "sweep"
    outcome = write_report(folder, records, plan, FASTEST)
    assert outcome.files == files_in(folder)
    assert [file.name for file in outcome.files] == [
        "report.html",
        "report.md",
        "results.csv",
        "results.parquet",
        "comparisons.csv",
        "plan.json",
    ]
    table = pd.read_parquet(folder / "results.parquet")
    assert list(table.columns) == list(outcome.findings.frame.columns)
    assert len(table) == len(outcome.findings.records)
