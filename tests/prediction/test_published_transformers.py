"""Transformers with published rates, each predicted by the others."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from transformer_family import query_of_transformer
from transformer_rates import TRANSFORMER_RATES

from orchestrator.config.cluster import load_cluster
from orchestrator.predict.step_time.bundled_models import default_models
from orchestrator.predict.step_time.published_estimate import published_estimate_of


def errors_without_own_network() -> Mapping[str, list[tuple[float, float]]]:
    """Network -> (log error, log factor of the interval) of each of its steps, predicted by the others."""
    models, (_, catalogue) = default_models(), load_cluster((), working_directory=Path.cwd())
    steps = [step for step in models.rated if step.family == "transformer"]
    errors = defaultdict(list)
    for rate, step in zip(TRANSFORMER_RATES, steps, strict=True):
        others = tuple(other for other in models.rated if other.workload != step.workload)
        query = query_of_transformer(rate, catalogue.devices[rate.device])
        estimate = published_estimate_of(query, replace(models, rated=others)).step
        error = math.log(rate.global_batch_size / rate.samples_per_second / estimate.likely)
        errors[step.workload].append((error, math.log(estimate.high / estimate.likely)))
    return errors


def test_a_network_is_predicted_by_the_others_within_a_quarter_and_an_interval_of_two() -> None:
    """Over networks that count alike: the two sizes of BERT have four fifths of the steps."""
    errors = errors_without_own_network()
    typical = [median(abs(math.expm1(-error)) for error, _ in steps) for steps in errors.values()]
    held = [fmean(abs(error) <= width for error, width in steps) for steps in errors.values()]
    factors = [math.exp(width) for steps in errors.values() for _, width in steps]
    assert len(errors) == 7
    assert median(typical) <= 0.25
    assert max(factors) <= 2
    assert fmean(held) >= 0.8
