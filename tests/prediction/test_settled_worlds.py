"""Simulated worlds: a settled recommendation is right, and is given where five repeats could settle it.

A world is the records of one or two workloads. Rates, fixed costs, prices, qualities, noise, number of
repeats, goal, deadline and budget are drawn at random. In half of the worlds the settings differ by 5 to 30
percent, and noise can hide the best. In others some settings are not measured, only predicted, and their
true times are drawn from what is predicted.

A world is judged and not reported: tests/unit/analysis/recommendation has the words and the next trials.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest
from builders import record, train_result, trial_spec
from price_builders import price
from report_builders import plan_of

from orchestrator.analysis.recommendation.answer.judgement import judge
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import jobs_of_plan
from orchestrator.analysis.recommendation.model.acquisition import TOLERANCE
from orchestrator.analysis.recommendation.model.criteria import Criteria, build_criteria
from orchestrator.analysis.recommendation.recommend import build_recommendations
from orchestrator.core.estimate import ErrorCorrelation, ErrorModel, Estimate, Forecast, StepPrior
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Aim
from orchestrator.core.trial_spec import trial_id

HALVES = {"first": range(1000), "second": range(1000, 2000)}
"""Seeds of worlds; `make test` has the first half."""

GOALS = ("fastest", "cheapest", "balanced", "best")
SHARE_RIGHT = 0.95
ERRORS = ErrorModel(correlation=ErrorCorrelation(devices=0.866, doublings=13.2), repeat=0.0256, quantile=1.72)
ACCURACY = Aim(metric="accuracy", higher_is_better=True)
DEVICE_DEVIATION, NETWORK_DEVIATION = 0.486, 0.35
HELD_OUT = 10_000
STEPS = 100
STUDENT_5 = 2.776  # two-sided 95% of four degrees of freedom


@dataclass(frozen=True)
class Truth:
    """True values of the settings of one job.

    Attributes:
        value: device -> the objective; infinite where a limit is broken.
        noise: device -> deviation of the logarithm of one run.
        is_measured: all settings are.
    """

    value: dict[str, float]
    noise: dict[str, float]
    is_measured: bool

    @property
    def best(self):
        return min(self.value.values())

    def is_right(self, label):
        """Return whether the setting lies within 5% of the best and respects the limits."""
        return self.value[label.partition(",")[0]] - self.best <= math.log1p(TOLERANCE)

    @property
    def is_separable(self):
        """True where the best leads every other setting by more than the interval of five repeats."""
        if not self.is_measured or not math.isfinite(self.best):
            return False
        best = min(self.value, key=self.value.get)
        return all(
            self.value[other] - self.best
            > math.log1p(TOLERANCE)
            + 2 * STUDENT_5 * math.hypot(self.noise[best], self.noise[other]) / math.sqrt(5)
            for other in self.value
            if other != best
        )


def world(seed, *, repeats=None):
    """Draw (records, plan, wish, workload -> truth)."""
    random = np.random.default_rng(seed)
    num_runs = repeats or int(random.integers(1, 8))
    samples = int(10 ** random.uniform(4, 8))
    jobs = [_job(random, name, samples, num_runs) for name in ("mnist_cnn", "lenet5")[: 1 + (seed % 5 == 0)]]
    limits = {}
    if random.random() < 0.3:
        limits["deadline_hours"] = _limit(random, np.concatenate([job.seconds for job in jobs])) / 3600
    if random.random() < 0.3:
        limits["budget_usd"] = _limit(random, np.concatenate([job.usd for job in jobs]))
    objective = Objective(goal=GOALS[seed % 4], samples=samples, **limits)
    records = [one for job in jobs for one in job.records]
    plan = replace(
        plan_of(records, forecasts=[one for job in jobs for one in job.forecasts]),
        aims={job.workload: ACCURACY for job in jobs},
        step_priors={key: prior for job in jobs for key, prior in job.priors.items()},
        error_model=ERRORS,
    )
    return records, plan, objective, {job.workload: _truth(job, objective) for job in jobs}


def _limit(random, values):
    return float(np.quantile(values, random.random()) * random.uniform(0.8, 1.5))


@dataclass(frozen=True, kw_only=True)
class _Job:
    workload: str
    records: list
    forecasts: list
    priors: dict
    seconds: np.ndarray
    usd: np.ndarray
    quality: np.ndarray
    noise: np.ndarray
    is_measured: np.ndarray


def _job(random, workload, samples, num_runs):
    count = int(random.integers(2, 9))
    hardware = random.integers(0, max(2, count // 2), count)
    batch = 2 ** random.integers(4, 11, count)
    noise = np.full(count, 10 ** random.uniform(-2.5, -0.7)) * np.exp(random.normal(0, 0.3, count))
    predicted = random.normal(-4.0, 1.0) + 0.7 * np.log(batch / 64)
    predicted = predicted + 10 ** random.uniform(-1.5, 0.5) * random.normal(0.0, 1.0, count)
    shared = ERRORS.correlation.devices
    network = (
        math.sqrt(shared) * random.normal() + math.sqrt(1 - shared) * random.normal(size=count)[hardware]
    )
    device = DEVICE_DEVIATION * random.normal(size=count)[hardware]
    log_step = predicted + device + NETWORK_DEVIATION * network
    fixed = np.exp(random.normal(math.log(20), 1.0, count))
    usd_per_hour = np.exp(random.normal(0.0, 1.0, count))
    quality = np.clip(0.95 + random.normal(0.0, 0.02, count), 0.5, 0.999)
    is_measured = random.random(count) < (1.0 if random.random() < 0.6 else 0.7)
    if random.random() < 0.5:  # all are alike and measured, and noise can hide the best
        apart = 10 ** random.uniform(-1.3, -0.5)
        noise = apart * 10 ** random.uniform(-1.0, 0.3) * np.ones(count)
        log_step = -4.0 + np.log(batch / 64) + apart * random.normal(size=count)
        fixed = 20.0 * np.exp(apart * random.normal(size=count))
        usd_per_hour = np.exp(apart * random.normal(size=count))
        quality = np.clip(0.9 + apart * random.normal(size=count) / 3, 0.5, 0.999)
        is_measured = np.full(count, fill_value=True)
    records, forecasts, priors = [], [], {}
    for index in range(count):
        spec = trial_spec(
            workload=workload,
            device=f"device_{index}",
            host_cpu=None,
            global_batch_size=int(batch[index]),
            steps=STEPS,
        )
        paid = price(node_usd_per_hour=float(usd_per_hour[index]))
        prior = StepPrior(
            hardware=f"hardware {hardware[index]}",
            batch_size=int(batch[index]),
            log_seconds=float(predicted[index]),
            device=DEVICE_DEVIATION,
            network=NETWORK_DEVIATION,
        )
        priors[trial_id(spec)] = prior
        if not is_measured[index]:
            likely = math.exp(predicted[index])
            estimate = Estimate(low=likely / 2, likely=likely, high=likely * 2, source="a fit")
            forecasts.append(Forecast(trial=spec, num_trials=1, step=estimate, price=paid))
            continue
        for run in range(num_runs):
            step = float(math.exp(log_step[index] + random.normal(0, noise[index])))
            result = train_result(
                launch_seconds=float(fixed[index] * math.exp(random.normal(0, noise[index]))),
                first_step_seconds=step,
                block_seconds=((10 * step,) * 6,),
                cpu_seconds=(60 * step,),
                steps=STEPS,
                samples=100_000,  # for all alike: qualities compare
                training_seconds=STEPS * step,
                quality={"accuracy": random.binomial(HELD_OUT, quality[index]) / HELD_OUT},
                held_out_samples=HELD_OUT,
            )
            records.append(record(spec=replace(spec, repeat=run, seed=run), result=result, price=paid))
    seconds = fixed + samples / batch * np.exp(log_step)
    return _Job(
        workload=workload,
        records=records,
        forecasts=forecasts,
        priors=priors,
        seconds=seconds,
        usd=seconds * usd_per_hour / 3600,
        quality=quality,
        noise=noise,
        is_measured=is_measured,
    )


def _truth(job, objective):
    time, cost, better = Criteria(objective=objective).weights
    value = time * np.log(job.seconds) + cost * np.log(job.usd) - better * job.quality / job.quality.max()
    keeps = (job.seconds <= 3600 * (objective.deadline_hours or math.inf)) & (
        job.usd <= (objective.budget_usd or math.inf)
    )
    names = [f"device_{index}" for index in range(len(value))]
    return Truth(
        value=dict(zip(names, np.where(keeps, value, np.inf).tolist(), strict=True)),
        noise=dict(zip(names, job.noise.tolist(), strict=True)),
        is_measured=bool(job.is_measured.all()),
    )


def answers(seed, *, repeats=None):
    """The goal, the judgement and the truth of every job."""
    records, plan, objective, truths = world(seed, repeats=repeats)
    criteria = build_criteria(plan.search, objective)
    for job in jobs_of_plan(records, plan, objective):
        workload = next(name for name in truths if job.where.startswith(name))
        yield objective.goal, judge(job, criteria, ERRORS), truths[workload]


@pytest.fixture(scope="module", params=HALVES)
def settled(request):
    """Goal -> whether each settled recommendation is right."""
    right = defaultdict(list)
    for seed in HALVES[request.param]:
        for goal, found, truth in answers(seed):
            if found.decision.state == "settled":
                right[goal].append(truth.is_right(found.candidates[found.decision.chosen].label))
    return right


@pytest.mark.slow_cases("second")
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.more
def test_a_settled_setting_is_within_5_percent_of_the_true_best(settled, goal):
    assert len(settled[goal]) > 100
    assert np.mean(settled[goal]) >= SHARE_RIGHT


@pytest.mark.slow_cases("second")
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.more
def test_what_five_repeats_could_settle_is_settled_in_at_least_half_of_the_worlds(half):
    found = [
        judgement.decision.state == "settled"
        for seed in HALVES[half][::2]
        for _, judgement, truth in answers(seed, repeats=5)
        if truth.is_separable
    ]
    assert len(found) > 100
    assert np.mean(found) >= 0.5


@pytest.mark.more
def test_a_recommendation_has_the_state_and_the_choice_of_its_judgement():
    for seed in range(60):
        records, plan, objective, _ = world(seed)
        found = build_recommendations(records, plan, objective)
        for recommendation, (_, judgement, _) in zip(found, answers(seed), strict=True):
            chosen = judgement.decision.chosen
            label = None if chosen is None else judgement.candidates[chosen].label
            assert (recommendation.state, recommendation.chosen) == (judgement.decision.state, label)
