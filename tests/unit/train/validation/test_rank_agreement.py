"""One rank's word stands for the trial only where all ranks say the same."""

import math
from dataclasses import replace

import pytest
from builders import pursuit
from rank_result_builders import report

from orchestrator.core.result import Failure
from orchestrator.core.work_share import BatchShare
from orchestrator.train.rank_result import RankResult, merge_ranks
from orchestrator.train.validation.rank_agreement import find_failure


def judge(*reports: RankResult) -> Failure | None:
    return find_failure(reports, merge_ranks(reports, launch_seconds=0.6), shares_losses=True)


def test_one_rank_agrees_with_itself():
    assert judge(report()) is None


def test_ranks_may_differ_in_times_memory_and_the_last_bits_of_losses_and_quality():
    other = report(
        {"block_seconds": (0.2,) * 6, "losses": ((1, 2.3), (64, 0.500001), (120, 0.1))},
        peak_host_bytes=1,
        quality={"accuracy": 0.971},
    )
    assert judge(report(), other) is None


def test_ranks_that_have_shares_of_their_own_count_samples_of_their_own():
    shares = [
        BatchShare(samples=value, of_samples=64, probe_samples=32, probe_seconds=0.1) for value in (56, 8)
    ]
    facts = [replace(report().device, batch_share=share) for share in shares]
    ranks = [
        report(samples=120 * share.samples, device=each) for share, each in zip(shares, facts, strict=True)
    ]
    assert judge(*ranks) is None


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (report({"steps": 110}), "the steps taken: 120 on rank 0, 110 on rank 1"),
        (report(samples=3840), "the samples of a rank: 7680 on rank 0, 3840 on rank 1"),
        (report({"warmup_steps": 4}), "the warm-up steps: 3 on rank 0, 4 on rank 1"),
        (report({"block_seconds": (0.1,)}), "the number of blocks: 6 on rank 0, 1 on rank 1"),
        (report({"steps_per_block": 1}), "the steps per block: 10 on rank 0, 1 on rank 1"),
        (report({"stopped_because": "steps"}), "why timing stopped: interval on rank 0, steps on rank 1"),
        (
            report({"losses": ((1, 2.3),)}),
            "the steps after which the loss was read: [1, 64, 120] on rank 0, [1] on rank 1",
        ),
        (
            report({"losses": ((1, 2.3), (64, 0.51), (120, 0.1))}),
            "the loss after step 64: 0.5 on rank 0, 0.51 on rank 1",
        ),
        (report(quality={}), "the kinds of quality: ['accuracy'] on rank 0, [] on rank 1"),
        (report(quality={"accuracy": 0.1}), "the accuracy: 0.97 on rank 0, 0.1 on rank 1"),
    ],
)
def test_ranks_that_disagree_leave_no_result(other, what):
    failure = judge(report(), other)
    assert failure is not None
    assert (failure.kind, failure.message) == ("invalid_measurement", f"ranks disagree on {what}")


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (pursuit(0.5), "the steps after which it was evaluated: [10, 20] on rank 0, [10] on rank 1"),
        (pursuit(0.5, 0.7), "the quality after step 20: 0.9 on rank 0, 0.7 on rank 1"),
    ],
)
def test_ranks_that_were_on_other_ways_to_a_target_leave_no_result(other, what):
    failure = judge(report({"pursuit": pursuit(0.5, 0.9)}), report({"pursuit": other}))
    assert failure is not None
    assert (failure.kind, failure.message) == ("invalid_measurement", f"ranks disagree on {what}")


def test_ranks_may_find_a_few_samples_of_an_evaluation_otherwise():
    one, other = (report({"pursuit": pursuit(*found)}) for found in [(0.01, 0.9), (0.018, 0.899)])
    assert judge(one, other) is None


def test_ranks_that_all_find_a_quality_that_is_no_number_agree():
    one, other = (report({"pursuit": pursuit(math.nan, 0.9)}) for _ in range(2))
    assert judge(one, other) is None
    failure = judge(report({"pursuit": pursuit(0.5, 0.9)}), one)
    assert failure is not None
    assert failure.message == "ranks disagree on the quality after step 10: 0.5 on rank 0, nan on rank 1"


def test_the_refused_result_is_in_the_failure():
    failure = judge(report(), report(samples=1))
    assert failure is not None
    assert failure.refused == merge_ranks([report(), report(samples=1)], launch_seconds=0.6)


def test_a_failure_lists_the_quality_of_all_ranks():
    failure = judge(report(), report(), report(quality={"accuracy": 0.5}))
    assert failure is not None
    assert failure.message.endswith("0.97 on rank 0, 0.97 on rank 1, 0.5 on rank 2")
