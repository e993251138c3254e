"""No machine is rented for a job that this one ends, as measured, before the rented one has started."""

import math
from dataclasses import replace

import builders
import pytest
from price_builders import price

from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, Run
from orchestrator.analysis.recommendation.model.criteria import build_criteria
from orchestrator.analysis.recommendation.model.model import INDEPENDENT
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.core.estimate import StepPrior
from orchestrator.core.objective import Objective
from orchestrator.core.search import GRID

SAMPLES = 8_000


def setting(name, *, step_seconds, is_rented=False, is_noisy=False, is_measured=True, **priced):
    run = Run(
        fixed_seconds=0.5,
        step_seconds=step_seconds,
        samples=800,
        seconds_to_target=None,
        samples_to_target=None,
        quality=None,
        held_out_samples=None,
        seed=0,
        trial_seconds=1.0,
        is_noisy=is_noisy,
    )
    return CandidateSetting(
        setting=builders.setting(device=name, global_batch_size=8),
        label=name,
        steps=100,
        words=(f"device={name}",),
        runs=(run,) if is_measured else (),
        prior=StepPrior(
            hardware=name, batch_size=8, log_seconds=math.log(step_seconds), device=0.1, network=0.1
        ),
        price=replace(price(node_usd_per_hour=1.0), **priced),
        is_rented=is_rented,
    )


def rented(**priced):
    return setting("t4", step_seconds=0.0001, is_rented=True, is_measured=False, **priced)


def answer(*candidates, goal="fastest", known_length="1 epoch", **objective):
    job = Job(
        where="mnist",
        sweep="mine",
        aim=None,
        target=None,
        samples=SAMPLES,
        length="8,000 samples",
        known_length=known_length,
        candidates=candidates,
    )
    return recommend(job, build_criteria(GRID, Objective(goal=goal, **objective)), INDEPENDENT)


@pytest.mark.parametrize("goal", ["fastest", "cheapest"])
def test_a_job_of_two_seconds_stays_here(goal):
    found = answer(setting("cpu", step_seconds=0.0015), rented(least_billing_seconds=60.0), goal=goal)
    assert (found.state, found.chosen) == ("settled", "cpu")
    assert [(one.setting, one.may_be_best) for one in found.left_out] == [("t4", False)]
    assert "each start takes or bills at least 60 s, and the whole job here takes 2.0 s" in format_sentence(
        found
    )
    assert found.next_step is None


def test_the_stated_start_counts_where_it_is_longer_than_what_is_billed():
    here = setting("cpu", step_seconds=0.1)  # 100.5 s
    assert answer(here, rented(least_billing_seconds=60.0)).state == "not settled"
    assert answer(here, rented(least_billing_seconds=60.0, start_seconds=(120.0, 600.0))).state == "settled"


def test_a_cheap_machine_may_bill_its_start_and_still_cost_less():
    here = setting("cpu", step_seconds=0.03, node_usd_per_hour=10.0)
    there = rented(least_billing_seconds=60.0, node_usd_per_hour=0.1)
    assert answer(here, there, goal="cheapest").left_out == ()
    assert [one.setting for one in answer(here, there).left_out] == ["t4"]


def test_the_length_of_a_trial_is_not_that_of_the_job():
    here, there = setting("cpu", step_seconds=0.0015), rented(least_billing_seconds=60.0)
    assert answer(here, there, known_length="").left_out == ()


def test_a_busy_host_only_made_the_job_here_slower():
    here = setting("cpu", step_seconds=0.0015, is_noisy=True)
    found = answer(here, rented(least_billing_seconds=60.0))
    assert ("t4", False) in [(one.setting, one.may_be_best) for one in found.left_out]


def test_a_rented_machine_that_was_measured_is_judged_by_its_measurement():
    there = setting("t4", step_seconds=0.0001, is_rented=True, least_billing_seconds=60.0)
    assert answer(setting("cpu", step_seconds=0.0015), there).left_out == ()
