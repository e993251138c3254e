"""One attempt of one trial: start its workers on its hosts, keep them in step, and say how it ended."""

import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.core.peaks import peaks_of
from orchestrator.core.placement import Placement
from orchestrator.core.result import Failure, TrainResult, TrialRecord
from orchestrator.core.trainer import Seat
from orchestrator.execute.base import Attempt, Mission
from orchestrator.execute.host import Host, Seats
from orchestrator.execute.host_use import Looks, gpus_of, host_use
from orchestrator.execute.notices import Notices
from orchestrator.execute.outcome import outcome_of
from orchestrator.execute.story import Story
from orchestrator.execute.worker_group import WorkerGroup
from orchestrator.train import agreement, gates
from orchestrator.train.base import WorkerJob
from orchestrator.train.failures import kind_of, line_of
from orchestrator.train.registry import trainer_info
from orchestrator.train.report import result_of

logger = logging.getLogger(__name__)

_LEAVE_SECONDS = 5.0  # after the last report: time to leave without being killed


def record_of(
    attempt: Attempt, mission: Mission, *, hosts: Sequence[Host], device_ids: Sequence[str] = ()
) -> TrialRecord:
    """Run one attempt and describe it. Whatever happens to the trial is in the record, nothing is raised.

    Args:
        hosts: as many as its placement says, those of the first ranks first.
        device_ids: accelerators of this host, whose use is looked at while the trial runs.
    """
    started_at = time.time()
    versions: Mapping[str, str] = {}
    ended_with: TrainResult | Failure
    looks = Looks(partial(host_use, gpus_of(device_ids if attempt.placement.kind == "gpu" else ())))
    try:
        story = _story_of(attempt, mission, hosts=hosts, looks=looks)
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


def _story_of(attempt: Attempt, mission: Mission, *, hosts: Sequence[Host], looks: Looks) -> Story:
    """Run the workers to their reports. Raises TrialError with the class of whatever went wrong."""
    placement = attempt.placement
    until = time.monotonic() + mission.deadlines.start_seconds
    with contextlib.ExitStack() as held:
        seats = [held.enter_context(each.opened()) for each in hosts]
        oom_kills = _num_oom_kills(hosts)
        jobs = _jobs_of(placement, mission, seats)
        story = Story(
            num_ranks=len(jobs),
            deadlines=mission.deadlines,
            now=time.monotonic(),
            until=until,
            num_hosts=placement.num_hosts,
        )
        of_jobs = [seats[_host_of(job.rank, placement)] for job in jobs]
        with WorkerGroup(
            [each.nursery for each in of_jobs],
            jobs,
            start_method=placement.start_method,
            logs=[each.logs / f"rank{job.rank}.log" for each, job in zip(of_jobs, jobs, strict=True)],
            until=until,
        ) as group:
            of_ranks = [hosts[_host_of(job.rank, placement)] for job in jobs]
            _hear_out(story, group, looks=looks, notices=_notices_of(hosts), hosts=of_ranks)
        if not story.is_complete:
            raise story.error_of(killed_for_memory=_num_oom_kills(hosts) > oom_kills)
    return story


def _host_of(rank: int, placement: Placement) -> int:
    """The place of a rank's host among those of the trial."""
    return rank // placement.processes_per_host


def _notices_of(hosts: Sequence[Host]) -> Notices:
    return Notices(lambda: any(each.is_leaving() for each in hosts))


def _num_oom_kills(hosts: Sequence[Host]) -> int:
    return sum(each.num_oom_kills() for each in hosts)


def _hear_out(
    story: Story, group: WorkerGroup, *, looks: Looks, notices: Notices, hosts: Sequence[Host]
) -> None:
    """Hear the workers until it is clear how the trial ends; those that did well may leave by themselves.

    Args:
        hosts: of each rank.
    """
    while not story.is_told:
        if notices.have_come(now=time.monotonic()):
            group.tell_to_leave()
        _take_turn(story, group, looks=looks, until=min(story.until, notices.due), hosts=hosts)
    looks.look(now=time.monotonic())
    if story.is_complete:
        group.wait_for_exits(seconds=_LEAVE_SECONDS)


def _take_turn(
    story: Story, group: WorkerGroup, *, looks: Looks, until: float, hosts: Sequence[Host]
) -> None:
    """Hear one message and answer it, or look at the host, or come to the end of patience.

    A checkpoint is kept before anything else is heard: the answer to the next meeting says that it is.
    """
    if time.monotonic() >= looks.due:
        looks.look(now=time.monotonic())
    event = group.next_event(until=min(until, looks.due))
    if event is None:
        if time.monotonic() >= story.until:
            story.time_out()
        return
    rank, message = event
    if message["event"] == "checkpoint":
        story.notes += hosts[rank].take(Path(message["folder"]))
        return
    answer = story.hear(rank, message, now=time.monotonic())
    if answer is not None:
        group.answer(answer)


def _jobs_of(placement: Placement, mission: Mission, hosts: Sequence[Seats]) -> list[WorkerJob]:
    """What each rank is told."""
    addresses = tuple(address for seats in hosts for address in seats.addresses)
    return [
        _job_of(rank, addresses, placement, mission, hosts[_host_of(rank, placement)])
        for rank in range(placement.num_processes)
    ]


def _job_of(
    rank: int, addresses: tuple[str, ...], placement: Placement, mission: Mission, seats: Seats
) -> WorkerJob:
    visible = {"CUDA_VISIBLE_DEVICES": ",".join(seats.device_ids)} if placement.kind == "gpu" else {}
    seat = Seat(
        rank=rank,
        addresses=addresses,
        kind=placement.kind,
        replicas=placement.replicas,
        threads=placement.threads,
        num_hosts=placement.num_hosts,
        interface=seats.interface,
    )
    return WorkerJob(
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
        variables=visible | dict(trainer_info(placement.trial.trainer).variables(seat)),
        keeping=seats.keeping,
    )
