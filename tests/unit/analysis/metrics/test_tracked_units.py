"""Metrics in the units of MLflow's pages."""

import pytest
from builders import record, train_result
from price_builders import price

from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS, metrics_of
from orchestrator.analysis.metrics.units import TRACKED_NAMES, in_tracked_units


def test_two_decimals_show_a_step_and_its_price():
    found = in_tracked_units(metrics_of(record(price=price())))
    assert found["step_ms"] == pytest.approx(10.0)
    assert found["usd_per_billion_samples"] == pytest.approx(1000 * 1e6 * 0.001 / 6400)
    assert found["attempt_millidollars"] == pytest.approx(3.0)
    assert found["steady_samples_per_second"] == pytest.approx(6400)


def test_no_value_is_there_under_two_names():
    found = metrics_of(record(price=price()))
    assert len(in_tracked_units(found)) == len(found)
    assert not TRACKED_NAMES.keys() & in_tracked_units(found).keys()


def test_every_renamed_metric_exists_and_no_new_name_is_taken():
    assert TRACKED_NAMES.keys() <= {*METRICS, *COSTS}
    assert not {*TRACKED_NAMES.values()} & {*METRICS, *COSTS}


@pytest.mark.parametrize("name", ["precision", "steps", "step_ms", "final_loss", "loss"])
def test_a_quality_with_the_name_of_a_number_or_a_parameter_has_a_prefix(name):
    found = metrics_of(record(result=train_result(quality={name: 0.5})))
    assert found[f"quality.{name}"] == 0.5
    assert found.get(name) != 0.5
