"""Metrics in the units of MLflow's pages."""

import pytest
from builders import record, train_result
from price_builders import price

from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS, collect_metrics
from orchestrator.record.tracking.units import TRACKED, in_tracked_units


def test_metrics_have_a_section_and_one_unit_in_mlflow():
    found = in_tracked_units(collect_metrics(record(price=price())))
    assert found["time/step_ms"] == pytest.approx(10.0)
    assert found["cost/usd_per_million_samples"] == pytest.approx(1e6 * 0.001 / 6400)
    assert found["cost/usd"] == pytest.approx(0.003)
    assert found["time/samples_per_second"] == pytest.approx(6400)
    sections = {name.partition("/")[0] for name in found}
    assert sections <= {"time", "cost", "quality", "memory", "system"}


def test_no_metric_is_lost_or_has_two_names():
    found = collect_metrics(record(price=price()))
    assert len(in_tracked_units(found)) == len(found)


def test_every_metric_has_a_name_of_its_own_in_mlflow():
    assert TRACKED.keys() == {*METRICS, *COSTS}
    assert len({name for name, _ in TRACKED.values()}) == len(TRACKED)


@pytest.mark.parametrize(
    ("quality", "tracked"),
    [
        ("accuracy", "quality/accuracy"),
        ("precision", "quality/precision"),
        ("loss", "quality/loss"),
        ("training_loss", "quality/training_loss_at_the_end"),
    ],
)
def test_a_quality_keeps_its_name_beside_the_curve_of_the_loss(quality, tracked):
    found = in_tracked_units(collect_metrics(record(result=train_result(quality={quality: 0.25}))))
    assert found[tracked] == 0.25


@pytest.mark.parametrize("name", ["precision", "steps", "mfu", "final_loss", "loss"])
def test_a_quality_with_the_name_of_a_number_or_a_parameter_has_a_prefix(name):
    found = collect_metrics(record(result=train_result(quality={name: 0.5})))
    assert found[f"quality.{name}"] == 0.5
    assert found.get(name) != 0.5


@pytest.mark.parametrize(
    "names", [("quality.acc", "acc"), ("training_loss", "training_loss_at_the_end"), ("acc", "quality.acc")]
)
def test_two_qualities_never_have_one_name_in_mlflow(names):
    quality = dict(zip(names, (0.25, 0.75), strict=True))
    found = in_tracked_units(collect_metrics(record(result=train_result(quality=quality))))
    assert sorted(value for value in found.values() if value in (0.25, 0.75)) == [0.25, 0.75]
    first = in_tracked_units(
        collect_metrics(record(result=train_result(quality=dict([*quality.items()][::-1]))))
    )
    assert first == found
