"""Forecasts as a reader meets them: marked, apart from what was measured, and beside it."""

import re

import pytest
from price_builders import price
from report_builders import forecast, measured, plan_of, repeats

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.measurements.noise import NOISY
from orchestrator.analysis.predictions.forecasts import list_predicted, predicted_table
from orchestrator.analysis.recommendation.tables import RANKED as SETTINGS
from orchestrator.analysis.report.headline import build_headline
from orchestrator.core.objective import Objective
from orchestrator.core.price import Unpriced
from orchestrator.core.trial_spec import TimingSpec

HOURS = 300 * 0.002 / 3600
TPU = forecast(device="tpu_v3_8", step_seconds=None, source="no TPU was measured")


def collect_rows(table):
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def found(records, forecasts, goal="fastest"):
    return collect_findings(records, plan_of(records, forecasts=forecasts), Objective(goal=goal))


def table(records, forecasts, title):
    (one,) = [table for table in found(records, forecasts).tables if table.title == title]
    return one


def answered(records, forecasts, goal="fastest"):
    """Give the first sentence of the headline."""
    return build_headline(found(records, forecasts, goal))[0]


def test_a_row_has_step_time_and_dollars_of_a_trial_and_what_they_stand_on():
    row, refused = collect_rows(predicted_table(list_predicted([forecast(source="fitted to T4"), TPU])))
    assert row["step ms [90%]"] == "2.0 [1.0, 4.0]"
    assert row["time [90%]"].value == pytest.approx(3600 * HOURS)
    assert row["$ [90%]"].value == pytest.approx(HOURS * 3.6)
    assert row["from, or why not"] == "fitted to T4"
    assert refused["from, or why not"] == "no TPU was measured; measure it there"
    assert {refused[text] for text in ("step ms [90%]", "time [90%]", "$ [90%]")} == {UNKNOWN}


def test_the_price_of_a_device_is_said_once_for_all_of_its_rows():
    predicted = list_predicted([forecast(), forecast(step_seconds=0.1), TPU])
    assert predicted_table(predicted).note.count("t4 is priced as ") == 1


def test_trainers_with_the_same_prediction_share_a_row_and_others_do_not():
    same = [forecast("torch_ddp"), forecast("tensorflow", trainer_options={"compile": "on"})]
    first, second, _ = collect_rows(
        predicted_table(list_predicted([*same, forecast("torch_xla", step_seconds=0.1)]))
    )
    assert (first["trainers"], first["trials"]) == ("torch_ddp, tensorflow, trainer.compile=on", "2")
    assert second["trainers"] == "torch_xla"


def test_the_total_is_of_every_trial_that_is_predicted_and_of_dollars_only_if_all_are_known():
    *_, total = collect_rows(predicted_table(list_predicted([forecast(), forecast(device="v100"), TPU])))
    assert total["trials"] == "2"
    assert total["time [90%]"].value == pytest.approx(2 * 3600 * HOURS)
    assert total["$ [90%]"].value == pytest.approx(2 * HOURS * 3.6)
    unpriced = forecast(device="v100", price=Unpriced(reason="no row"))
    *_, last, total = collect_rows(predicted_table(list_predicted([forecast(), unpriced])))
    assert (last["$ [90%]"], total["$ [90%]"]) == (UNKNOWN, UNKNOWN)
    assert last["from, or why not"].endswith("; without a price: no row")


def test_time_and_dollars_of_absent_devices_name_boot_as_not_included():
    known = predicted_table(list_predicted([forecast(price=price(least_billing_seconds=60.0)), TPU]))
    assert known.note.endswith(
        "Boot and install of a rented machine are not included (prices.start_seconds=[LOW,HIGH] adds them). "
        "Each start is billed for at least 60 s, $0.060."
    )
    assert "boot" not in predicted_table(list_predicted([TPU])).note


def test_with_a_target_time_and_dollars_are_at_most_those_of_all_steps():
    limited = forecast(timing=TimingSpec(target=0.9))
    found = predicted_table(list_predicted([limited, forecast()]))
    first, second, total = collect_rows(found)
    assert first["time [90%]"] == f"at most {second['time [90%]']}"
    assert first["$ [90%]"].value == pytest.approx(HOURS * 3.6)
    assert total["time [90%]"].startswith("at most ")
    assert "At most: a target may end the training" in found.note
    assert "At most" not in predicted_table(list_predicted([forecast()])).note


def test_a_training_in_phases_shows_a_step_of_the_last_phase_and_no_time():
    forecasts = [forecast(workload="mnist_dbn", num_phases=3), forecast()]
    row, *_, total = collect_rows(predicted_table(list_predicted([*forecasts, forecast(device="v100")])))
    assert (row["step ms [90%]"], row["time [90%]"], row["$ [90%]"]) == ("2.0 [1.0, 4.0]", UNKNOWN, UNKNOWN)
    assert "; no time: this is a step of the last of 3 phases" in row["from, or why not"]
    assert (total["workload"], total["trials"]) == ("all with a time", "2")


def test_what_is_predicted_stands_beside_what_was_measured_and_each_shows_which_it_is():
    """900,000 samples are 14,062.5 steps of 2 ms, 28.1 s, and 0.6 + (0.2 - 0.01) s as on the CPU."""
    records = [
        measured(step_seconds=0.01, price=price()),
        measured("noop", step_seconds=0.001, placed={"trains": False}),
    ]
    predicted, known = collect_rows(table(records, [forecast(), TPU], SETTINGS))
    assert (predicted["setting"], predicted["known by"]) == ("t4, fp32", "predicted")
    assert (known["setting"], known["known by"]) == ("cpu, torch_ddp, fp32", "measured")
    assert predicted["time"].value == pytest.approx(28.9, rel=0.05)
    assert re.fullmatch(r"2\d s \[1[456], 5[678]\]", predicted["time"])
    assert predicted["cost $"].value == pytest.approx(0.0289, rel=0.05)
    assert predicted["cost $"].endswith("]")
    (refused,) = collect_rows(table(records, [forecast(), TPU], "Not judged"))
    assert (refused["setting"], refused["why"]) == ("tpu_v3_8, fp32", "no TPU was measured")
    assert {one.title for one in found(records, [TPU]).tables} == {
        "Measured",
        "Not judged",
        "Predicted",
        "Prices",
        "Cost",
    }


def test_the_first_sentence_shows_that_the_fastest_was_only_predicted():
    slower = forecast(step_seconds=0.02, device="v100")
    told = answered([measured(step_seconds=0.01)], [slower, forecast()])
    assert told.startswith("Not settled, for mnist_cnn (fastest). ")
    assert "Chance to be the best, predicted: t4, fp32 (>99%)." in told
    assert "v100" not in told
    unmeasured = answered([], [forecast()])
    assert "No setting is measured that decides. Probably the best, predicted and not measured" in unmeasured
    assert "Full training (15 epochs x 60,000 samples, as the workload declares) there: about " in unmeasured
    assert "redicted" not in answered([measured(step_seconds=0.0004)], [forecast()])


def test_a_chance_comes_from_both_intervals():
    """The CPU takes 0.80 + 21.63 = 22.43 s, the T4 likely 0.80 + 28.13 = 28.93 s.

    The logarithm of one run has the deviation 0.15. Half and twice the step hold 90 of 100: its logarithm has
    ln 2 / 1.645 = 0.421, and the steps are 28.13 / 28.93 of the job: 0.410. The CPU is within 5% of the best
    with the chance of a normal number below (ln(28.93 / 22.43) + ln 1.05) / hypot(0.15, 0.410) = 0.694: 76%.
    """
    (answer,) = found(repeats(rates=(41_600.0,)), [forecast()]).recommendations
    known, predicted = answer.standings
    assert (known.provenance, predicted.provenance) == ("measured", "predicted")
    assert known.chance == pytest.approx(0.756, abs=0.03)
    assert predicted.chance == pytest.approx(1 - 0.756, abs=0.07)  # both are good where they lie close


def test_what_was_noisy_shows_it_beside_a_prediction():
    busy = {"load_average": (9.0, 9.0)}
    records = [measured(step_seconds=0.015, recorded=busy), measured(step_seconds=0.010, repeat=1)]
    _, known = collect_rows(table(records, [forecast()], SETTINGS))
    assert known["known by"] == "measured, 1 noisy"
    assert known["time"].value == pytest.approx(0.79 + 140.625, rel=0.001)  # of the quiet one alone
    assert f"Noisy: {NOISY}." in table(records, [forecast()], SETTINGS).note


def test_the_goal_cheapest_compares_predicted_costs_and_not_times():
    dear = forecast(device="v100", step_seconds=0.001, price=price(node_usd_per_hour=36.0))
    records = [measured(step_seconds=0.01, price=price())]
    told = answered(records, [dear, forecast()], "cheapest")
    assert told.startswith("Not settled, for mnist_cnn (cheapest). ")
    assert "Chance to be the best, predicted: t4, fp32 (>99%)." in told
    assert "Chance to be the best, predicted: v100, fp32 (" in answered(records, [dear, forecast()])
    without = [forecast(price=Unpriced(reason="no row"))]
    assert "Predicted, not measured" not in answered(records, without, "cheapest")
    (left,) = found(records, without, "cheapest").recommendations[0].left_out
    assert (left.setting, left.reason, left.may_be_best) == ("t4, fp32", "no row", True)


@pytest.mark.parametrize("goal", ["fastest", "cheapest"])
def test_predictions_with_overlapping_intervals_share_the_chance(goal):
    slow = forecast(device="v100", step_seconds=0.02)
    records = [measured(step_seconds=0.1, price=price())]
    (answer,) = found(records, [forecast(), forecast(device="l4"), slow], goal).recommendations
    chances = {one.setting: one.chance for one in answer.standings}
    assert chances["t4, fp32"] == pytest.approx(0.5, abs=0.1)
    assert chances["l4, fp32"] == pytest.approx(0.5, abs=0.1)
    assert chances["v100, fp32"] < 0.01
    (reason,) = answer.reasons
    assert "t4, fp32 (" in reason
    assert "l4, fp32 (" in reason
    assert "v100" not in reason


def test_no_setting_is_recommended_on_a_prediction():
    records = [*repeats(rates=(1300.0,)), *repeats("tensorflow", rates=(1000.0,))]
    (answer,) = found(records, [forecast()]).recommendations
    assert (answer.winner.setting, answer.winner.provenance) == ("t4, fp32", "predicted")
    assert (answer.state, answer.chosen) == ("not settled", "cpu, torch_ddp, fp32")
    remarks = {row["setting"]: row["remarks"] for row in collect_rows(table(records, [forecast()], SETTINGS))}
    assert remarks["t4, fp32"] == ""
    assert remarks["cpu, torch_ddp, fp32"].startswith("best measured")
    assert "recommended" not in "".join(remarks.values())
