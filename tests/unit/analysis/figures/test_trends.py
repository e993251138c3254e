"""Figures over the batch and over the workers are what Plotly knows, and show what the tables show."""

import math

import plotly.graph_objects as go
from report_builders import HOSTILE, measured

from orchestrator.analysis.comparison.scaling import scaling_of
from orchestrator.analysis.comparison.step_cost import step_costs_of
from orchestrator.analysis.figures.plots import shortened
from orchestrator.analysis.figures.trends import scaling_figures, step_cost_figures
from orchestrator.analysis.measurements.frame import frame_of
from orchestrator.analysis.measurements.measured import measured_of


def over_batches(batches=(64, 128, 256), **changes):
    records = [
        measured(global_batch_size=batch, step_seconds=0.01 + 0.0001 * batch, **changes) for batch in batches
    ]
    return step_costs_of(measured_of(frame_of(records)))


def over_workers(**changes):
    records = [
        measured(num_workers=count, replicas=count, step_seconds=0.06 / count**0.5, **changes)
        for count in (1, 2, 4)
    ]
    return scaling_of(measured_of(frame_of(records)))


def test_step_times_are_marks_and_their_fit_is_a_line_from_an_empty_batch_on():
    (figure,) = step_cost_figures(over_batches())
    marks, line = go.Figure(figure.plot).data
    assert [round(item, 6) for item in marks.y] == [16.4, 22.8, 35.6]
    assert list(line.x) == [0, 256]
    assert [round(item, 6) for item in line.y] == [10.0, 35.6]


def test_two_batches_are_marks_without_a_line():
    (figure,) = step_cost_figures(over_batches((64, 128)))
    assert len(figure.plot["data"]) == 1


def test_efficiencies_are_a_curve():
    (figure,) = scaling_figures(over_workers())
    (curve,) = go.Figure(figure.plot).data
    assert list(curve.x) == [1, 2, 4]
    assert [round(item, 6) for item in curve.y] == [1, round(math.sqrt(0.5), 6), 0.5]


def test_names_of_users_are_shown_as_text():
    for (figure,) in (
        step_cost_figures(over_batches(workload=HOSTILE)),
        scaling_figures(over_workers(workload=HOSTILE)),
    ):
        assert "&lt;/script&gt;" in figure.plot["data"][0]["name"]


def test_a_figure_of_many_says_how_many_it_shows():
    records = [
        measured(global_batch_size=batch, steps=300 + index) for batch in (64, 128) for index in range(13)
    ]
    (figure,) = step_cost_figures(step_costs_of(measured_of(frame_of(records))))
    assert len(figure.plot["data"]) == 12
    assert figure.caption.endswith("It shows 12 of 13 sets of batches, the first.")


def test_labels_are_shortened_unless_that_makes_them_alike():
    assert shortened(["x" * 40, "y"]) == ["x" * 32 + "…", "y"]
    long = ["torch_ddp, 1 worker, batch 64, 300 steps", "torch_ddp, 1 worker, batch 64, 301 steps"]
    assert shortened(long) == long


def test_without_several_batches_or_workers_there_is_no_figure():
    assert step_cost_figures(()) == scaling_figures(()) == ()


def test_no_two_lines_of_a_figure_look_alike():
    costs = [cost for index in range(12) for cost in over_batches(steps=300 + index)]
    scalings = [over_worker for one in range(12) for over_worker in over_workers(steps=300 + one)]
    for (figure,) in (step_cost_figures(costs), scaling_figures(scalings)):
        markers = [item["marker"] for item in figure.plot["data"] if "markers" in item["mode"]]
        assert len({(marker["color"], marker["symbol"]) for marker in markers}) == len(markers) == 12
