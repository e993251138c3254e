"""Transformers with published rates, each predicted by the others."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean, median

import pytest
from published_steps import query_of_transformer
from shipped_devices import shipped_catalogue
from transformer_rates import TRANSFORMER_RATES

from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_query import network_label


def errors_without_own_network() -> Mapping[str, list[tuple[float, float]]]:
    """Network -> (log error, log factor of the interval) of each of its steps, predicted by the others."""
    models, catalogue = default_models(), shipped_catalogue()
    errors = defaultdict(list)
    networks: dict[str, set[str]] = defaultdict(set)
    asked = [
        (
            f"{rate.workload} {rate.options['size']}",
            rate,
            query_of_transformer(rate, catalogue.devices[rate.device]),
        )
        for rate in TRANSFORMER_RATES
    ]
    for name, rate, query in asked:
        networks[name].add(network_label(rate.workload, query.demand))
    without = {
        name: replace(models, steps=tuple(step for step in models.steps if step.labels.network not in labels))
        for name, labels in networks.items()
    }
    for name, rate, query in asked:
        estimate = build_published_estimate(query, without[name]).step
        assert isinstance(estimate, Estimate)
        error = math.log(rate.global_batch_size / rate.samples_per_second / estimate.likely)
        errors[name].append((error, math.log(estimate.high / estimate.likely)))
    return errors


@pytest.mark.more
def test_a_network_is_predicted_by_the_others_within_a_third_and_an_interval_of_two_and_a_half() -> None:
    """Over networks that count alike: the two sizes of BERT have four fifths of the steps."""
    errors = errors_without_own_network()
    typical = [median(abs(math.expm1(-error)) for error, _ in steps) for steps in errors.values()]
    held = [fmean(abs(error) <= width for error, width in steps) for steps in errors.values()]
    factors = [math.exp(width) for steps in errors.values() for _, width in steps]
    assert len(errors) == 7
    assert median(typical) <= 0.33
    assert max(factors) <= 2.6
    assert fmean(held) >= 0.85
