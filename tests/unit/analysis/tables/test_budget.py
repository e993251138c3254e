"""Budget sentences: money spent, trials left out, and the override that runs them."""

from dataclasses import replace

from price_builders import price

from orchestrator.analysis.tables.budget import expected_line, prospect_line, question, spent_line
from orchestrator.core.budget import Budget, BudgetStatus, CostEstimate, CostRate, Spend
from orchestrator.core.interval import Spread

KNOWN = CostEstimate(
    rate=CostRate(nodes=1, price=price()),
    seconds=400,
    known_by="measured",
    expected=Spread(median=400, low=300, high=420),
)
UNKNOWN = CostEstimate(rate=CostRate(nodes=2, price=price(nodes=2)), seconds=1800, known_by="deadline")
HYPOTHETICAL = replace(KNOWN, rate=CostRate(nodes=1, price=price(is_hypothetical=True)))
PREDICTED = replace(
    HYPOTHETICAL, seconds=1800, known_by="predicted", expected=Spread(median=60, low=20, high=180)
)


def balance(**changes):
    caps = {"usd": 5.0, **changes.pop("caps", {})}
    return BudgetStatus(budget=Budget(**caps), **{"spent": Spend(usd=4.8, node_hours=1.25), **changes})


def test_what_was_left_out_is_shown_with_its_cheapest_and_the_cap_to_raise():
    told = spent_line(balance(left_out=(("budget.usd=5", UNKNOWN), ("budget.usd=5", KNOWN))))
    assert told == (
        "budget: $4.800 of $5 and 1.250 node-hours spent, 2 trials left out, the cheapest of which likely "
        "costs $0.4000 for 0.1111 node-hours; the same command with a larger budget.usd runs the rest"
    )


def test_stopped_trials_and_the_second_cap_are_shown_too():
    told = balance(
        caps={"hours": 2.0},
        stopped=("budget.hours=2",),
        left_out=(("budget.usd=5", UNKNOWN),),
        num_unpriced=3,
    )
    assert spent_line(told) == (
        "budget: $4.800 of $5 and 1.250 of 2 node-hours spent, 3 attempts without a price, 1 trial stopped, "
        "1 trial left out, the cheapest of which likely costs $3.600 for 1.000 node-hours (up to its "
        "deadlines: nothing like it was measured); the same command with a larger budget.hours and budget.usd"
        " runs the rest"
    )


def test_a_sweep_that_ran_completely_asks_for_no_larger_budget():
    assert spent_line(balance(is_hypothetical=True)) == (
        "budget: $4.800 of $5 (hypothetical) and 1.250 node-hours spent, none left out"
    )


def test_a_plan_shows_what_is_likely_spent_and_what_would_be_left_out():
    told = prospect_line(balance(quotes=(KNOWN, UNKNOWN), left_out=(("budget.usd=5", UNKNOWN),)))
    assert told.startswith(
        "budget: $4.800 of $5 and 1.250 node-hours spent; 2 trials likely cost $4.000 for 1.111 node-hours "
        "(1 up to their deadlines: nothing like it was measured), 1 trial left out, "
    )


def test_a_person_is_asked_above_the_limit_alone_and_about_money_that_is_paid():
    quotes = (KNOWN, HYPOTHETICAL)
    assert question(balance(quotes=quotes)) is None
    assert question(balance(quotes=quotes, caps={"confirm_usd": 0.4})) is None
    assert question(balance(quotes=(*quotes, KNOWN), caps={"confirm_usd": 0.4})) == (
        "2 trials likely cost $0.8000 for 0.2222 node-hours, above budget.confirm_usd=0.4"
    )


def test_a_plan_shows_time_and_cost_by_trials_measured_before():
    assert expected_line((KNOWN, KNOWN)) == (
        "time and cost: about 13 min (10 to 14) and $0.80, one trial after the other: "
        "2 trials 13 min (10 to 14) as trials of the same setting took"
    )


def test_every_part_of_an_expected_time_names_its_provenance():
    alone = replace(PREDICTED, is_without_setup=True)
    rehearsed = replace(KNOWN, rate=CostRate(nodes=1, price=None), known_by="rehearsed")
    assert expected_line((KNOWN, PREDICTED, alone, rehearsed, UNKNOWN)) == (
        "time and cost: about 15 min (11 to 20) and $0.52 at list price, one trial after the other: "
        "1 trial 6.7 min (5.0 to 7.0) as trials of the same setting took; "
        "1 trial 6.7 min (5.0 to 7.0) as rehearsals of the same setting took; "
        "1 trial 60 s (20 to 180) predicted; 1 trial 60 s (20 to 180) predicted, set-up not included; "
        "1 trial of unknown time, as nothing like it ran; usually far below the time limit, "
        "30 min and $3.6"
    )


def test_a_plan_without_measured_trials_has_only_an_upper_bound():
    assert expected_line((UNKNOWN,)) == (
        "time and cost: 1 trial of unknown time, as nothing like it ran; usually far below the time "
        "limit, 30 min and $3.6"
    )
