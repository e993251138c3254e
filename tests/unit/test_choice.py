"""What is recommended: in the table, in the figure and in words."""

import plotly.graph_objects as go
from report_cases import measured, plan_of

from orchestrator.analysis.advice import advice_on
from orchestrator.analysis.choice import choice_table, front_figures
from orchestrator.analysis.decision import decisions_of
from orchestrator.analysis.findings import findings_of, tables_of
from orchestrator.analysis.headline import headline_of
from orchestrator.analysis.pareto import Candidate, Job, with_front
from orchestrator.core.placement import Aim
from orchestrator.core.wish import Wish

ACCURACY = Aim(metric="accuracy", higher_is_better=True)


def job(*candidates):
    return Job(where="mnist_cnn", aim=ACCURACY, candidates=with_front(candidates, ACCURACY))


FAST = Candidate(label="t4, bf16", seconds=60, quality=0.95)
GOOD = Candidate(label="cpu, fp32", seconds=600, quality=0.99)


def test_a_row_says_time_quality_front_and_recommendation():
    table = choice_table([advice_on(job(FAST, GOOD), Wish())])
    assert table.title == "Time and quality"
    assert table.rows == (
        ("mnist_cnn", "t4, bf16", "60.00", "accuracy 0.9500", "on the front, recommended"),
        ("mnist_cnn", "cpu, fp32", "600.0", "accuracy 0.9900", "on the front"),
    )


def test_a_cost_has_a_column_where_one_is_known():
    dear = Candidate(label="t4, bf16", seconds=60, quality=0.95, cost_usd=5.0)
    table = choice_table([advice_on(job(dear, GOOD), Wish())])
    assert table.title == "Time, cost and quality"
    assert [row[3] for row in table.rows] == ["5.000", "\N{EN DASH}"]


def test_a_cost_stands_with_its_marks_wherever_it_is_told():
    marked = Candidate(
        label="t4, bf16", seconds=60, quality=0.95, cost_usd=5.0, cost_marks="hypothetical, old"
    )
    found = advice_on(job(marked, GOOD), Wish())
    table = choice_table([found])
    assert [row[3] for row in table.rows] == ["5.000 hypothetical, old", "\N{EN DASH}"]
    assert "failed ones are in the table of costs" in table.note
    (told,) = decisions_of([found], Wish())
    assert told.facts == "60.00 s, $5.000 hypothetical, old, accuracy 0.9500"
    (figure,) = front_figures([found.job])
    texts = [text for trace in figure.plot["data"][1:] for text in trace["text"]]
    assert texts == ["t4, bf16, $5.000 hypothetical, old", "cpu, fp32"]
    assert figure.caption.endswith("what no other one beats in time, cost and quality together.")


def test_a_job_of_one_setting_leaves_no_choice():
    found = advice_on(job(FAST), Wish())
    assert choice_table([found]).rows == ()
    assert tuple(decisions_of([found], Wish())) == ()


def test_a_limit_that_nobody_keeps_to_is_told():
    wish = Wish(deadline_hours=0.01)
    (told,) = decisions_of([advice_on(job(FAST), wish)], wish)
    assert told.sentence == (
        "Nothing is recommended on mnist_cnn (fastest within 0.01 h): none keeps to that; "
        "the fastest takes 60.00 s."
    )


def test_the_figure_joins_the_front():
    (figure,) = front_figures([job(FAST, GOOD, Candidate(label="bad", seconds=700, quality=0.9))])
    line, *marks = go.Figure(figure.plot).data
    assert [(each.name, *each.x) for each in marks] == [("t4, bf16", 60), ("cpu, fp32", 600), ("bad", 700)]
    assert (list(line.x), list(line.y)) == ([60, 600], [0.95, 0.99])
    assert "t4, bf16 with 60.00 s and accuracy 0.9500; cpu, fp32 with 600.0 s" in figure.alternative


def test_equal_qualities_have_room_around_them():
    (figure,) = front_figures([job(FAST, Candidate(label="too", seconds=70, quality=0.95))])
    low, high = figure.plot["layout"]["yaxis"]["range"]
    assert 0.9 < low < 0.95 < high < 1


def test_without_two_qualities_there_is_no_figure():
    assert front_figures([job(FAST, Candidate(label="lost", seconds=1))]) == ()


def test_a_report_recommends_the_setting_that_was_wished():
    records = [
        measured(recorded={"training_seconds": 1.0, "quality": {"accuracy": 0.9}}),
        measured(precision="bf16", recorded={"training_seconds": 9.0, "quality": {"accuracy": 0.95}}),
    ]
    told = headline_of(findings_of(records, plan_of(records)))[1]
    assert told.startswith(
        "Recommended on mnist_cnn (fastest): cpu, torch_ddp, fp32: 1.700 s, accuracy 0.9000. Against"
    )
    wished = findings_of(records, plan_of(records), Wish(goal="best"))
    assert headline_of(wished)[1].startswith(
        "Recommended on mnist_cnn (best): cpu, torch_ddp, bf16: 9.700 s, accuracy 0.9500. Against"
    )
    assert "Time and quality" in [each.title for each in tables_of(wished)]
