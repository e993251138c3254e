"""Settings that may not fit the memory never stand before one that surely fits; what is measured next."""

import math
import shlex

import builders
import pytest
from price_builders import price

from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.criteria import build_criteria
from orchestrator.analysis.recommendation.model.model import INDEPENDENT
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.core.estimate import StepPrior
from orchestrator.core.objective import Objective
from orchestrator.core.search import GRID


def setting(name, *, seconds, doubt, is_rented=True, usd_per_hour=1.0):
    prior = StepPrior(
        hardware=name, batch_size=8, log_seconds=math.log(seconds), device=0.1, network=0.1, doubt=doubt
    )
    return CandidateSetting(
        setting=builders.setting(device=name, precision="bf16", global_batch_size=8),
        label=name,
        steps=100,
        words=(f"device={name}", "precision=bf16", "trainer=tensorflow", "trainer.compile=on"),
        prior=prior,
        price=price(node_usd_per_hour=usd_per_hour),
        is_rented=is_rented,
    )


def answer(*candidates, goal="cheapest"):
    job = Job(
        where="llama",
        sweep="mine",
        aim=None,
        target=None,
        samples=1_000_000,
        length="1,000,000 samples",
        candidates=candidates,
    )
    return recommend(job, build_criteria(GRID, Objective(goal=goal)), INDEPENDENT)


@pytest.mark.parametrize("doubt", ["not counted", "tight"])
def test_a_faster_device_that_may_not_fit_does_not_stand_before_one_with_room(doubt):
    found = answer(setting("small", seconds=0.1, doubt=doubt), setting("large", seconds=0.3, doubt=""))
    assert found.winner.setting == "large"
    assert [(one.setting, one.may_be_best) for one in found.left_out] == [("small", True)]
    assert doubt in found.left_out[0].reason
    command = shlex.split(found.next_step.command)
    assert (command[3] == "plan") == (doubt == "not counted")
    if doubt == "not counted":
        assert found.next_step.usd is None
        assert command[-1] == "trainer=torch_ddp"
        assert "trainer.compile=on" not in command


def test_where_none_surely_fits_the_best_is_named_with_its_doubt_and_the_count_is_the_next_step():
    found = answer(
        setting("small", seconds=0.1, doubt="not counted"), setting("slow", seconds=0.3, doubt="tight")
    )
    assert found.winner.setting == "small"
    assert "Its memory is not counted, so that it may not fit." in format_sentence(found)
    assert shlex.split(found.next_step.command)[3] == "plan"


def test_a_device_that_is_here_is_tried_and_not_doubted():
    found = answer(
        setting("here", seconds=0.1, doubt="not counted", is_rented=False),
        setting("large", seconds=0.3, doubt=""),
    )
    assert found.winner.setting == "here"
    assert found.left_out == ()


def test_the_next_trial_names_why_it_is_not_the_likeliest_setting():
    found = answer(
        setting("likely", seconds=0.30, doubt="", usd_per_hour=50.0),
        setting("cheap", seconds=0.33, doubt="", usd_per_hour=1.0),
        goal="fastest",
    )
    assert found.winner.setting != found.errands[0].setting
    assert "which tells most for its price" in found.next_step.why
