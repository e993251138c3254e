"""Counted memory against the resident memory of a process that takes the same steps."""

import memory_peaks
import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["full", "full, checkpointed", "full, micro batches of 2", "LoRA, checkpointed"]
)
def test_the_count_is_within_15_percent_of_the_resident_memory(name: str) -> None:
    pytest.importorskip("peft")
    counted, measured = memory_peaks.compare(name)
    assert 0.85 < counted / measured < 1.15
