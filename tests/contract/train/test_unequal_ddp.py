"""Real trials whose batches are dealt out by speed: they pass every gate, learn, and record the shares."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from small_trials import STEPS, load_records, small_trial

from orchestrator.core import codec
from orchestrator.core.result import TrainResult, TrialRecord

pytest.importorskip("torch", reason="torch is not installed")

TRIALS = {
    "one worker": small_trial("unequal_ddp", 1),
    "two workers": small_trial("unequal_ddp", 2),
    "four workers in bf16": small_trial("unequal_ddp", 4, precision="bf16"),
}
REHEARSAL = {"a rehearsal": replace(small_trial("unequal_ddp", 1, seed=1), provenance="rehearsed")}


@pytest.fixture(scope="module")
def records(request: pytest.FixtureRequest) -> Mapping[str, TrialRecord]:
    return load_records({**TRIALS, **REHEARSAL}, request)


@pytest.fixture(params=TRIALS)
def result(request: pytest.FixtureRequest, records: Mapping[str, TrialRecord]) -> TrainResult:
    record = records[request.param]
    assert record.failure is None
    return record.result


@pytest.mark.slow_cases("four workers in bf16", "one worker")
@pytest.mark.more
def test_a_dealt_trial_passes_every_gate_and_learns(result: TrainResult) -> None:
    assert (result.steps, result.samples) == (STEPS, STEPS * 64)
    assert result.quality["accuracy"] > 0.5  # a guess is right in 0.1 of the cases
    assert result.held_out_samples == 1000  # of the synthetic digits
    assert result.unmoved == ()
    assert len(result.exchange_seconds) == (len(result.devices) if len(result.devices) > 1 else 0)


@pytest.mark.parametrize("result", REHEARSAL, indirect=True)
@pytest.mark.more
def test_a_rehearsal_has_no_number_of_held_out_samples(result: TrainResult) -> None:
    assert result.quality["accuracy"] >= 0
    assert result.held_out_samples is None


@pytest.mark.slow_cases("four workers in bf16", "one worker")
@pytest.mark.more
def test_a_record_has_the_batch_share_of_each_rank_proportional_to_its_speed(result: TrainResult) -> None:
    shares = [rank.batch_share for rank in codec.from_json(TrainResult, codec.to_json(result)).devices]
    speed = sum(share.samples_per_second for share in shares)
    assert sum(share.samples for share in shares) == 64
    for item in shares:
        assert item.samples == pytest.approx(64 * item.samples_per_second / speed, abs=1)
