"""Figures show the numbers of the findings, mark what was not measured, and say what they leave out."""

import math
from dataclasses import replace

import pytest
from report_builders import PRICE, forecast, in_turn, measured, plan_of, repeats, tpu_vs_gpu

from orchestrator.analysis.comparison.scaling import compute_scaling
from orchestrator.analysis.figures.learning import build_curves, loss_figures, quality_figures
from orchestrator.analysis.figures.palette import PRECISIONS
from orchestrator.analysis.figures.scaling import scaling_figures
from orchestrator.analysis.figures.spending import sum_spendings
from orchestrator.analysis.figures.timeline import timeline_figures
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.recommendation.figures.throughput import throughput_figures
from orchestrator.analysis.recommendation.figures.tradeoff import find_front, tradeoff_figures
from orchestrator.analysis.report.figures import build_figures, name_rows
from orchestrator.core.trial_progress import Evaluation, Target, TargetRun


def findings(records, **changes):
    return collect_findings(records, plan_of(records, **changes))


def values_in(figure):
    spec = figure.build_spec(1000)
    return spec["data"]["values"]


def over_batches(batches=(64, 128, 256), **changes):
    return [
        measured(global_batch_size=batch, step_seconds=0.01 + 0.0001 * batch, **changes) for batch in batches
    ]


def throughput_of(found):
    return list(throughput_figures(found.recommendations, name_rows(found)))


def test_throughput_over_the_batch_is_the_measured_rate():
    (figure,) = throughput_of(findings(over_batches()))
    assert [value["batch"] for value in values_in(figure)] == [64, 128, 256]
    assert [value["rate"] for value in values_in(figure)] == pytest.approx(
        [64 / 0.0164, 128 / 0.0228, 256 / 0.0356]
    )
    assert all(value["measured"] for value in values_in(figure))


def test_predicted_batches_are_hollow_and_named_so():
    told = [forecast(global_batch_size=batch, step_seconds=0.002 * batch / 64) for batch in (64, 128)]
    (figure,) = throughput_of(findings(over_batches((64,)), forecasts=told))
    assert [(value["panel"], value["measured"]) for value in values_in(figure)] == [("t4", False)] * 2
    assert all(value["label"].endswith("predicted") for value in values_in(figure))


def test_without_several_batches_or_workers_there_is_no_figure():
    assert throughput_of(findings([measured()])) == list(scaling_figures(())) == []


def test_many_panels_are_cut_and_the_caption_shows_it():
    records = [
        record for index in range(25) for record in over_batches((64, 128), trainer_options={"n": str(index)})
    ]
    (figure,) = throughput_of(findings(records))
    assert len({value["panel"] for value in values_in(figure)}) == 24
    assert figure.caption.endswith("It shows 24 of 25 devices, the likeliest first.")


def test_a_line_of_many_batches_is_drawn_in_groups_and_the_caption_shows_it():
    (figure,) = throughput_of(findings(over_batches(range(64, 164))))
    values = values_in(figure)
    assert len(values) == 34
    assert "100 measurements or predictions of a line are drawn as 34 groups of neighbours." in figure.caption
    rates = [batch / (0.01 + 0.0001 * batch) for batch in range(64, 164)]
    assert min(value["low"] for value in values) <= rates[0]
    assert max(value["high"] for value in values) >= rates[-1]
    assert values[0]["label"].endswith("one of 3 drawn together")
    (few,) = throughput_of(findings(over_batches(range(64, 104))))
    assert (len(values_in(few)), "groups" in few.caption) == (40, False)


def test_a_curve_of_many_points_is_drawn_in_groups_that_lose_no_extreme():
    losses = [(step, 100.0 if step == 777 else 2.0) for step in range(1, 1001)]
    (figure,) = loss_figures([measured(recorded={"losses": tuple(losses)})])
    values = values_in(figure)
    assert len(values) <= 62
    assert "1,000 points of a curve are drawn as" in figure.caption
    assert [values[0]["x"], values[-1]["x"]] == [1, 1000]
    assert max(value["high"] for value in values) == 100.0
    assert [value["end"] for value in values].count(True) == 1


def test_scaling_lies_beside_the_ideal():
    records = [
        measured(num_workers=count, replicas=count, step_seconds=0.06 / count**0.5) for count in (1, 2, 4)
    ]
    (figure,) = scaling_figures(compute_scaling(find_measured(build_frame(records))))
    values = values_in(figure)
    assert [value["workers"] for value in values] == [1, 2, 4]
    shares = [value["rate"] / value["ideal"] for value in values]
    assert shares == pytest.approx([1, math.sqrt(0.5), 0.5])


def test_curves_of_seeds_are_a_median_and_a_band():
    losses = [((1, 2.0), (10, 1.0 + 0.1 * index)) for index in range(3)]
    records = [measured(seed=index, recorded={"losses": loss}) for index, loss in enumerate(losses)]
    (curve,) = build_curves(records, lambda record: [(float(s), v) for s, v in record.result.losses])
    assert curve.num_trials == 3
    assert curve.points[1] == pytest.approx((10, 1.1, 1.0, 1.2))
    (figure,) = loss_figures(records)
    assert [value["low"] for value in values_in(figure)] == [2.0, 1.0]


def test_a_loss_that_is_not_finite_is_no_point():
    records = [measured(recorded={"losses": ((1, 2.0), (10, math.nan), (20, 0.5))})]
    (figure,) = loss_figures(records)
    assert [value["x"] for value in values_in(figure)] == [1, 20]


def test_quality_is_drawn_over_seconds_with_its_target():
    target = Target(metric="accuracy", value=0.9, higher_is_better=True)

    def run(*qualities):
        curve = [
            Evaluation(steps=10 * n, training_seconds=1.0 * n, quality=quality)
            for n, quality in enumerate(qualities, 1)
        ]
        return TargetRun(target=target, curve=tuple(curve), evaluation_seconds=0.1)

    records = [measured(seed=n, recorded={"pursuit": run(0.5, 0.8 + 0.1 * n)}) for n in range(2)]
    (figure,) = quality_figures(records)
    found = [value[name] for value in values_in(figure) for name in ("x", "low", "high")]
    assert found == pytest.approx([1.0, 0.5, 0.5, 2.0, 0.8, 0.9])
    assert {"datum": 0.9} in [layer["encoding"]["y"] for layer in figure.build_spec(1000)["spec"]["layer"]]


def test_spending_adds_up_all_attempts_of_a_setting():
    found = findings(in_turn(repeats(rates=(8000, 8100), price=PRICE)))
    (one,) = sum_spendings(found.attempts)
    whole = sum(record.ended_at - record.started_at for record in found.attempts)
    assert sum(one.seconds.values()) == pytest.approx(whole)
    assert one.usd == pytest.approx(sum(cost.bill.usd for cost in found.costs))


def test_failed_attempts_are_a_phase_of_their_own():
    records, plan = tpu_vs_gpu()
    found = sum_spendings(collect_findings(records, plan).attempts)
    assert sum("failed" in one.seconds for one in found) == 1


def test_no_setting_on_the_front_is_slower_and_dearer():
    found = findings(
        [
            measured(step_seconds=0.010, price=PRICE),
            measured("tensorflow", step_seconds=0.020, price=PRICE),
            measured("torch_xla", step_seconds=0.005, price=replace(PRICE, node_usd_per_hour=36.0)),
        ]
    )
    (recommendation,) = found.recommendations
    assert [one.factors["trainer"] for one in find_front(recommendation.standings)] == [
        "torch_xla",
        "torch_ddp",
    ]
    (figure,) = tradeoff_figures(found.recommendations, name_rows(found))
    assert [value["front"] for value in values_in(figure)].count(True) == 2


def test_names_of_two_close_points_stand_on_their_outer_sides_and_of_one_alone_on_its_right():
    steps = {"torch_ddp": 0.010, "tensorflow": 0.011, "torch_xla": 0.050}
    found = findings([measured(trainer, step_seconds=step, price=PRICE) for trainer, step in steps.items()])
    (figure,) = tradeoff_figures(found.recommendations, name_rows(found))
    values = sorted(values_in(figure), key=lambda value: value["time"])
    assert [value["side"] for value in values] == ["left", "above", "above"]


def test_settings_without_a_price_have_no_place_in_the_tradeoff():
    found = findings([measured(), measured("tensorflow")])
    assert list(tradeoff_figures(found.recommendations, name_rows(found))) == []


def test_a_precision_has_one_colour_in_every_figure():
    found = collect_findings(*tpu_vs_gpu())
    scales = []
    for figure in build_figures(found).values():
        scales += [one["scale"] for one in colour_encodings(figure.build_spec(1000))]
    assert scales
    for scale in scales:
        for name, colour in zip(scale["domain"], scale["range"], strict=True):
            assert colour == PRECISIONS[name].css


def colour_encodings(value):
    """Encodings of the precision in a specification."""
    if isinstance(value, list):
        return [one for item in value for one in colour_encodings(item)]
    if not isinstance(value, dict):
        return []
    own = [value] if value.get("field") == "precision" and "range" in value.get("scale", {}) else []
    return own + [one for item in value.values() for one in colour_encodings(item)]


def test_what_has_no_extent_has_no_figure():
    backwards = [replace(measured(), started_at=100.0, ended_at=90.0)]
    assert timeline_figures(backwards, str) == ()
    assert list(loss_figures([measured(recorded={"losses": ((1, math.nan),)})])) == []
