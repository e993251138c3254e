"""Leader, confidence and value of a measurement: small cases computed by hand."""

import math
from dataclasses import replace
from statistics import NormalDist

import builders
import numpy as np
import pytest
from price_builders import price, price_list

from orchestrator.analysis.measurements.noise import NOISY
from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.analysis.recommendation.model.acquisition import (
    Assessment,
    Probe,
    ScalarObjective,
    assess,
    best_next,
    find_probes,
    measurement_plan,
)
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.analysis.recommendation.model.model import build_model, pooled_errors
from orchestrator.analysis.recommendation.model.posterior import GaussianPosterior, compute_posterior
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.recommendation.tables import build_tables
from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import ONE_RUN_DEVIATION, ErrorCorrelation, ErrorModel, Refusal, StepPrior
from orchestrator.core.objective import Objective

CORRELATION = ErrorCorrelation(devices=0.5, doublings=4.0)
REPEAT = 0.02
WITHIN = math.log(1.05)


def posterior(means, deviations):
    """Settings that tell nothing about each other."""
    return GaussianPosterior(mean=np.log(means), covariance=np.diag(np.square(deviations)))


def fastest(count=2, **changes):
    """Least time of a step."""
    base = ScalarObjective(
        time=1.0,
        cost=0.0,
        log_fixed=np.full(count, -math.inf),
        log_steps=np.zeros(count),
        log_usd=np.zeros(count),
        quality_loss=np.zeros(count),
    )
    return replace(base, **changes)


def prior(**changes):
    base = StepPrior(hardware="v100", batch_size=64, log_seconds=0.0, device=0.3, network=0.4)
    return replace(base, **changes)


def advised(steps, costs, *, left=math.inf, confidence=0.9, objective=None):
    objective = objective or fastest(len(costs))
    planned = measurement_plan(
        steps,
        objective,
        np.array(costs),
        assessment=assess(steps, objective),
        left=left,
        confidence=confidence,
        repeat=REPEAT,
    )
    return [proposal.setting for proposal, _ in planned]


def assessed(*chances):
    """An assessment with these chances, of which the first is the leader's."""
    none = np.zeros((1, len(chances)))
    return Assessment(chances=np.array(chances), leader=0, value=none, good=none > 0, log_seconds=none)


def test_the_chance_of_a_setting_is_that_of_a_normal_difference():
    found = assess(posterior((1.0, 1.2), (0.2, 0.2)), fastest())
    by_hand = NormalDist().cdf((math.log(1.2) + WITHIN) / math.hypot(0.2, 0.2))
    assert found.leader == 0
    assert found.chance == pytest.approx(by_hand, abs=0.02)


def test_a_measurement_gains_what_was_lost_by_not_knowing():
    found = assess(posterior((1.0, 1.0), (1e-6, 0.2)), fastest())
    by_hand = 1 - NormalDist().cdf(WITHIN / 0.2)
    gains = {probe.settings: probe.gain for probe in find_probes(found, (0, 1), repeat=1e-6)}
    assert gains[0,] == pytest.approx(0.0, abs=0.03)
    assert gains[1,] == pytest.approx(by_hand, abs=0.03)


def test_the_better_median_leads_among_nearly_equal_chances():
    """1.00 and 1.02 lie within 5%, so both are good in every draw."""
    for means, leader in (((1.0, 1.02), 0), ((1.02, 1.0), 1)):
        found = assess(posterior(means, (1e-6, 1e-6)), fastest())
        assert (found.chances.tolist(), found.leader) == ([1.0, 1.0], leader)


def test_what_cannot_change_the_choice_is_not_measured():
    assert advised(posterior((1.0, 10.0), (0.1, 0.1)), (1.0, 1.0), confidence=0.999999) == []


def test_it_stops_where_the_leader_is_clear_enough():
    unsure = posterior((1.0, 1.3), (0.2, 0.2))
    chance = assess(unsure, fastest()).chance
    assert advised(unsure, (1.0, 1.0), confidence=chance - 0.01) == []
    assert advised(unsure, (1.0, 1.0), confidence=chance + 0.01)


def test_a_plan_begins_with_the_assessment_that_is_shown():
    known = {"assessment": assessed(0.99, 0.0), "left": math.inf, "confidence": 0.9, "repeat": REPEAT}
    assert not list(measurement_plan(posterior((1.0, 1.0), (0.2, 0.2)), fastest(), np.ones(2), **known))


def test_the_cheaper_of_two_equal_gains_is_measured_and_a_costly_one_is_not():
    three = posterior((1.0, 1.1, 1.1), (0.05, 0.2, 0.2))
    assert advised(three, (1.0, 5.0, 4.0), confidence=0.99)[0] == 2
    assert advised(three, (9.0, 9.0, 9.0), left=8.0) == []


def test_a_cheap_measurement_leaves_enough_for_the_most_informative_one():
    probes = tuple(Probe(settings=(index,), gain=gain) for index, gain in enumerate((0.02, 0.2, 0.0)))
    assessment = assessed(0.5, 0.3, 0.2)

    def chosen(left):
        proposal = best_next(assessment, probes, np.array((0.1, 2.0, 0.1)), left=left)
        return proposal and proposal.setting

    assert [chosen(left) for left in (2.0, 2.2, 1.0, 0.05)] == [1, 0, 0, None]


def test_two_settings_with_correlated_errors_are_both_measured():
    alike = GaussianPosterior(mean=np.zeros(2), covariance=0.09 * np.array(((1.0, 0.9), (0.9, 1.0))))
    probes = find_probes(assess(alike, fastest()), (0, 1), repeat=REPEAT)
    gains = {probe.settings: probe.gain for probe in probes}
    pair = max(gains, key=lambda settings: gains[settings])
    assert len(pair) == 2
    assert gains[pair] > 2 * max(gains[0,], gains[1,])
    assert sorted(advised(alike, (1.0, 2.0), confidence=0.9)) == [0, 1]
    assert advised(alike, (1.0, 2.0), left=2.0, confidence=0.9) != [0, 1]


def test_what_breaks_a_limit_is_not_good_however_cheap():
    """The second costs a tenth a second; steps may take 2 s."""
    objective = fastest(time=0.0, cost=1.0, log_usd=np.log((1.0, 0.1)), log_most_seconds=math.log(2.0))
    sure = (1e-6, 1e-6)
    assert assess(posterior((1.0, 1.5), sure), objective).leader == 1
    assert assess(posterior((1.0, 2.5), sure), objective).leader == 0
    assert assess(posterior((3.0, 3.5), sure), objective).chance == 0.0


def test_what_costs_more_than_the_limit_is_not_good_however_fast():
    """Check 1.0 s for 3.0 USD and 1.5 s for 1.5 USD with a limit of 2 USD."""
    objective = fastest(log_usd=np.log((3.0, 1.0)), log_most_usd=math.log(2.0))
    assert assess(posterior((1.0, 1.5), (1e-6, 1e-6)), objective).leader == 1


def test_a_weighted_objective_worked_out_by_hand():
    """10 + 5 x 2 = 20 s at 3 a second: ln 20 / 4 + 3/4 ln 60, and the shortfall of 0.5."""
    objective = fastest(
        1,
        time=0.25,
        cost=0.75,
        log_fixed=np.log([10.0]),
        log_steps=np.log([5.0]),
        log_usd=np.log([3.0]),
        quality_loss=np.array([0.5]),
    )
    assert objective.value(np.log([2.0])) == pytest.approx([math.log(20) / 4 + math.log(60) * 3 / 4 + 0.5])


def test_a_measurement_moves_most_what_is_most_alike():
    priors = (prior(), prior(batch_size=128), prior(hardware="t4"), prior(hardware="t4", network=0.0))
    before = compute_posterior(priors, CORRELATION)
    after = before.given({0: math.log(2.0)}, deviation=REPEAT)
    own, doubled, elsewhere, unlike = np.exp(after.mean)
    assert own == pytest.approx(2.0, rel=0.01)
    assert own > doubled > elsewhere > unlike == 1.0
    by_hand = math.log(2.0) * 0.5 * 0.4**2 / (0.3**2 + 0.4**2 + REPEAT**2)
    assert math.log(elsewhere) == pytest.approx(by_hand)
    assert after.deviation[0] == pytest.approx(REPEAT, rel=0.01)
    assert all(after.deviation <= before.deviation)


def test_a_posterior_without_measurements_is_unchanged():
    before = compute_posterior((prior(), prior(hardware="t4")), CORRELATION)
    after = before.given({}, deviation=())
    assert np.array_equal(before.mean, after.mean)
    assert np.array_equal(before.covariance, after.covariance)


ERRORS = ErrorModel(correlation=CORRELATION, repeat=REPEAT, quantile=1.7)
NO_CPU = Refusal(reason="no CPU was measured", to_measure="it")


def candidate(*step_seconds, num_noisy=0, label="cpu, fp32", **changes):
    """A setting with runs whose steps took so long; the first of them were disturbed."""
    runs = tuple(
        Run(
            fixed_seconds=0.0,
            step_seconds=seconds,
            samples=7680,
            seconds_to_target=None,
            samples_to_target=None,
            quality=None,
            held_out_samples=None,
            seed=0,
            trial_seconds=150.0,
            is_noisy=index < num_noisy,
        )
        for index, seconds in enumerate(step_seconds)
    )
    base = CandidateSetting(setting=builders.setting(), label=label, steps=120, runs=runs)
    return replace(base, **changes)


def job(*candidates):
    """A job of a hundred steps."""
    return Job(
        where="a job",
        sweep="example",
        aim=None,
        target=None,
        samples=6400,
        length="6,400 samples",
        candidates=candidates,
    )


def answer(*candidates, objective=None, confidence=0.9):
    return recommend(
        job(*candidates), Criteria(objective=objective or Objective(), confidence=confidence), ERRORS
    )


def test_only_the_most_promising_of_very_many_settings_are_judged():
    several = [candidate(1.0 + 0.01 * index, label=f"setting {index}") for index in range(520)]
    found = answer(*reversed(several))
    assert (len(found.standings), found.winner.setting) == (500, "setting 0")
    assert {one.setting for one in found.left_out} == {f"setting {index}" for index in range(500, 520)}
    assert found.left_out[0].reason == "not among the 500 most promising of 520 settings"
    assert not any(one.may_be_best for one in found.left_out)


def test_an_answer_is_as_sure_as_its_repeats_lie_close():
    def of(*factors):
        slower = (1.1 * factor for factor in factors)
        return answer(candidate(*factors), candidate(*slower, label="cpu, bf16"))

    close, apart = of(1.0, 1.01, 0.99), of(1.0, 1.5, 0.67)
    assert [(close.state, close.is_clear), (apart.state, apart.is_clear)] == [
        ("settled", True),
        ("tie", False),
    ]
    assert "Next: measure 6 repeats of the tied settings, about 15 min. Run: " in format_sentence(apart)


def test_a_tied_setting_that_is_hardly_ever_good_is_not_taken_for_its_lower_cost():
    """The cheap one is 1.25 times as slow, and one run of either deviates by 0.15: it leads in 15%."""
    fast = candidate(1.0, label="t4", price=price(node_usd_per_hour=10.0))
    cheap = candidate(1.25, label="cpu", price=price(node_usd_per_hour=1.0))
    found = answer(fast, cheap, confidence=0.7)
    assert found.state == "tie"
    assert found.chosen == "t4"
    assert found.tied == ("t4", "cpu")


def test_repeats_of_one_setting_bound_the_error_of_single_runs_of_others():
    """The squares of five runs within 1% are 2e-4, with four degrees of freedom; 0.15 has 0.25."""
    often, once = candidate(1.0, 1.01, 0.99, 1.0, 1.0), candidate(1.1, label="cpu, bf16")
    criteria = Criteria(objective=Objective(), learns=True)
    found = recommend(job(often, once), criteria, ERRORS)
    one_run = math.sqrt((0.25 * 0.15**2 + 2e-4) / 4.25)
    assert pooled_errors(job(often, once), ERRORS).one_run == pytest.approx(one_run, rel=0.01)
    alone = next(one for one in found.standings if one.setting == "cpu, bf16")
    assert math.log(alone.seconds.high / 110.0) == pytest.approx(1.96 * one_run, rel=0.01)


def test_brackets_hold_the_next_measurement_and_not_what_many_of_them_would_come_to():
    """Check that the mean of n runs deviates by r / sqrt(n), the next run by r, and one run alone by 0.15.

    A prediction whose brackets reach from half to twice the step deviates by ln 2 / 1.7, a run of it by 0.02.
    """
    (alone,), (often,) = (answer(candidate(*[1.0] * count)).standings for count in (1, 20))
    assert math.log(alone.high) == pytest.approx(1.7 * math.hypot(ONE_RUN_DEVIATION, ONE_RUN_DEVIATION))
    assert math.log(often.high) == pytest.approx(1.7 * math.hypot(REPEAT / math.sqrt(20), REPEAT))
    deviation = math.log(2.0) / 1.7
    (standing,) = answer(candidate(prior=prior(device=deviation, network=0.0))).standings
    assert math.log(standing.high) == pytest.approx(1.7 * math.hypot(deviation, REPEAT))
    assert standing.low * standing.high == pytest.approx(standing.likely**2)


@pytest.mark.parametrize("known", [None, prior(device=8.0), prior(log_seconds=-3.0)])
def test_a_measurement_counts_once_with_or_without_a_prior_from_others(known):
    one = candidate(2.0, prior=known)
    model = build_model([one], job(one), Criteria(objective=Objective()), ERRORS)
    assert math.exp(model.steps.mean[0]) == pytest.approx(200.0)  # a hundred steps of 2 s
    assert model.steps.deviation[0] == pytest.approx(ONE_RUN_DEVIATION)


def test_a_measured_step_corrects_the_prediction_of_another_device():
    """The V100 takes twice the predicted step; half of the error of the network is common to both devices."""
    measured = candidate(2.0, 2.0, label="v100", prior=prior())
    unmeasured = candidate(label="t4", prior=prior(hardware="t4"))
    model = build_model(
        [measured, unmeasured], job(measured, unmeasured), Criteria(objective=Objective()), ERRORS
    )
    by_hand = math.log(2.0) * 0.5 * 0.4**2 / (0.3**2 + 0.4**2 + REPEAT**2 / 2)
    assert model.steps.mean[1] == pytest.approx(by_hand)


def test_what_was_measured_beside_something_else_shows_it_and_does_not_count():
    noisy = candidate(9.0, 9.0, 1.0, 1.0, num_noisy=2)
    found = answer(noisy, candidate(2.0, 2.0, label="cpu, bf16"))
    assert (found.state, found.chosen, found.num_noisy) == ("settled", "cpu, fp32", 2)
    (table,) = build_tables([found])
    assert [row[2] for row in table.rows] == ["measured, 2 noisy", "measured"]
    assert f"Noisy: {NOISY}." in table.note


@pytest.mark.parametrize(
    ("objective", "budget_usd", "message"),
    [
        ({}, 5.0, "budget.usd needs prices, and prices=example has none"),
        ({"goal": "cheapest"}, None, "report.goal=cheapest needs prices"),
        ({"goal": "balanced"}, None, "report.goal=balanced needs prices"),
        ({"budget_usd": 5.0}, None, "report.budget_usd needs prices"),
    ],
)
def test_what_needs_prices_is_refused_where_there_are_none(objective, budget_usd, message):
    criteria = Criteria(objective=Objective(**objective), budget_usd=budget_usd)
    with pytest.raises(ConfigError, match=message):
        criteria.check(price_list(rows={}, region=None))
    criteria.check(price_list())


def test_what_needs_no_prices_is_not_refused():
    for objective in (Objective(), Objective(goal="best"), Objective(goal="balanced", weight_cost=0.0)):
        Criteria(objective=objective).check(price_list(rows={}, region=None))


def test_weights_are_in_any_unit():
    found = {
        Criteria(
            objective=Objective(
                goal="balanced", weight_time=3 * unit, weight_cost=unit, weight_quality=4 * unit
            )
        ).weights
        for unit in (0.5, 1.0, 64.0)
    }
    assert found == {(0.375, 0.125, 0.5)}


def test_two_programs_of_one_step_do_not_err_exactly_alike():
    whole, sharded = prior(), prior(program="sharding=full", log_seconds=-0.11)
    found = compute_posterior([whole, sharded], CORRELATION)
    advice = assess(found, fastest())
    assert 0.6 < advice.chance < 0.95, "a tenth less time is no certainty"
    assert (
        assess(compute_posterior([whole, replace(sharded, program="")], CORRELATION), fastest()).chance > 0.99
    )
    measured = found.given({0: math.log(1.3)}, deviation=0.02)
    assert measured.mean[1] == pytest.approx(0.95 * math.log(1.3) - 0.11, abs=0.01)
    assert measured.deviation[1] < found.deviation[1] / 2, "it is known better by the other program"
