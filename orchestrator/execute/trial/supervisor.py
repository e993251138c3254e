"""One attempt of one trial: start its workers on its hosts, keep them in step, and record its end."""

import contextlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.core import codec
from orchestrator.core.peaks import find_peaks, peaks_together
from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import Failure, TrainResult, TrialRecord
from orchestrator.core.trainer import RankContext
from orchestrator.core.trial_progress import TrialProgress, TrialStage
from orchestrator.execute.executor import SweepContext
from orchestrator.execute.trial.host import Host, HostSession
from orchestrator.execute.trial.host_usage import HostUsageSampler, host_use, read_gpus
from orchestrator.execute.trial.monitor import TrialMonitor
from orchestrator.execute.trial.records import classify_outcome
from orchestrator.execute.trial.stages import StageFile
from orchestrator.execute.trial.worker_group import WorkerGroup
from orchestrator.train.failures import classify_kind, format_cause
from orchestrator.train.rank_result import merge_ranks
from orchestrator.train.registry import trainer_info
from orchestrator.train.trainer import WorkerJob
from orchestrator.train.validation import gates
from orchestrator.train.validation import rank_agreement as agreement

_SECONDS = 2.0  # a cloud gives half a minute; to ask takes milliseconds


class PreemptionPoller:
    """The first stop request, and the monotonic time of the next poll for it.

    After the request nothing is left to poll: `due` is infinite and stays so. A `due` in the past would end
    every wait for a worker's message at once.

    Args:
        is_leaving: returns True if a host must be left.
    """

    def __init__(self, is_leaving: Callable[[], bool]) -> None:
        self._is_leaving = is_leaving
        self.due = 0.0

    def poll(self, *, now: float) -> bool:
        """Poll if it is due. Return True for the first stop request only."""
        if now < self.due:
            return False
        has_come = self._is_leaving()
        self.due = math.inf if has_come else now + _SECONDS
        return has_come

    def hurry(self) -> None:
        """Poll at the next opportunity: the last message may have been answered by a stop request."""
        if self.due < math.inf:
            self.due = 0.0


logger = logging.getLogger(__name__)

OnProgress = Callable[[TrialProgress], None]
"""Callback with the progress of a training, which waits until it returns."""

_LEAVE_SECONDS = 5.0  # after the last report: time to leave without being killed


def build_record(
    attempt: Attempt,
    context: SweepContext,
    *,
    hosts: Sequence[Host],
    on_progress: OnProgress,
    device_ids: Sequence[str] = (),
) -> TrialRecord:
    """Run one attempt and describe it. Every failure of the trial is in the record, nothing is raised.

    Args:
        hosts: hosts of the placement, in rank order.
        on_progress: receives the progress of the training, where the sweep's search listens.
        device_ids: accelerators of this host; their use is sampled while the trial runs.
    """
    started_at = time.time()
    versions: Mapping[str, str] = {}
    ended_with: TrainResult | Failure
    has_gpus = any(group.kind == "gpu" for group in attempt.placement.on_host(0))
    usage_sampler = HostUsageSampler(partial(host_use, read_gpus(device_ids if has_gpus else ())))
    try:
        monitor = _run_workers(
            attempt, context, hosts=hosts, usage_sampler=usage_sampler, on_progress=on_progress
        )
        versions = monitor.reports[0].versions
        result = _build_result(monitor, attempt.placement, context)
        driver_names = {name: device.driver_names for name, device in context.devices.items()}
        refused = gates.find_failure(attempt.placement, result, driver_names=driver_names)
        shares_losses = not trainer_info(attempt.placement.trial.trainer).runs_scripts
        disagreement = agreement.find_failure(monitor.reports, result, shares_losses=shares_losses)
        ended_with = refused or disagreement or result
    except Exception as error:
        logger.debug("trial %s failed", attempt.placement.trial_id, exc_info=True)
        ended_with = Failure(kind=classify_kind(error), message=format_cause(error))
    record = classify_outcome(
        attempt, context, started_at=started_at, ended_with=ended_with, versions=versions
    )
    return replace(record, host_use=usage_sampler.seen)


def _build_result(monitor: TrialMonitor, placement: Placement, context: SweepContext) -> TrainResult:
    """Build the result from the reports of all ranks, with the peaks of the devices that ran."""
    result = merge_ranks(monitor.reports, launch_seconds=monitor.launch_seconds)
    result = replace(result, checkpoint_notes=(*result.checkpoint_notes, *monitor.notes))
    trial, devices = placement.trial, context.devices
    if placement.provenance == "rehearsed" or any(name not in devices for name in trial.devices):
        return result
    counts = Counter(trial.devices)
    peaks = [find_peaks(devices[name], placement.precision, count=count) for name, count in counts.items()]
    return replace(result, peaks=peaks_together(peaks))


def _run_workers(
    attempt: Attempt,
    context: SweepContext,
    *,
    hosts: Sequence[Host],
    usage_sampler: HostUsageSampler,
    on_progress: OnProgress,
) -> TrialMonitor:
    """Run the workers until they report. Raises TrialError with the kind of the failure."""
    placement = attempt.placement
    until = time.monotonic() + context.deadlines.start_seconds
    with contextlib.ExitStack() as held:
        stage_file = held.enter_context(StageFile(context.folder, placement.trial_id))
        host_session = [held.enter_context(host.opened()) for host in hosts]
        oom_kills = _num_oom_kills(hosts)
        jobs = _build_jobs(placement, context, host_session)
        monitor = TrialMonitor(
            num_ranks=len(jobs),
            deadlines=context.deadlines,
            now=time.monotonic(),
            until=until,
            num_hosts=placement.num_hosts,
        )
        of_jobs = [host_session[part.host] for part in placement.of_ranks]
        with WorkerGroup(
            [host.fork_server for host in of_jobs],
            jobs,
            start_method=placement.start_method,
            logs=[host.logs / f"rank{job.rank}.log" for host, job in zip(of_jobs, jobs, strict=True)],
            until=until,
        ) as group:
            of_ranks = [hosts[part.host] for part in placement.of_ranks]
            _monitor_workers(
                monitor,
                group,
                usage_sampler=usage_sampler,
                preemption_poller=PreemptionPoller(lambda: any(host.is_leaving() for host in hosts)),
                hosts=of_ranks,
                on_progress=on_progress,
                stage_file=stage_file,
            )
        if not monitor.is_complete:
            raise monitor.cause(killed_for_memory=_num_oom_kills(hosts) > oom_kills)
    return monitor


def _num_oom_kills(hosts: Sequence[Host]) -> int:
    return sum(host.num_oom_kills() for host in hosts)


def _monitor_workers(
    monitor: TrialMonitor,
    group: WorkerGroup,
    *,
    usage_sampler: HostUsageSampler,
    preemption_poller: PreemptionPoller,
    hosts: Sequence[Host],
    on_progress: OnProgress,
    stage_file: StageFile,
) -> None:
    """Process worker messages until the outcome is known. Workers of a complete trial may exit by themselves.

    Args:
        hosts: host of each rank, in rank order.
    """
    while not monitor.is_finished:
        if preemption_poller.poll(now=time.monotonic()):
            group.request_stop()
        if time.monotonic() >= usage_sampler.due:
            usage_sampler.sample(now=time.monotonic())
        event = group.next_event(until=min(monitor.until, preemption_poller.due, usage_sampler.due))
        if event is not None:
            rank, message = event
            match message.get("event"):
                case "checkpoint":  # stored before the next meeting is answered, which confirms it
                    monitor.notes += hosts[rank].take(Path(message["folder"]))
                case "progress":
                    on_progress(codec.from_plain(TrialProgress, message["progress"]))
                    preemption_poller.hurry()
                case "stage":
                    stage_file.show(codec.from_plain(TrialStage, message["stage"]), now=time.monotonic())
                case _:
                    answer = monitor.on_message(rank, message, now=time.monotonic())
                    if answer is not None:
                        group.answer(answer)
        # Checked after a message too: a worker that never falls silent must not outlive the limit.
        if time.monotonic() >= monitor.until and not monitor.is_finished:
            monitor.time_out()
    usage_sampler.sample(now=time.monotonic())
    if monitor.is_complete:
        group.wait_for_exits(seconds=_LEAVE_SECONDS)


def _build_jobs(placement: Placement, context: SweepContext, hosts: Sequence[HostSession]) -> list[WorkerJob]:
    """Build the job of every rank."""
    addresses = tuple(address for host_session in hosts for address in host_session.addresses)
    given = [0] * len(hosts)  # accelerators of each host, to the ranks before
    jobs: list[WorkerJob] = []
    for part in placement.parts:
        host_session, first = hosts[part.host], given[part.host]
        given[part.host] += part.devices
        for local_rank in range(part.num_processes):
            rank_context = RankContext(
                rank=len(jobs),
                addresses=addresses,
                kind=part.kind,
                replicas=placement.replicas,
                threads=part.threads,
                local_rank=local_rank,
                host=part.host,
                num_hosts=placement.num_hosts,
                interface=host_session.interface,
            )
            own = slice(first, given[part.host]) if placement.unequal else slice(None)
            own_seats = replace(host_session, device_ids=host_session.device_ids[own])
            jobs.append(_build_job(rank_context, placement, context, host_session=own_seats))
    return jobs


def _build_job(
    rank_context: RankContext, placement: Placement, context: SweepContext, *, host_session: HostSession
) -> WorkerJob:
    """Build the job of a rank. The host session holds the accelerators of this host's ranks of its kind."""
    visible = {}
    if rank_context.kind == "gpu":  # numbers count as the driver counts, so that meters agree
        visible = {
            "CUDA_VISIBLE_DEVICES": ",".join(host_session.device_ids),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        }
    trainer = trainer_info(placement.trial.trainer)
    hosts = [group.host for group in placement.of_ranks]
    return WorkerJob(
        trial=placement.trial,
        origin=context.origins.get(placement.trial.workload),
        kind=rank_context.kind,
        mixes_kinds=len({part.kind for part in placement.parts}) > 1,
        precision=placement.precision,
        rehearsal=placement.provenance == "rehearsed",
        rank=rank_context.rank,
        world_size=placement.num_processes,
        replicas=placement.replicas,
        threads=rank_context.threads,
        data_path=context.data_paths[placement.trial.data],
        addresses=rank_context.addresses,
        variables=visible | dict(trainer.variables(rank_context)),
        checkpoint_options=None if trainer.runs_scripts else host_session.checkpoint_options,
        counters=(  # the first rank of a host reads, and the first with its kind of accelerator
            *(("host",) if rank_context.rank == hosts.index(rank_context.host) else ()),
            *(("accelerator",) if rank_context.local_rank == 0 and rank_context.kind == "gpu" else ()),
        ),
        reports_progress=context.needs_progress and placement.provenance == "measured",
        native=context.native_specs.get(placement.trial_id),
    )
