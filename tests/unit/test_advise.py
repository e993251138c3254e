"""Which setting leads, how sure that is, and what a measurement is worth: small cases by hand."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from builders import trial_spec
from plan_values import point
from price_values import price_list

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.price import Unpriced
from orchestrator.core.wish import Wish
from orchestrator.predict.advice_table import sentence_of, tables_of
from orchestrator.predict.advise import Judgement, Probe, Question, agenda, judge, next_of
from orchestrator.predict.analytic import Measured
from orchestrator.predict.belief import Belief, Kinship, Thought, belief_of
from orchestrator.predict.contenders import Contender, belief_in
from orchestrator.predict.defaults import default_models
from orchestrator.predict.demand import Demand
from orchestrator.predict.fit_kinship import fit_kinship
from orchestrator.predict.job_advice import advice_of
from orchestrator.predict.own import Own
from orchestrator.predict.prior import learned_from
from orchestrator.predict.terms import Terms

KINSHIP = Kinship(devices=0.5, doublings=4.0)
REPEAT = 0.02
WITHIN = math.log(1.05)


def belief(means, deviations):
    """Settings that know nothing of each other."""
    return Belief(mean=np.log(means), covariance=np.diag(np.square(deviations)))


def fastest(count=2, *, most=math.inf):
    return Question(exponent=1.0, unit=np.zeros(count), most=np.full(count, most))


def thought(**changes):
    base = Thought(hardware="v100", batch_size=64, log_seconds=0.0, device=0.3, network=0.4)
    return replace(base, **changes)


def advised(thoughts, costs, *, left=math.inf, confidence=0.9, question=None):
    question = question or fastest(len(costs))
    found = agenda(
        thoughts,
        question,
        np.array(costs),
        judgement=judge(thoughts, question, repeat=REPEAT),
        left=left,
        confidence=confidence,
        repeat=REPEAT,
    )
    return [each.setting for each, _ in found]


def test_the_chance_of_a_setting_is_that_of_a_normal_difference():
    found = judge(belief((1.0, 1.2), (0.2, 0.2)), fastest(), repeat=REPEAT)
    by_hand = NormalDist().cdf((math.log(1.2) + WITHIN) / math.hypot(0.2, 0.2))
    assert found.winner == 0
    assert found.chance == pytest.approx(by_hand, abs=0.02)


def test_a_measurement_gains_what_was_lost_by_not_knowing():
    found = judge(belief((1.0, 1.0), (1e-6, 0.2)), fastest(), repeat=1e-6)
    by_hand = 1 - NormalDist().cdf(WITHIN / 0.2)
    gains = {each.settings: each.gain for each in found.probes}
    assert gains[0,] == pytest.approx(0.0, abs=0.03)
    assert gains[1,] == pytest.approx(by_hand, abs=0.03)


def test_what_cannot_change_the_choice_is_not_measured():
    assert advised(belief((1.0, 10.0), (0.1, 0.1)), (1.0, 1.0), confidence=0.999999) == []


def test_it_stops_where_the_winner_is_clear_enough():
    unsure = belief((1.0, 1.3), (0.2, 0.2))
    chance = judge(unsure, fastest(), repeat=REPEAT).chance
    assert advised(unsure, (1.0, 1.0), confidence=chance - 0.01) == []
    assert advised(unsure, (1.0, 1.0), confidence=chance + 0.01)


def test_an_agenda_begins_with_the_judgement_that_is_shown():
    clear = Judgement(chances=np.array((0.99, 0.0)), probes=())
    known = {"judgement": clear, "left": math.inf, "confidence": 0.9, "repeat": REPEAT}
    assert not list(agenda(belief((1.0, 1.0), (0.2, 0.2)), fastest(), np.ones(2), **known))


def test_of_two_that_tell_as_much_the_cheaper_is_measured_and_a_costly_one_not_at_all():
    three = belief((1.0, 1.1, 1.1), (0.05, 0.2, 0.2))
    assert advised(three, (1.0, 5.0, 4.0), confidence=0.99)[0] == 2
    assert advised(three, (9.0, 9.0, 9.0), left=8.0) == []


def test_a_cheap_measurement_leaves_enough_for_the_one_that_tells_most():
    probes = tuple(Probe(settings=(each,), gain=gain) for each, gain in enumerate((0.02, 0.2, 0.0)))
    judgement = Judgement(chances=np.array((0.5, 0.3, 0.2)), probes=probes)

    def chosen(left):
        found = next_of(judgement, np.array((0.1, 2.0, 0.1)), left=left)
        return found and found.setting

    assert [chosen(left) for left in (2.0, 2.2, 1.0, 0.05)] == [1, 0, 0, None]


def test_two_that_err_alike_are_both_measured_though_one_of_them_tells_nothing():
    alike = Belief(mean=np.zeros(2), covariance=0.09 * np.array(((1.0, 0.9), (0.9, 1.0))))
    gains = {each.settings: each.gain for each in judge(alike, fastest(), repeat=REPEAT).probes}
    pair = max(gains, key=lambda each: gains[each])
    assert len(pair) == 2
    assert gains[pair] > 2 * max(gains[0,], gains[1,])
    assert sorted(advised(alike, (1.0, 2.0), confidence=0.9)) == [0, 1]
    assert advised(alike, (1.0, 2.0), left=2.0, confidence=0.9) != [0, 1]


def test_what_breaks_a_limit_is_not_good_however_cheap():
    question = Question(exponent=1.0, unit=np.log((1.0, 0.1)), most=np.log((2.0, 2.0)))
    sure = (1e-6, 1e-6)
    assert judge(belief((1.0, 1.5), sure), question, repeat=REPEAT).winner == 1
    assert judge(belief((1.0, 2.5), sure), question, repeat=REPEAT).winner == 0
    assert judge(belief((3.0, 3.5), sure), question, repeat=REPEAT).chance == 0.0


def test_a_measurement_moves_most_what_is_most_alike():
    thoughts = (
        thought(),
        thought(batch_size=128),
        thought(hardware="t4"),
        thought(hardware="t4", network=0.0),
    )
    before = belief_of(thoughts, KINSHIP)
    after = before.given({0: math.log(2.0)}, deviation=REPEAT)
    own, doubled, elsewhere, unlike = np.exp(after.mean)
    assert own == pytest.approx(2.0, rel=0.01)
    assert own > doubled > elsewhere > unlike == 1.0
    by_hand = math.log(2.0) * 0.5 * 0.4**2 / (0.3**2 + 0.4**2 + REPEAT**2)
    assert math.log(elsewhere) == pytest.approx(by_hand)
    assert after.deviation[0] == pytest.approx(REPEAT, rel=0.01)
    assert all(after.deviation <= before.deviation)


def test_nothing_measured_changes_nothing():
    before = belief_of((thought(), thought(hardware="t4")), KINSHIP)
    after = before.given({}, deviation=())
    assert np.array_equal(before.mean, after.mean)
    assert np.array_equal(before.covariance, after.covariance)


NO_CPU = Refusal(reason="no CPU was measured", to_measure="it")


def contender(*seconds, step=NO_CPU, is_noisy=False, **changes):
    """A setting with repeats that took so long a step, of which others tell nothing."""
    repeats = (
        Own(trial=trial_spec(repeat=number), step_seconds=each, sweep="mine", is_noisy=is_noisy)
        for number, each in enumerate(seconds)
    )
    return Contender(
        point=point(**changes),
        hardware=tuple(changes.items()),
        network=0.3,
        step=step,
        measured=tuple(repeats),
        price=Unpriced(reason="none"),
    )


def advice_on(*contenders):
    terms = Terms(wish=Wish(), confidence=0.9, budget_usd=None)
    known = {"prior": default_models().prior, "kinship": KINSHIP, "besides_seconds": None}
    return advice_of("a job", contenders, terms, **known)


def test_a_job_of_too_many_settings_is_refused():
    one = contender()
    assert advice_on(one).winner is None
    with pytest.raises(ConfigError, match="a job has 501 settings; advice is given on 500 at most"):
        advice_on(*[one] * 501)


def test_a_winner_is_as_sure_as_its_repeats_lie_close():
    def advice(*factors):
        return advice_on(contender(*factors), contender(*(1.1 * each for each in factors), precision="bf16"))

    close, apart = advice(1.0, 1.01, 0.99), advice(1.0, 1.5, 0.67)
    assert [close.is_clear, apart.is_clear] == [True, False]
    assert sentence_of(apart).endswith(
        "below 90%: no setting that was not measured would tell much more, repeats may."
    )


def test_brackets_hold_the_next_measurement_and_not_what_many_of_them_would_come_to():
    prior = default_models().prior
    (alone,), (often,) = (advice_on(contender(*[1.0] * count)).standings for count in (1, 20))
    assert math.log(alone.high) == pytest.approx(prior.quantile * prior.repeat * math.sqrt(2))
    learned = learned_from([0.0] * 20, device=math.inf, workload=prior.repeat, freedom=prior.freedom)
    assert math.log(often.high) == pytest.approx(prior.quantile * learned.deviation)
    predicted = Estimate(low=0.5, likely=1.0, high=2.0, source="a guess")
    (standing,) = advice_on(contender(step=predicted)).standings
    assert standing.high == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("step", [NO_CPU, Estimate(low=1e-6, likely=1.0, high=1e6, source="a guess")])
def test_a_measurement_counts_once_whether_others_tell_of_its_setting_or_not(step):
    prior, (one,) = default_models().prior, (contender(2.0, step=step),)
    found = belief_in([one], prior, KINSHIP)
    assert math.exp(found.mean[0]) == pytest.approx(2.0, rel=0.01)
    assert found.deviation[0] == pytest.approx(prior.repeat, rel=0.01)


def test_what_was_measured_beside_something_else_says_so():
    advice = advice_on(contender(1.0, 1.0, is_noisy=True), contender(2.0, precision="bf16"))
    assert "fp32, batch 64, measured, 2 noisy, is clear" in sentence_of(advice)
    (table,) = tables_of(advice)
    assert [row[1] for row in table.rows] == ["measured, 2 noisy", "measured"]
    assert "Noisy: the host's load average" in table.note


@pytest.mark.parametrize(
    ("wish", "budget_usd", "message"),
    [
        ({"goal": "best"}, None, "no quality is predicted: report.goal is fastest, cheapest or balanced"),
        ({"quality": 0.9}, None, "no quality is predicted"),
        ({"goal": "balanced", "weight_time": 0, "weight_cost": 0}, None, "weight_cost are both 0"),
        ({}, 5.0, "budget.usd needs prices, and prices=example has none"),
        ({"goal": "cheapest"}, None, "report.goal=cheapest needs prices"),
        ({"budget_usd": 5.0}, None, "report.budget_usd needs prices"),
    ],
)
def test_what_no_prediction_can_answer_is_refused(wish, budget_usd, message):
    terms = Terms(wish=Wish(**wish), confidence=0.9, budget_usd=budget_usd)
    with pytest.raises(ConfigError, match=message):
        terms.check(price_list(rows={}, region=None))


def test_weights_are_in_any_unit():
    found = {
        Terms(
            wish=Wish(goal="balanced", weight_time=3 * unit, weight_cost=unit),
            confidence=0.9,
            budget_usd=None,
        ).weights
        for unit in (0.5, 1.0, 64.0)
    }
    assert found == {(0.75, 0.25)}


def errors(of):
    """Eight networks on two devices at three batch sizes, each with an error that `of` tells."""
    demand = Demand(flops=1e9, value_bytes=1e6, weight_bytes=1e6, gradient_bytes=1e6, layers=3)
    return [
        (
            Measured(
                device=device,
                model=f"m{model}",
                image_size=32,
                batch_size=batch,
                demand=demand,
                parts=(),
                step_seconds=1.0,
            ),
            of(model, device, batch),
        )
        for model in range(8)
        for device in ("v100", "t4")
        for batch in (16, 32, 64)
    ]


def test_networks_that_err_alike_everywhere_are_kin_and_others_are_not():
    random = np.random.default_rng(0)
    of_network = random.normal(size=8)
    of_each = {(model, device): random.normal() for model in range(8) for device in ("v100", "t4")}
    alike = fit_kinship(errors(lambda model, _device, _batch: float(of_network[model])))
    apart = fit_kinship(errors(lambda model, device, _batch: of_each[model, device]))
    assert alike.devices > 0.99
    assert apart.devices < 0.7
    assert alike.doublings == apart.doublings > 100
    loose = fit_kinship(errors(lambda _model, _device, _batch: float(random.normal())))
    assert loose.doublings < 2


def test_kinship_needs_two_devices_and_two_batch_sizes():
    one = [pair for pair in errors(lambda *_: 1.0) if pair[0].device == "t4"]
    with pytest.raises(ConfigError, match="at one batch size on two devices, and at two sizes on one"):
        fit_kinship(one)
