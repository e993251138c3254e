"""Real trials whose convolutions are split: they pass every gate, learn, and record what each rank held."""

from collections.abc import Iterator, Mapping

import pytest
from small_trials import STEPS, load_records, small_trial

from orchestrator.core import codec
from orchestrator.core.result import DeviceFacts, TrainResult, TrialRecord

pytest.importorskip("torch", reason="torch is not installed")

_CIFAR10 = {"workload": "cifar10_cnn", "workload_options": {"kernels": (3, 7)}, "data": "synthetic:cifar10"}
TRIALS = {
    "one worker": small_trial("kernel_split", 1),
    "two workers": small_trial("kernel_split", 2),
    "two workers in bf16": small_trial("kernel_split", 2, precision="bf16"),
    "four workers": small_trial("kernel_split", 4, **_CIFAR10),
    "two workers that re-balance": small_trial("kernel_split", 2, trainer_options={"rebalance": "on"}),
}


@pytest.fixture(scope="module")
def records(request: pytest.FixtureRequest) -> Mapping[str, TrialRecord]:
    return load_records(TRIALS, request)


@pytest.fixture(params=TRIALS)
def result(request: pytest.FixtureRequest, records: Mapping[str, TrialRecord]) -> TrainResult:
    record = records[request.param]
    assert record.failure is None
    return record.result


@pytest.mark.slow_cases("two workers in bf16", "four workers", "one worker", "re-balance")
@pytest.mark.more
def test_a_split_trial_passes_every_gate_and_learns(result: TrainResult) -> None:
    assert (result.steps, result.samples) == (STEPS, STEPS * 64)
    assert result.quality["accuracy"] > 0.5  # a guess is right in 0.1 of the cases
    assert result.unmoved == ()
    assert result.exchange_seconds == ()  # no step can do without


def first_held(rank: DeviceFacts) -> Iterator[int]:
    """Yield per layer the kernels that a rank began with."""
    if rank.kernel_moves:
        return iter(rank.kernel_moves[0].before)
    return (share.kernels for share in rank.kernel_shares)


@pytest.mark.slow_cases("two workers in bf16", "four workers", "one worker", "re-balance")
@pytest.mark.more
def test_a_record_has_the_kernel_shares_of_each_rank_proportional_to_its_speed(result: TrainResult) -> None:
    again = codec.from_json(TrainResult, codec.to_json(result))
    assert [kernel_share.layer for kernel_share in again.devices[0].kernel_shares] == ["model.0", "model.3"]
    held = zip(*map(first_held, again.devices), strict=True)
    layers = zip(*(rank.kernel_shares for rank in again.devices), strict=True)
    for kernels, of_layer in zip(held, layers, strict=True):
        speeds = [item.flops_per_second for item in of_layer]
        for each, speed, count in zip(of_layer, speeds, kernels, strict=True):
            assert count == pytest.approx(each.of_kernels * speed / sum(speeds), abs=1)
