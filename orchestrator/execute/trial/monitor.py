"""State machine that turns worker messages into the outcome of a trial. Pure: no socket, no clock."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.core import codec
from orchestrator.core.errors import FAILURE_KINDS, FailureKind, TrialError
from orchestrator.core.settings import Deadlines
from orchestrator.train.process.channel import Message
from orchestrator.train.rank_result import RankResult

_CAUSE_SECONDS = 1.0  # after a first failure: time to hear the rank that caused it
_LOST_HOST_SECONDS = 60.0  # likewise where that may be one of a lost host, which Ray takes long to notice
_NOTICES = (signal.SIGTERM, signal.SIGALRM)  # told to leave; told, and not gone when its grace had passed
_CONSEQUENCES = ("error", "worker_lost")  # kinds that a rank also reports when another one has failed


@dataclass(slots=True, kw_only=True)
class TrialMonitor:
    """State of a trial, derived from the messages of its workers so far.

    Attributes:
        now: time at which the workers were requested, on the clock of `on_message`.
        until: current time limit, on that clock; initially the limit of the set-up of all ranks.
        launch_seconds: seconds from `now` until the last rank was set up.
        num_hosts: number of hosts of the workers.
        notes: error messages of checkpoints that could not be stored.
    """

    num_ranks: int
    deadlines: Deadlines
    now: float
    until: float
    num_hosts: int = 1
    launch_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    _reports: dict[int, RankResult] = field(default_factory=dict)
    _errors: list[TrialError] = field(default_factory=list)
    _killed: list[TrialError] = field(default_factory=list)
    _votes: dict[int, bool] = field(default_factory=dict)
    _training: set[int] = field(default_factory=set)
    _gone: set[int] = field(default_factory=set)
    _is_timed_out: bool = False

    @property
    def is_complete(self) -> bool:
        """Every rank has reported, and none has failed."""
        return len(self._reports) == self.num_ranks and not self._has_failed

    @property
    def is_finished(self) -> bool:
        """True once the outcome is known: complete, failed with every rank gone, or timed out."""
        return (
            self.is_complete or self._is_timed_out or (self._has_failed and len(self._gone) == self.num_ranks)
        )

    @property
    def reports(self) -> Sequence[RankResult]:
        """All reports in rank order."""
        return [self._reports[rank] for rank in range(self.num_ranks)]

    @property
    def _has_failed(self) -> bool:
        return bool(self._errors or self._killed)

    def on_message(self, rank: int, message: Message, *, now: float) -> Message | None:
        """Apply one message. Return the answer for all ranks, or None."""
        match message.get("event"):
            case "meet":
                self._votes[rank] = message["vote"]
                if len(self._votes) < self.num_ranks:
                    return None
                all_agree = all(self._votes.values())
                self._votes.clear()
                return {"event": "met", "all": all_agree}
            case "training":
                self._training.add(rank)
                if len(self._training) == self.num_ranks and not self._has_failed:
                    self.launch_seconds = now - self.now
                    self.until = now + self.deadlines.run_seconds
            case "report":
                self._reports[rank] = codec.from_plain(RankResult, message["report"])
            case "failed":
                # a user's code may have written the message
                kind, text = message.get("kind"), message.get("message")
                failure_kind: FailureKind = kind if kind in FAILURE_KINDS else "error"
                self._on_failure(TrialError(failure_kind, str(text)), now=now)
            case "exited":
                self._on_exit(rank, code=message["code"], now=now)
        return None

    def time_out(self) -> None:
        """Apply the end of the time limit. After a failure, the wait for its cause ends."""
        self._is_timed_out = True
        if self._has_failed:
            return
        if len(self._training) < self.num_ranks:
            seconds, phase = self.deadlines.start_seconds, "start_seconds"
            message = f"workers not set up after {seconds:g} s"
        else:
            seconds, phase = self.deadlines.run_seconds, "run_seconds"
            message = f"no result {seconds:g} s after training began"
        self._errors.append(TrialError("timeout", f"{message} (executor.{phase}={seconds:g})"))

    def cause(self, *, killed_for_memory: bool) -> TrialError:
        """Return the cause: a killed rank before its consequences, a classified error before the rest."""
        if self._killed and killed_for_memory:
            return TrialError("oom", f"{self._killed[0]}: the host ran out of memory")
        classified = [error for error in self._errors if error.kind not in _CONSEQUENCES]
        return (self._killed + classified + self._errors)[0]

    def _on_failure(self, error: TrialError, *, now: float) -> None:
        """Apply the failure that a rank reports; a rank with a killed script counts as killed itself."""
        if error.kind == "worker_lost":
            self._killed.append(error)
            self.until = min(self.until, now + _CAUSE_SECONDS)
        else:
            self._fail(error, now=now)

    def _on_exit(self, rank: int, *, code: int | None, now: float) -> None:
        """Apply an exit: a rank that leaves after its report is done; any other has left too early."""
        self._gone.add(rank)
        if rank in self._reports:
            return
        if code == -signal.SIGKILL or code is None:
            self._killed.append(TrialError("worker_lost", f"rank {rank} was killed"))
            self.until = min(self.until, now + _CAUSE_SECONDS)
        elif code < 0:
            number = signal.Signals(-code)
            kind: FailureKind = "preempted" if number in _NOTICES else "worker_lost"
            self._fail(TrialError(kind, f"rank {rank} died of {number.name}"), now=now)
        else:
            self._fail(TrialError("worker_lost", f"rank {rank} ended with exit code {code}"), now=now)

    def _fail(self, error: TrialError, *, now: float) -> None:
        """Take note of it, and wait for its cause where it may be what the loss of another rank did."""
        self._errors.append(error)
        is_consequence = self.num_hosts > 1 and error.kind in _CONSEQUENCES
        self.until = min(self.until, now + (_LOST_HOST_SECONDS if is_consequence else _CAUSE_SECONDS))
