"""Stops of a training whose steps take seconds: each ends in time with a checkpoint, and is resumed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from metadata_server import metadata_server
from slow_training import PREEMPTED, STEPS_BEFORE_BLOCKS, stop_and_resume, write_job

GRACE_SECONDS = 7
RECORD_SECONDS = 3.0  # from the end of the training to its record, on a busy host


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Values of a metadata server that the commands of the test ask."""
    values = {PREEMPTED: "FALSE"}
    with metadata_server(values) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        yield values


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """The words that train a job with steps of a second."""
    return write_job(tmp_path, step_seconds=1.0, grace_seconds=GRACE_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["inline", "ray"])
@pytest.mark.parametrize("kind", ["SIGTERM", "cancel", "notice"])
def test_a_stop_between_slow_steps_leaves_a_checkpoint_within_the_grace_period_and_is_resumed(
    tmp_path: Path, words: tuple[str, ...], metadata: dict[str, str], kind: str, executor: str
) -> None:
    stopped = stop_and_resume(kind, (*words, f"executor={executor}"), tmp_path, metadata)
    assert stopped.failure == "preempted", stopped
    assert stopped.recorded_seconds is not None
    assert stopped.recorded_seconds < GRACE_SECONDS + RECORD_SECONDS, stopped
    assert stopped.cpu_seconds <= 1.0, stopped
    assert stopped.num_recorded == (2 if kind == "notice" else 1), "a notice alone is followed by a retry"
    assert stopped.checkpoint_step is not None
    assert stopped.resumed_step == stopped.checkpoint_step > STEPS_BEFORE_BLOCKS, stopped


@pytest.mark.slow
@pytest.mark.slow_cases("ray")
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_a_pause_between_slow_steps_lets_the_training_end_and_starts_no_other(
    tmp_path: Path, words: tuple[str, ...], metadata: dict[str, str], executor: str
) -> None:
    paused = stop_and_resume("pause", (*words, f"executor={executor}", "seed=0,1"), tmp_path, metadata)
    assert "pausing: nothing more is started" in paused.output
    assert paused.cpu_seconds <= 1.0, paused
    assert (paused.failure, paused.num_recorded, paused.resumed_step) == (None, 1, None), paused
