"""What is recommended says how far it lies ahead of the runner-up, and what that stands on."""

from dataclasses import replace

from price_values import price
from report_cases import measured, plan_of

from orchestrator.analysis.decision import decisions_of
from orchestrator.analysis.findings import findings_of
from orchestrator.core.wish import Wish


def trainings(precision, seconds, **changes):
    """A measured trial for each of these seconds of the whole training; 0.7 s of it are not training."""
    return [
        measured(
            precision=precision,
            repeat=index,
            recorded={"training_seconds": each - 0.7, **changes},
        )
        for index, each in enumerate(seconds)
    ]


def standing_of(records, wish=None):
    (told,) = decisions_of(findings_of(records, plan_of(records)).advice, wish or Wish())
    return told.standing


def test_twice_as_fast_in_every_repeat_is_twice_as_fast():
    records = trainings("bf16", [2.0] * 5) + trainings("fp32", [4.0] * 5)
    assert standing_of(records) == (
        "Against the runner-up cpu, torch_ddp, fp32 (4.000 s): 2.00x faster, over 5 repeats each of the "
        "whole training."
    )


def test_repeats_that_differ_more_than_the_sides_show_no_difference():
    records = trainings("bf16", [2.0, 3.0, 2.5, 2.2, 2.8]) + trainings("fp32", [2.1, 3.1, 2.6, 2.3, 2.9])
    told = standing_of(records)
    assert "(2.600 s): 1.04x [" in told
    assert "no difference shown, over 5 repeats each" in told


def test_sides_of_unequal_repeats_are_counted_apart_and_give_no_verdict():
    told = standing_of(trainings("bf16", [2.0, 2.1, 1.9]) + trainings("fp32", [4.0]))
    assert told.endswith("(4.000 s): 2.00x, too few repeats, over 3 repeats against 1 of the whole training.")


def test_a_disturbed_repeat_of_either_side_is_a_mark():
    records = trainings("bf16", [2.0] * 5) + trainings("fp32", [4.0] * 5, load_average=(9.0, 9.0))
    assert "2.00x faster, noisy, over" in standing_of(records)


def paid(precision, seconds, **changes):
    """Five attempts of so many seconds at a tenth of a cent each."""
    return [
        replace(each, price=price(**changes), ended_at=each.started_at + seconds)
        for each in trainings(precision, [seconds] * 5)
    ]


def test_who_asks_for_the_cheapest_is_told_how_much_cheaper_it_is():
    records = paid("bf16", 2.0) + paid("fp32", 4.0, is_hypothetical=True)
    assert standing_of(records, Wish(goal="cheapest")) == (
        "Against the runner-up cpu, torch_ddp, fp32 ($0.004000 hypothetical): 2.00x cheaper, over 5 repeats "
        "each of the whole training."
    )


def test_a_runner_up_whose_cost_is_not_known_is_not_compared():
    records = paid("bf16", 2.0) + trainings("fp32", [4.0] * 5)
    assert standing_of(records, Wish(goal="cheapest")) == ""
