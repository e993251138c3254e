"""Forecasts as a reader meets them: marked, apart from what was measured, and beside it."""

import pytest
from price_values import price
from report_cases import forecast, measured, plan_of, repeats

from orchestrator.analysis.findings import findings_of, tables_of
from orchestrator.analysis.headline import headline_of
from orchestrator.analysis.predicted import predicted_of, predicted_table
from orchestrator.analysis.wording import UNKNOWN
from orchestrator.core.price import Unpriced
from orchestrator.core.spec import TimingSpec
from orchestrator.core.wish import Wish

HOURS = 300 * 0.002 / 3600
TPU = forecast(device="tpu_v3_8", step_seconds=None, source="no TPU was measured")


def rows_of(table):
    return [dict(zip((each.header for each in table.columns), row, strict=True)) for row in table.rows]


def found(records, forecasts, goal="fastest"):
    return findings_of(records, plan_of(records, forecasts=forecasts), Wish(goal=goal))


def table(records, forecasts, title):
    (one,) = [each for each in tables_of(found(records, forecasts)) if each.title == title]
    return one


def told(records, forecasts, goal="fastest"):
    (sentence,) = [each for each in headline_of(found(records, forecasts, goal)) if "Predicted" in each]
    return sentence


def test_a_row_has_step_hours_and_dollars_of_a_trial_and_what_they_stand_on():
    row, refused = rows_of(predicted_table(predicted_of([forecast(source="fitted to T4"), TPU])))
    assert row["step ms [90%]"] == "2.0 [1.0, 4.0]"
    assert row["hours [90%]"].value == pytest.approx(HOURS)
    assert row["$ [90%]"].value == pytest.approx(HOURS * 3.6)
    assert row["from, or why not"].startswith("fitted to T4; priced as ")
    assert refused["from, or why not"] == "no TPU was measured; measure it there"
    assert {refused[each] for each in ("step ms [90%]", "hours [90%]", "$ [90%]")} == {UNKNOWN}


def test_trainers_of_which_the_same_is_thought_share_a_row_and_others_do_not():
    same = [forecast("torch_ddp"), forecast("tensorflow", trainer_options={"compile": "on"})]
    first, second, _ = rows_of(
        predicted_table(predicted_of([*same, forecast("torch_xla", step_seconds=0.1)]))
    )
    assert (first["trainers"], first["trials"]) == ("torch_ddp, tensorflow, trainer.compile=on", "2")
    assert second["trainers"] == "torch_xla"


def test_the_total_is_of_every_trial_that_is_predicted_and_of_dollars_only_if_all_are_known():
    *_, total = rows_of(predicted_table(predicted_of([forecast(), forecast(device="v100"), TPU])))
    assert total["trials"] == "2"
    assert total["hours [90%]"].value == pytest.approx(2 * HOURS)
    assert total["$ [90%]"].value == pytest.approx(2 * HOURS * 3.6)
    unpriced = forecast(device="v100", price=Unpriced(reason="no row"))
    *_, last, total = rows_of(predicted_table(predicted_of([forecast(), unpriced])))
    assert (last["$ [90%]"], total["$ [90%]"]) == (UNKNOWN, UNKNOWN)
    assert last["from, or why not"].endswith("; without a price: no row")


def test_with_a_target_hours_and_dollars_are_at_most_those_of_all_steps():
    limited = forecast(timing=TimingSpec(target=0.9))
    found = predicted_table(predicted_of([limited, forecast()]))
    first, second, total = rows_of(found)
    assert first["hours [90%]"] == f"at most {second['hours [90%]']}"
    assert first["$ [90%]"].value == pytest.approx(HOURS * 3.6)
    assert total["hours [90%]"].startswith("at most ")
    assert "At most: a target ends the training" in found.note
    assert "At most" not in predicted_table(predicted_of([forecast()])).note


def test_of_a_training_in_phases_a_step_of_the_last_is_told_and_no_hours():
    forecasts = [forecast(workload="mnist_dbn", num_phases=3), forecast()]
    row, *_, total = rows_of(predicted_table(predicted_of([*forecasts, forecast(device="v100")])))
    assert (row["step ms [90%]"], row["hours [90%]"], row["$ [90%]"]) == ("2.0 [1.0, 4.0]", UNKNOWN, UNKNOWN)
    assert "; no hours: this is a step of the last of 3 phases" in row["from, or why not"]
    assert (total["workload"], total["trials"]) == ("all with hours", "2")


def test_what_is_predicted_stands_after_what_was_measured_and_each_says_which_it_is():
    records = [
        measured(step_seconds=0.01, price=price()),
        measured("noop", step_seconds=0.001, placed={"trains": False}),
    ]
    rows = rows_of(table(records, [forecast(), TPU], "Measured and predicted"))
    assert [(each["setting"], each["known by"]) for each in rows] == [
        ("cpu, torch_ddp, fp32", "measured"),
        ("t4, fp32", "predicted"),
    ]
    assert rows[1]["samples/s"] == "32,000 [16,000, 64,000]"
    assert rows[1]["$/M samples"] == "0.03125 [0.01562, 0.06250] hypothetical"
    assert {each.title for each in tables_of(found(records, [TPU]))} == {
        "Measured",
        "Predicted",
        "Prices",
        "Cost",
    }


def test_a_sentence_says_that_the_fastest_was_only_predicted():
    assert told([measured(step_seconds=0.01)], [forecast(step_seconds=0.02, device="v100"), forecast()]) == (
        "Predicted, not measured, on mnist_cnn: of the devices that are not here t4, fp32 is likely the "
        "fastest, with 2.000 [1.000, 4.000] ms a step: 5.00x [2.49, 10.06] faster than cpu, torch_ddp, fp32, "
        "the fastest measured."
    )
    assert "0.77x [0.38, 1.55], perhaps not faster than" in told(repeats(rates=(41_600.0,)), [forecast()])
    assert "0.20x [0.10, 0.40], not faster than" in told([measured(step_seconds=0.0004)], [forecast()])
    assert told([], [forecast()]).endswith("is likely the fastest, with 2.000 [1.000, 4.000] ms a step.")


def test_a_ratio_to_what_was_measured_is_as_wide_as_both_and_says_what_was_noisy():
    noisy = {"load_average": (9.0, 9.0)}
    records = [
        measured(step_seconds=seconds, repeat=repeat, recorded=noisy)
        for repeat, seconds in enumerate((0.005, 0.010, 0.020))
    ]
    assert told(records, [forecast()]).endswith(
        "5.00x [1.25, 20.00] faster than cpu, torch_ddp, fp32, the fastest measured, 3 noisy."
    )
    first, _ = rows_of(table(records, [forecast()], "Measured and predicted"))
    assert first["known by"] == "measured, 3 noisy"


def test_of_costs_it_says_the_cheapest_if_that_is_asked_for():
    dear = forecast(device="v100", step_seconds=0.001, price=price(node_usd_per_hour=36.0))
    records = [measured(step_seconds=0.01, price=price())]
    assert told(records, [dear, forecast()], "cheapest") == (
        "Predicted, not measured, on mnist_cnn: of the devices that are not here t4, fp32 is likely the "
        "cheapest, with $0.03125 [0.01562, 0.06250] hypothetical per million samples: 5.00x [2.49, 10.06] "
        "cheaper than cpu, torch_ddp, fp32, the cheapest measured."
    )
    assert "per million samples." in told([measured()], [forecast()], "cheapest")
    without = [forecast(price=Unpriced(reason="no row"))]
    assert not [each for each in headline_of(found(records, without, "cheapest")) if "Predicted" in each]


@pytest.mark.parametrize(("goal", "comparative"), [("fastest", "faster"), ("cheapest", "cheaper")])
def test_predictions_with_overlapping_brackets_are_not_ranked(goal, comparative):
    others = [forecast(device="v100", step_seconds=seconds) for seconds in (0.007, 0.009)]
    several = told([measured(price=price())], [forecast(), forecast(device="l4"), *others], goal)
    assert several.endswith(f" measured. By the brackets 2 others may be {comparative}.")
    assert "By the brackets" not in told([], [forecast(), others[1]], goal)


def test_nothing_is_recommended_on_a_prediction():
    records = [*repeats(rates=(1300.0,)), *repeats("tensorflow", rates=(1000.0,))]
    (advice,) = found(records, [forecast()]).advice
    assert advice.chosen.label == "cpu, torch_ddp, fp32"
    assert {each.label for each in advice.job.candidates} == {"cpu, torch_ddp, fp32", "cpu, tensorflow, fp32"}
