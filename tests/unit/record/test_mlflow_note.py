"""The description of a sweep in MLflow."""

from report_builders import hostile, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.report.headline import headline_of
from orchestrator.analysis.report.markdown import markdown_of
from orchestrator.record.tracking.mlflow_run import note_of


def test_it_is_the_headline_with_the_recommendation_and_where_the_page_is_without_tables():
    findings = findings_of(*tpu_vs_gpu())
    title, *sentences, where = [line for line in note_of(markdown_of("x", findings)).splitlines() if line]
    assert title == "## x"
    assert len(sentences) == len(headline_of(findings))
    assert sentences[0].startswith("- Not settled, for mnist\\_cnn (fastest). ")
    assert where == "The page with all figures and tables: tab *Artifacts*, `report.html`."


def test_nothing_of_a_record_is_markup_in_it():
    note = note_of(markdown_of("<img src=x>", findings_of(*hostile())))
    assert "\\<img" in note
    assert "<img" not in note.replace("\\<", "")


def test_one_that_is_too_long_for_a_tag_loses_its_last_sentences():
    note = note_of("## x\n\n" + "\n".join(f"- {'word ' * 100}{index}" for index in range(20)))
    assert len(note) < 5200
    assert note.startswith("## x\n\n- word")
    assert note.endswith("`report.html`.")
