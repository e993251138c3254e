"""Predictions of points from overrides: their times and costs; no trial starts."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.analysis.recommendation.jobs.length import JobLength, known_length
from orchestrator.config.loader import device_words
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.printable import command_text
from orchestrator.core.sweep import Point
from orchestrator.extensions.predictions.advised_jobs import list_overrides
from orchestrator.extensions.predictions.inputs import find_inputs
from orchestrator.extensions.predictions.jobs import describe_job
from orchestrator.extensions.predictions.prediction_table import Prediction
from orchestrator.extensions.predictions.smaller_settings import explain_misfit
from orchestrator.extensions.predictions.step_time.estimator import (
    measured_step,
)
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.pipeline.components import find_repeated_words
from orchestrator.pipeline.point_settings import NO_SWEEP, load_settings
from orchestrator.plan.compatibility import reason_against
from orchestrator.plan.inputs import describe_input
from orchestrator.plan.planner import build_full_training
from orchestrator.plan.trial_specs import unsuitable
from orchestrator.train.registry import trainer_info, trainers
from workloads.spec import Workload

_DEFAULTS = ("data.source=auto ", "num_workers=1 ", "steps=", "seed=", "measure.")
"""Words with a blank, or their starts, that a command to measure a step leaves out: its time is the same."""


def predict_points(overrides: Sequence[str], *, working_directory: Path) -> tuple[Prediction, ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: an invalid override.
        RecordError: the sweep's own records cannot be read.
    """
    named = device_words(overrides, working_directory=working_directory)
    inputs = find_inputs(load_settings(named.words, working_directory))
    models, corrected = inputs.models, inputs.corrected_by(inputs.own)
    repeated = find_repeated_words(inputs.settings)
    alike: dict[Hashable, list[Point]] = defaultdict(list)
    for point in inputs.settings.sweep.points:
        alike[inputs.identity(point)].append(point)

    lengths: dict[Hashable, JobLength | None] = {}

    def find_length(spec: Workload, point: Point) -> JobLength | None:
        job = describe_job(point), point.global_batch_size
        if job not in lengths:
            training = build_full_training(spec, point, inputs.count_train_samples(spec, point))
            lengths[job] = known_length(training, inputs.settings.objective)
        return lengths[job]

    def build_prediction(point: Point) -> Prediction:
        answer = partial(
            Prediction,
            point=point,
            price=inputs.find_price(point, named.instances.get(point.device.name, "")),
            is_rented=inputs.is_rented(point),
            instance=named.instances.get(point.device.name),
            command=_find_command(point, repeated_words=repeated),
        )
        step: Estimate | Refusal | None
        if isinstance(query := inputs.build_query(point), Refusal):
            return answer(roofline=None, step=query)
        compiled, fit = inputs.find_answers(alike[inputs.identity(point)])
        memory = query.memory and replace(query.memory, counted=fit)
        if repeats := inputs.find_repeats(point):
            step = measured_step(repeats, models.prior)
        elif not (step := explain_misfit(point, query, memory)):
            step = compiled or corrected(build_published_estimate(query, models), None).step
            step = inputs.loader_rates.limit(step, point)
        return answer(
            roofline=query.roofline,
            step=step,
            has_run=bool(repeats),
            knows_network=query.is_over_network,
            memory=memory,
            breakdown=inputs.find_breakdown(point, query),
            length=find_length(query.spec, point),
            input=describe_input(point),
            tokens_per_sample=query.spec.tokens_per_sample,
        )

    return tuple(map(build_prediction, inputs.points))


def _find_command(point: Point, *, repeated_words: Sequence[str]) -> str | None:
    """Return the command that measures a point, with a trainer that can train it; None: none can."""
    if unsuitable(point) is not None:
        return None
    names = (point.trainer, *(name for name, info in trainers().items() if info.trains))
    tried = (point, *(replace(point, trainer=name, trainer_options={}) for name in names))
    found = next((one for one in tried if reason_against(one, trainer_info(one.trainer)) is None), None)
    if found is None:
        return None
    words = [word for word in list_overrides(found) if not f"{word} ".startswith(_DEFAULTS)]
    return command_text([NO_SWEEP, *repeated_words, *words])
