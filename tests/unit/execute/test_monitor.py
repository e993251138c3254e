"""Outcome of a trial from the messages of its ranks, in any order."""

import signal

import pytest
from rank_result_builders import report

from orchestrator.core.codec import to_plain
from orchestrator.core.settings import Deadlines
from orchestrator.execute.trial.monitor import TrialMonitor

_TRAINING = {"event": "training"}
_REPORT = {"event": "report", "report": to_plain(report())}
_LEFT = {"event": "exited", "code": 0}
_KILLED = {"event": "exited", "code": -signal.SIGKILL}


def monitor(num_ranks: int = 2, num_hosts: int = 1) -> TrialMonitor:
    """Workers are asked for at 100 s, and have to be set up by 130 s; 600 s for the run."""
    deadlines = Deadlines(resources_seconds=1.0, start_seconds=30.0, run_seconds=600.0)
    return TrialMonitor(num_ranks=num_ranks, deadlines=deadlines, now=100.0, until=130.0, num_hosts=num_hosts)


def tell(trial_monitor: TrialMonitor, *events: tuple[int, dict], now: float = 101.0) -> TrialMonitor:
    for rank, message in events:
        trial_monitor.on_message(rank, message, now=now)
    return trial_monitor


def meet(vote: bool) -> dict:
    return {"event": "meet", "vote": vote}


def failed(kind: str, message: str = "the cause") -> dict:
    return {"event": "failed", "kind": kind, "message": message}


def find_cause(trial_monitor: TrialMonitor, *, killed_for_memory: bool = False) -> tuple[str, str]:
    error = trial_monitor.cause(killed_for_memory=killed_for_memory)
    return error.kind, str(error)


def test_a_meeting_is_answered_when_the_last_rank_has_voted():
    trial_monitor = monitor(3)
    assert trial_monitor.on_message(0, meet(True), now=101.0) is None
    assert trial_monitor.on_message(2, meet(True), now=102.0) is None
    assert trial_monitor.on_message(1, meet(True), now=103.0) == {"event": "met", "all": True}


def test_one_rank_that_disagrees_decides_a_meeting():
    trial_monitor = tell(monitor(), (0, meet(True)))
    assert trial_monitor.on_message(1, meet(False), now=101.0) == {"event": "met", "all": False}


def test_the_votes_of_one_meeting_do_not_count_in_the_next():
    trial_monitor = tell(monitor(), (0, meet(False)), (1, meet(True)))
    assert trial_monitor.on_message(1, meet(True), now=102.0) is None
    assert trial_monitor.on_message(0, meet(True), now=102.0) == {"event": "met", "all": True}


def test_a_story_is_complete_when_every_rank_has_reported():
    trial_monitor = tell(monitor(), (0, _TRAINING), (1, _TRAINING), (1, _REPORT))
    assert not trial_monitor.is_finished
    tell(trial_monitor, (0, _REPORT))
    assert trial_monitor.is_complete
    assert trial_monitor.is_finished


def test_reports_stand_in_the_order_of_ranks():
    second = {"event": "report", "report": to_plain(report(samples=2))}
    trial_monitor = tell(monitor(), (1, second), (0, _REPORT))
    assert [report.samples for report in trial_monitor.reports] == [7680, 2]


def test_a_rank_that_leaves_after_its_report_has_not_failed():
    trial_monitor = tell(monitor(), (0, _REPORT), (0, _LEFT))
    assert not trial_monitor.is_finished
    assert trial_monitor.until == 130.0
    assert tell(trial_monitor, (1, _REPORT), (1, _LEFT)).is_complete


def test_a_trial_has_its_start_deadline_until_every_rank_trains_and_then_its_run_deadline():
    trial_monitor = tell(monitor(), (0, _TRAINING), now=110.0)
    assert trial_monitor.until == 130.0
    tell(trial_monitor, (1, _TRAINING), now=112.0)
    assert trial_monitor.until == 712.0
    assert trial_monitor.launch_seconds == 12.0


def test_out_of_patience_at_the_start_shows_which_deadline_ended_it():
    trial_monitor = tell(monitor(), (0, _TRAINING))
    trial_monitor.time_out()
    assert trial_monitor.is_finished
    assert find_cause(trial_monitor) == (
        "timeout",
        "workers not set up after 30 s (executor.start_seconds=30)",
    )


def test_out_of_patience_in_training_shows_which_deadline_ended_it():
    trial_monitor = tell(monitor(), (0, _TRAINING), (1, _TRAINING))
    trial_monitor.time_out()
    assert find_cause(trial_monitor) == (
        "timeout",
        "no result 600 s after training began (executor.run_seconds=600)",
    )


def test_after_a_failure_the_monitor_waits_one_more_second_for_its_cause():
    trial_monitor = tell(monitor(), (0, _TRAINING), (1, _TRAINING), (0, failed("error")), now=105.0)
    assert not trial_monitor.is_finished
    assert trial_monitor.until == 106.0
    trial_monitor.time_out()
    assert find_cause(trial_monitor) == ("error", "the cause")


def test_on_several_hosts_the_loss_of_one_is_waited_for_where_it_may_be_the_cause():
    training = ((0, _TRAINING), (1, _TRAINING))
    trial_monitor = tell(
        monitor(num_hosts=2), *training, (0, failed("error", "connection closed by peer")), now=105.0
    )
    assert trial_monitor.until == 165.0
    tell(trial_monitor, (1, {"event": "exited", "code": None}), now=125.0)
    assert trial_monitor.until == 126.0
    assert find_cause(trial_monitor) == ("worker_lost", "rank 1 was killed")


def test_on_several_hosts_what_has_a_class_of_its_own_is_no_consequence():
    trial_monitor = tell(monitor(num_hosts=2), (0, _TRAINING), (1, _TRAINING), (0, failed("oom")), now=105.0)
    assert trial_monitor.until == 106.0


def test_a_failure_is_not_forgiven_because_the_other_rank_only_now_begins():
    trial_monitor = tell(monitor(), (0, _TRAINING), (0, failed("error")), (1, _TRAINING))
    assert trial_monitor.until == 102.0


def test_a_failed_trial_is_finished_when_every_rank_is_gone():
    trial_monitor = tell(monitor(), (0, failed("oom")), (0, {"event": "exited", "code": 1}))
    assert not trial_monitor.is_finished
    assert tell(trial_monitor, (1, _KILLED)).is_finished
    assert not trial_monitor.is_complete


def test_a_failure_after_another_rank_has_reported_is_a_failure():
    trial_monitor = tell(
        monitor(), (0, _REPORT), (0, _LEFT), (1, failed("diverged")), (1, {"event": "exited", "code": 1})
    )
    assert trial_monitor.is_finished
    assert not trial_monitor.is_complete
    assert find_cause(trial_monitor) == ("diverged", "the cause")


def test_a_killed_rank_is_the_cause_of_the_failures_of_the_others():
    trial_monitor = tell(monitor(), (0, failed("error", "connection closed by peer")), (1, _KILLED))
    assert find_cause(trial_monitor) == ("worker_lost", "rank 1 was killed")


def test_a_rank_that_lost_its_fork_server_counts_as_killed():
    trial_monitor = tell(monitor(1), (0, {"event": "exited", "code": None}))
    assert find_cause(trial_monitor) == ("worker_lost", "rank 0 was killed")


def test_a_classified_failure_comes_before_the_errors_that_it_caused():
    trial_monitor = tell(
        monitor(3), (0, failed("error", "connection closed")), (1, failed("environment", "no torch"))
    )
    assert find_cause(trial_monitor) == ("environment", "no torch")


def test_the_first_of_two_errors_is_the_cause():
    trial_monitor = tell(
        monitor(), (1, failed("error", "the cause")), (0, failed("error", "its consequence"))
    )
    assert find_cause(trial_monitor) == ("error", "the cause")


def test_the_failure_of_a_rank_precedes_its_exit_code():
    trial_monitor = tell(monitor(1), (0, failed("error")), (0, {"event": "exited", "code": 1}))
    assert find_cause(trial_monitor) == ("error", "the cause")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (3, "rank 0 ended with exit code 3"),
        (0, "rank 0 ended with exit code 0"),
        (-signal.SIGSEGV, "rank 0 died of SIGSEGV"),
        (-signal.SIGABRT, "rank 0 died of SIGABRT"),
    ],
)
def test_a_rank_that_leaves_without_a_word_is_lost_and_its_exit_is_named(code, message):
    trial_monitor = tell(monitor(1), (0, {"event": "exited", "code": code}))
    assert find_cause(trial_monitor) == ("worker_lost", message)


def test_a_rank_that_the_kernel_killed_for_memory_is_out_of_memory():
    trial_monitor = tell(monitor(), (1, _KILLED), (0, failed("error", "connection closed by peer")))
    assert find_cause(trial_monitor, killed_for_memory=True) == (
        "oom",
        "rank 1 was killed: the host ran out of memory",
    )


def test_an_error_beside_which_the_kernel_killed_somebody_else_keeps_its_class():
    trial_monitor = tell(monitor(1), (0, failed("error")))
    assert find_cause(trial_monitor, killed_for_memory=True) == ("error", "the cause")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM])
def test_a_rank_that_dies_of_a_stop_signal_was_preempted(number):
    trial_monitor = tell(monitor(), (0, _TRAINING), (1, _TRAINING), (1, {"event": "exited", "code": -number}))
    assert find_cause(trial_monitor) == ("preempted", f"rank 1 died of {number.name}")


def test_a_killed_script_comes_before_the_errors_that_it_causes():
    trial_monitor = tell(monitor(), (0, failed("error")), (1, failed("worker_lost", "the script was killed")))
    assert find_cause(trial_monitor) == ("worker_lost", "the script was killed")


def test_a_script_that_the_kernel_killed_for_memory_is_out_of_memory():
    trial_monitor = tell(monitor(), (1, failed("worker_lost", "the script was killed")))
    assert find_cause(trial_monitor, killed_for_memory=True) == (
        "oom",
        "the script was killed: the host ran out of memory",
    )
