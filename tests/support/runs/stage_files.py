"""Stages of running trials, as a test waits for them: a thread writes them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.core.trial_progress import TrialStage
from orchestrator.execute.trial.stages import StageFile, read_stage

SETTING_UP = TrialStage(name="setting up")


def timing(done: int) -> TrialStage:
    """That many of 15 blocks are timed."""
    return TrialStage(name="timing", done=done, most=15)


def wait_for_stage(folder: Path, trial_id: str, stage: TrialStage) -> None:
    """Wait until the stage is written."""
    until = time.monotonic() + 5
    while read_stage(folder, trial_id) != stage:
        assert time.monotonic() < until, read_stage(folder, trial_id)
        time.sleep(0.005)


@contextmanager
def at_stage(folder: Path, trial_id: str, stage: TrialStage) -> Iterator[None]:
    """Keep a trial at a stage."""
    with StageFile(folder, trial_id) as stage_file:
        stage_file.show(stage, now=1.0)
        wait_for_stage(folder, trial_id, stage)
        yield
