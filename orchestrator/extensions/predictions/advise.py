"""Recommend settings from records and predictions, and what to measure next; no trial starts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import filterfalse
from pathlib import Path

from orchestrator.analysis.formatting import first_names
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import in_phases
from orchestrator.analysis.recommendation.model.criteria import build_criteria
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.core.estimate import Refusal
from orchestrator.core.sweep import Point
from orchestrator.extensions.predictions.advised_jobs import KnownSetting, build_job
from orchestrator.extensions.predictions.inputs import PredictionInputs, find_inputs
from orchestrator.extensions.predictions.jobs import group_jobs
from orchestrator.extensions.predictions.smaller_settings import explain_misfit
from orchestrator.extensions.predictions.step_time.estimator import Correction
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_priors import fit_error_model, step_prior
from orchestrator.pipeline.components import find_repeated_words, list_command_words
from orchestrator.pipeline.point_settings import load_settings
from orchestrator.plan.compatibility import reason_against
from orchestrator.plan.slots import count_hosts
from orchestrator.plan.trial_specs import unsuitable
from orchestrator.train.registry import trainer_info


def recommend_settings(
    overrides: Sequence[str], *, confidence: float | None, working_directory: Path
) -> tuple[Recommendation, ...]:
    """Recommend a setting for every workload of a sweep, and what to measure until the answer is settled.

    Uses the records of all sweeps.

    Args:
        confidence: probability above which an answer is settled; None: that of the search.

    Raises:
        ConfigError: an invalid override, or a goal that needs data that is missing.
        RecordError: the sweep's own records cannot be read.
    """
    settings = load_settings(overrides, working_directory)
    search = settings.search if confidence is None else replace(settings.search, confidence=confidence)
    criteria = build_criteria(search, settings.objective, budget_usd=settings.budget.usd)
    criteria.check(settings.prices)
    inputs = find_inputs(settings)
    errors = fit_error_model(inputs.models)
    jobs = group_jobs(settings.sweep.points, inputs.identity)
    possible = group_jobs(filterfalse(_find_reason_against, settings.sweep.points), inputs.identity)
    found = []
    for name, points in jobs.items():
        job = build_job(
            name,
            _known_settings(possible.get(name, points), inputs),
            objective=settings.objective,
            sweep=settings.sweep.name,
            repeated_words=find_repeated_words(settings),
            words=list_command_words(settings),
        )
        recommendation = recommend(job, criteria, errors)
        left_out = _describe_impossible(points) if name in possible else ()
        found.append(replace(recommendation, caveats=(*recommendation.caveats, *left_out)))
    return tuple(found)


def _find_reason_against(point: Point) -> str | None:
    """Return why its trainer cannot train a point; None: it can, or the workload refuses the input itself."""
    return None if unsuitable(point) else reason_against(point, trainer_info(point.trainer))


def _describe_impossible(settings: Iterable[tuple[Point, ...]]) -> tuple[str, ...]:
    """Describe the settings that no trainer of the sweep can train, in a sentence; empty: there are none."""
    reasons = {
        f"{points[0].device.name} in {points[0].precision} ({_find_reason_against(points[0])})": None
        for points in settings
        if all(map(_find_reason_against, points))
    }
    names = first_names(list(reasons), separator="; ")
    return (f"Not compared, as no trainer of the sweep can train there: {names}.",) if reasons else ()


def _known_settings(settings: Sequence[tuple[Point, ...]], inputs: PredictionInputs) -> list[KnownSetting]:
    """Collect records and prior of every setting of a workload; the prior ignores its own measurements."""
    workload = settings[0][0].workload
    corrected = inputs.corrected_by(own for own in inputs.own if own.trial.workload != workload)
    return [_known_setting(points, inputs, corrected) for points in settings]


def _known_setting(
    points: tuple[Point, ...], inputs: PredictionInputs, corrected: Correction
) -> KnownSetting:
    point = points[0]
    query = inputs.build_query(point)
    refusal, prior = None, None
    compiled, fit = (None, None) if isinstance(query, Refusal) else inputs.find_answers(points)
    memory = None if isinstance(query, Refusal) else query.memory and replace(query.memory, counted=fit)
    if isinstance(query, Refusal):
        refusal = query
    elif too_large := explain_misfit(point, query, memory):
        refusal = too_large
    elif reason := reason_against(point, trainer_info(point.trainer)):
        refusal = Refusal(reason=reason, to_measure="it with another trainer or precision")
    else:
        basis = corrected(build_published_estimate(query, inputs.models), None)
        step = inputs.loader_rates.limit(compiled or basis.step, point)
        if (count := len(query.spec.phases)) > 1:  # a step time does not give the time of a whole training
            step = in_phases(count)
        prior = step_prior(step, basis, memory=memory, quantile=inputs.models.quantile)
        refusal = step if isinstance(step, Refusal) else None
    return KnownSetting(
        points=points,
        spec=None if isinstance(query, Refusal) else query.spec,
        train_samples=None if isinstance(query, Refusal) else inputs.count_train_samples(query.spec, point),
        num_hosts=count_hosts(point, inputs.find_slots(point)),
        records=inputs.load_records(point),
        prior=prior,
        refusal=refusal,
        price=inputs.find_price(point),
        is_repriced=inputs.settings.reprices,
        is_rented=inputs.is_rented(point),
    )
