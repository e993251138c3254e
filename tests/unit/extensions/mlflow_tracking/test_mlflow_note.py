"""The description of a sweep in MLflow."""

from builders import record
from price_builders import price
from report_builders import HOSTILE, hostile, rehearsed, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.export import format_markdown
from orchestrator.analysis.report.headline import build_headline
from orchestrator.core.result import Failure
from orchestrator.extensions.mlflow_tracking.notes import attempt_note, find_note


def test_it_is_the_headline_with_the_recommendation_and_where_the_page_is_without_tables():
    findings = collect_findings(*tpu_vs_gpu())
    title, *sentences, where = [
        line for line in find_note(format_markdown("x", findings)).splitlines() if line
    ]
    assert title == "## x"
    assert len(sentences) == len(build_headline(findings))
    assert sentences[0].startswith("- Not settled, for mnist\\_cnn (fastest). ")
    assert where == "The page with all figures and tables: tab *Artifacts*, `report.html`."


def test_no_text_of_a_record_is_markup_in_the_note():
    note = find_note(format_markdown("<img src=x>", collect_findings(*hostile())))
    assert "\\<img" in note
    assert "<img" not in note.replace("\\<", "")


def test_one_that_is_too_long_for_a_tag_loses_its_last_sentences():
    note = find_note("## x\n\n" + "\n".join(f"- {'word ' * 100}{index}" for index in range(20)))
    assert len(note) < 5200
    assert note.startswith("## x\n\n- word")
    assert note.endswith("`report.html`.")


def test_an_attempt_is_described_by_its_computation_its_data_and_its_price():
    assert attempt_note(record(price=price(is_hypothetical=True))).split("\n\n") == [
        "mnist\\_cnn with torch\\_ddp on 1 x cpu, fp32, batch 64, 120 steps, seed 0, repeat 0.",
        "Data: mnist\\_cnn \\(synthetic\\).",
        "Price: cpu-box on demand in here, $3.6/h of 2026-09-01, list price.",
    ]


def test_the_note_of_a_rehearsal_begins_with_not_measured():
    first, *_ = attempt_note(rehearsed()).split("\n\n")
    assert first == (
        "Rehearsed, not measured: only the code path ran \\(cpu for t4; gloo for nccl\\). It has no times."
    )


def test_a_failure_is_described_by_its_cause_and_the_first_and_last_lines_of_its_log():
    failed = record(failure=Failure(kind="oom", message="killed"))
    cause, *_, told, block = attempt_note(
        failed, log="".join(f"line {index}\n" for index in range(1000))
    ).split("\n\n")
    assert cause == "oom: killed"
    assert told == "Log of the workers (all of it: tab *Artifacts*, `log`):"
    lines = block.splitlines()
    assert (lines[0], lines[15], lines[-1]) == ("    line 0", "    … 970 lines …", "    line 999")


def test_no_text_of_a_log_or_a_cause_is_markup_in_the_note():
    failed = record(failure=Failure(kind="error", message=HOSTILE))
    note = attempt_note(failed, log=f"```\n{HOSTILE}\n")
    *sentences, block = note.split("\n\n")
    assert "<" not in "".join(sentences).replace("\\<", "")
    assert all(line.startswith("    ") for line in block.splitlines())


def test_a_description_fits_a_tag_however_long_the_cause_is():
    failed = record(failure=Failure(kind="error", message="word " * 10_000))
    assert len(attempt_note(failed, log="word " * 10_000)) <= 5000
