"""Predicted steps of native jobs whose samples have unequal lengths."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from shipped_devices import shipped_catalogue
from torch import nn

from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.jobs import TorchJob
from workloads.native.torch_cost import count_cost
from workloads.spec import BatchLengths, JobCost, NativeSpec

MODELS = default_models()
FIRST_LONG = [512] * 64 + [16] * 576  # the first batch of 64
LAST_LONG = FIRST_LONG[::-1]


def count(lengths: list[int]) -> JobCost:
    """Count a layer over sequences that are padded to the longest of their batch."""

    def job() -> TorchJob:
        model = nn.Linear(4, 8)
        return TorchJob(
            model=model,
            loss=lambda model, batch: model(batch).square().mean(),
            optimizer=torch.optim.SGD(model.parameters(), lr=1e-9),
            data=[torch.ones(length, 4) for length in lengths],
            collate=lambda samples: nn.utils.rnn.pad_sequence(samples, batch_first=True),
        )

    return count_cost(job(), job)


def estimate(lengths: tuple[BatchLengths, ...], *, batch: int) -> Estimate:
    """Estimate a step of a job of the size of ResNet-50 whose batches are that long."""
    cost = JobCost(
        flops_per_sample=1e10,
        flops_per_step=0.0,
        winograd_flops_per_sample=0.0,
        value_bytes_per_sample=1e8,
        weight_bytes=4e8,
        gradient_bytes=1e8,
        num_weights=25_000_000,
        layers=50,
        time_steps=0,
        recurrent_bytes=0.0,
        has_unused_weights=False,
        lengths=lengths,
    )
    spec = NativeSpec(
        name="mine",
        version=1,
        costs={"torch": cost},
        data="own:mine:1",
        train_samples=None,
        quality=None,
        epochs=None,
        accumulation_steps=1,
        unchecked=(),
    )
    query = StepQuery(
        spec=spec,
        device=shipped_catalogue().devices["t4"],
        precision="fp32",
        num_workers=1,
        global_batch_size=batch,
    )
    step = build_published_estimate(query, MODELS).step
    assert isinstance(step, Estimate)
    return step


def compute_deviation(one: Estimate) -> float:
    return math.log(one.high / one.likely) / MODELS.quantile


def test_a_long_batch_that_comes_first_or_last_gives_one_prediction() -> None:
    first, last = (estimate(count(lengths).lengths, batch=64) for lengths in (FIRST_LONG, LAST_LONG))
    assert (first.likely, first.low, first.high) == (last.likely, last.low, last.high)


@pytest.mark.parametrize("batch", [4, 16])
def test_the_interval_is_wider_by_what_trials_of_other_batches_differ(batch: int) -> None:
    lengths = count(FIRST_LONG).lengths
    unequal, equal = (
        estimate(tuple(replace(one, deviation=part * one.deviation) for one in lengths), batch=batch)
        for part in (1, 0)
    )
    assert unequal.likely == equal.likely
    random_numbers = np.random.default_rng(1)
    drawn = random_numbers.choice(FIRST_LONG, size=(400, 32 + 60, batch)).max(axis=2)
    counted, timed = drawn[:, :32].mean(axis=1), drawn[:, 32:].mean(axis=1)
    expected = math.hypot(compute_deviation(equal), np.log(timed / counted).std())
    assert compute_deviation(unequal) == pytest.approx(expected, rel=0.1)
    assert compute_deviation(unequal) > compute_deviation(equal)


def test_large_batches_that_all_have_a_long_sample_do_not_widen_the_interval() -> None:
    lengths = count(FIRST_LONG).lengths
    equal = tuple(replace(one, deviation=0.0) for one in lengths)
    assert estimate(lengths, batch=256).high == pytest.approx(estimate(equal, batch=256).high, rel=1e-3)
