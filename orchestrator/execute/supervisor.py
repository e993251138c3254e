"""One attempt of one trial on this host: start its workers, keep them in step, and say how it ended."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.core.errors import TrialError
from orchestrator.core.peaks import peaks_of
from orchestrator.core.placement import Placement
from orchestrator.core.result import Failure, TrainResult, TrialRecord
from orchestrator.core.trainer import TrainerInfo
from orchestrator.execute.agent import NurseryAddress
from orchestrator.execute.base import Attempt, Mission
from orchestrator.execute.checkpoints import Shelf, shelf_of
from orchestrator.execute.host_use import Looks, gpus_of, host_use
from orchestrator.execute.memory import num_oom_kills
from orchestrator.execute.outcome import log_of, outcome_of
from orchestrator.execute.ports import reserved_addresses
from orchestrator.execute.story import Story
from orchestrator.execute.worker_group import WorkerGroup
from orchestrator.train import agreement, gates
from orchestrator.train.base import Keeping, WorkerJob
from orchestrator.train.failures import kind_of, line_of
from orchestrator.train.registry import trainer_info
from orchestrator.train.report import result_of


class NurseryOf(Protocol):
    """Knows the nurseries of this host: `Agent.nursery`, or a way to an agent elsewhere."""

    def __call__(self, info: TrainerInfo, *, python: str, start_seconds: float) -> NurseryAddress:
        """The address of the nursery of a trainer."""


logger = logging.getLogger(__name__)

_LEAVE_SECONDS = 5.0  # after the last report: time to leave without being killed


def record_of(
    attempt: Attempt, mission: Mission, *, nursery_of: NurseryOf, device_ids: Sequence[str]
) -> TrialRecord:
    """Run one attempt and describe it. Whatever happens to the trial is in the record, nothing is raised.

    Args:
        device_ids: accelerators of this host that the trial may use, as its framework numbers them.
    """
    started_at = time.time()
    versions: Mapping[str, str] = {}
    ended_with: TrainResult | Failure
    looks = Looks(partial(host_use, gpus_of(device_ids if attempt.placement.kind == "gpu" else ())))
    try:
        story = _story_of(attempt, mission, nursery_of=nursery_of, device_ids=device_ids, looks=looks)
        versions = story.reports[0].versions
        result = _result_of(story, attempt.placement, mission)
        refused = _gates_failure(attempt.placement, mission, result)
        ended_with = refused or agreement.failure_of(story.reports, result) or result
    except Exception as error:
        logger.debug("trial %s failed", attempt.placement.trial_id, exc_info=True)
        ended_with = Failure(kind=kind_of(error), message=line_of(error))
    record = outcome_of(attempt, mission, started_at=started_at, ended_with=ended_with, versions=versions)
    return replace(record, host_use=looks.seen)


def _result_of(story: Story, placement: Placement, mission: Mission) -> TrainResult:
    """What all ranks say together, and what the devices asked for could do at most if these are what ran."""
    result = result_of(story.reports, launch_seconds=story.launch_seconds)
    result = replace(result, checkpoint_notes=(*result.checkpoint_notes, *story.notes))
    device = mission.devices.get(placement.trial.device)
    if device is None or placement.provenance == "rehearsed":
        return result
    peaks = peaks_of(device, placement.precision, count=placement.trial.num_workers)
    return replace(result, peaks=peaks)


def _gates_failure(placement: Placement, mission: Mission, result: TrainResult) -> Failure | None:
    device = mission.devices.get(placement.trial.device)
    return gates.failure_of(placement, result, driver_names=device.driver_names if device else ())


def _story_of(
    attempt: Attempt, mission: Mission, *, nursery_of: NurseryOf, device_ids: Sequence[str], looks: Looks
) -> Story:
    """Run the workers to their reports. Raises TrialError with the class of whatever went wrong."""
    placement = attempt.placement
    info = trainer_info(placement.trial.trainer)
    _require_files(placement, mission)
    start_seconds = mission.deadlines.start_seconds
    until = time.monotonic() + start_seconds
    nursery = nursery_of(info, python=mission.pythons[info.name], start_seconds=start_seconds)
    logs = _logs_of(attempt, mission)
    oom_kills = num_oom_kills()
    with (
        shelf_of(placement, mission.checkpointing) as shelf,
        reserved_addresses(placement.num_processes) as addresses,
    ):
        jobs = _jobs_of(placement, mission, device_ids=device_ids, addresses=addresses, keeping=shelf.keeping)
        story = Story(num_ranks=len(jobs), deadlines=mission.deadlines, now=time.monotonic(), until=until)
        with WorkerGroup(nursery, jobs, start_method=placement.start_method, logs=logs, until=until) as group:
            _hear_out(story, group, looks=looks, shelf=shelf)
    if not story.is_complete:
        raise story.error_of(killed_for_memory=num_oom_kills() > oom_kills)
    return story


def _require_files(placement: Placement, mission: Mission) -> None:
    """Refuse a pool's node that does not see what the driver sees, in words that say what to share."""
    if placement.pool is None:
        return
    for path in (str(mission.folder), mission.data_paths[placement.trial.data]):
        if not Path(path).exists():
            raise TrialError(
                "environment",
                f"{placement.node} does not see the driver's {path}; nodes must share its folders",
            )


def _logs_of(attempt: Attempt, mission: Mission) -> list[Path]:
    """One file a rank, in a folder that is there."""
    folder = mission.folder / log_of(attempt)
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / f"rank{rank}.log" for rank in range(attempt.placement.num_processes)]


def _hear_out(story: Story, group: WorkerGroup, *, looks: Looks, shelf: Shelf) -> None:
    """Hear the workers until it is clear how the trial ends; those that did well may leave by themselves."""
    while not story.is_told:
        _take_turn(story, group, looks=looks, shelf=shelf)
    looks.look(now=time.monotonic())
    if story.is_complete:
        group.wait_for_exits(seconds=_LEAVE_SECONDS)


def _take_turn(story: Story, group: WorkerGroup, *, looks: Looks, shelf: Shelf) -> None:
    """Hear one message and answer it, or look at the host, or come to the end of patience.

    A checkpoint is kept before anything else is heard: the answer to the next meeting says that it is.
    """
    if time.monotonic() >= looks.due:
        looks.look(now=time.monotonic())
    event = group.next_event(until=min(story.until, looks.due))
    if event is None:
        if time.monotonic() >= story.until:
            story.time_out()
        return
    rank, message = event
    if message["event"] == "checkpoint":
        story.notes += shelf.take(Path(message["folder"]))
        return
    answer = story.hear(rank, message, now=time.monotonic())
    if answer is not None:
        group.answer(answer)


def _jobs_of(
    placement: Placement,
    mission: Mission,
    *,
    device_ids: Sequence[str],
    addresses: tuple[str, ...],
    keeping: Keeping | None,
) -> list[WorkerJob]:
    info = trainer_info(placement.trial.trainer)
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(device_ids)} if placement.kind == "gpu" else {}
    return [
        WorkerJob(
            trial=placement.trial,
            origin=mission.origins.get(placement.trial.workload),
            kind=placement.kind,
            precision=placement.precision,
            rehearsal=placement.provenance == "rehearsed",
            rank=rank,
            world_size=placement.num_processes,
            replicas=placement.replicas,
            threads=placement.threads,
            data_path=mission.data_paths[placement.trial.data],
            addresses=addresses,
            variables=visible | dict(_variables_of(placement, info, rank=rank, addresses=addresses)),
            keeping=keeping,
        )
        for rank in range(placement.num_processes)
    ]


def _variables_of(
    placement: Placement, info: TrainerInfo, *, rank: int, addresses: tuple[str, ...]
) -> Mapping[str, str]:
    return info.variables(
        rank,
        addresses,
        kind=placement.kind,
        replicas=placement.replicas,
        world_size=placement.num_processes,
        threads=placement.threads,
    )
