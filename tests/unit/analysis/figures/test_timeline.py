"""Timeline of attempts: start, node, and parts of their time."""

from dataclasses import replace

import pytest
from builders import placement, record, train_result, trial_spec
from report_builders import rehearsed, tpu_vs_gpu

from orchestrator.analysis.figures.timeline import IDLE, build_timeline, timeline_figures
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.figures import build_figures
from orchestrator.core.result import Failure

START = 1_790_000_000.0


def ran(start, end, *, node="a", **changes):
    """An attempt from `start` to `end` seconds after the first one began."""
    place = changes.pop("placed", None) or placement(trial_spec(seed=int(start)))
    return record(
        placement=replace(place, node=node), started_at=START + start, ended_at=START + end, **changes
    )


def build_name(trial):
    return f"seed {trial.seed}"


def stretches(*records):
    return [
        (stretch.row, stretch.phase, round(stretch.start, 6), round(stretch.seconds, 6))
        for stretch in build_timeline(records, build_name).stretches
    ]


def test_every_second_of_a_measurement_is_in_one_phase():
    """Launch 0.6, first step 0.2, training 1.4 with both, evaluation 0.1; 0.9 of 3 s are left."""
    assert stretches(ran(0, 3)) == [
        (0, "launch", 0, 0.6),
        (0, "first step", 0.6, 0.2),
        (0, "training", 0.8, 1.2),
        (0, "evaluation", 2.0, 0.1),
        (0, "rest", 2.1, 0.9),
    ]


def test_an_attempt_on_several_nodes_is_on_each():
    both = placement(trial_spec(num_workers=2, num_hosts=2), other_nodes=("b",))
    found = build_timeline([ran(0, 3, placed=both), ran(3, 4, node="b")], build_name)
    assert found.rows == ("a", "b")
    assert {(stretch.row, stretch.phase) for stretch in found.stretches} >= {(0, "training"), (1, "training")}
    assert [stretch.row for stretch in found.stretches if stretch.start >= 3 and stretch.phase != IDLE] == [
        1,
        1,
        1,
    ]


def test_phases_go_no_further_than_their_attempt():
    assert stretches(ran(0, 0.7)) == [(0, "launch", 0, 0.6), (0, "first step", 0.6, 0.1)]


def test_a_failure_is_one_stretch_even_after_a_measurement():
    failed = ran(0, 3, failure=Failure(kind="invalid_measurement", message="no", refused=train_result()))
    assert stretches(failed) == [(0, "failed", 0, 3)]


def test_a_rehearsal_is_one_stretch_without_phases():
    assert stretches(ran(0, 3, placed=rehearsed().placement)) == [(0, "rehearsed", 0, 3)]


def test_a_failed_rehearsal_is_no_failed_measurement():
    failed = rehearsed(failure=Failure(kind="error", message="no"))
    assert stretches(failed) == [(0, "rehearsal failed", 0, 3)]


def test_a_node_is_idle_when_no_attempt_runs_on_it():
    found = build_timeline([ran(0, 3), ran(5, 8), ran(6, 12, node="b")], build_name)
    assert found.rows == ("a", "b")
    idle = [
        (stretch.row, stretch.start, stretch.seconds) for stretch in found.stretches if stretch.phase == IDLE
    ]
    assert idle == [(0, 3, 2), (0, 8, 4), (1, 0, 6)]


def test_attempts_beside_each_other_have_a_row_each_and_are_not_idle():
    found = build_timeline([ran(0, 9), ran(1, 3), ran(4, 12)], build_name)
    assert found.rows == ("a", "a")
    assert {stretch.row for stretch in found.stretches} == {0, 1}
    assert IDLE not in {stretch.phase for stretch in found.stretches}


def test_a_long_pause_is_left_out_and_listed():
    found = build_timeline([ran(0, 3), ran(3603, 3606), ran(7206, 7209)], build_name)
    assert found.pauses == ((3, 3600), (6, 3600))
    assert [stretch.start for stretch in found.stretches if stretch.phase == "launch"] == [0, 3, 6]
    (figure,) = timeline_figures([ran(0, 3), ran(3603, 3606), ran(7206, 7209)], build_name)
    assert "2 pauses without any attempt, 2.000 h together." in figure.caption


def test_what_had_no_hardware_or_ran_in_another_sweep_is_not_drawn():
    waited = ran(0, 600, failure=Failure(kind="infeasible", message="not free"))
    assert timeline_figures([waited, ran(0, 3, reused_from="another")], build_name) == ()


def test_attempts_of_other_sweeps_are_counted():
    (figure,) = timeline_figures([ran(0, 3), ran(5, 8, reused_from="another")], build_name)
    assert figure.caption.endswith(" 1 attempt of other sweeps whose results are used: not shown.")
    assert figure.alternative.startswith("Timeline of 1 attempt on 1 node.")


def test_a_sweep_without_measurements_has_no_timeline():
    assert timeline_figures([rehearsed()], build_name) == ()


def test_the_figure_names_the_phase_of_every_stretch():
    records, plan = tpu_vs_gpu()
    figure = build_figures(collect_findings(records, plan))["timeline-of-the-sweep"]
    values = figure.build_spec(1000)["data"]["values"]
    phases = ("launch", "first step", "training", "evaluation", "rest", "idle")
    assert {value["phase"] for value in values} == {*phases, "failed", "rehearsed", "rehearsal failed"}
    assert any("attempt 2: training" in value["label"] for value in values)
    assert figure.alternative.startswith("Timeline of 35 attempts on 1 node. Their time: launch 18.00 s, ")
    assert figure.is_detail


@pytest.mark.parametrize(("count", "shown"), [(100, 100), (101, 100)])
def test_the_last_of_many_attempts_are_drawn_and_the_caption_shows_it(count, shown):
    records = [ran(4 * index, 4 * index + 3) for index in range(count)]
    (figure,) = timeline_figures(records, build_name)
    values = figure.build_spec(1000)["data"]["values"]
    assert sum(value["phase"] == "launch" for value in values) == shown
    assert ("It shows 100 of 101 attempts, the last." in figure.caption) == (count > shown)
