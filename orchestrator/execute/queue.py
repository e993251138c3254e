"""Which trial starts next, and which starts again: the one place that decides it, for every executor."""

from collections import Counter
from collections.abc import Mapping, Sequence

from orchestrator.core.device import Node
from orchestrator.core.errors import FailureKind
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord
from orchestrator.execute.base import Attempt
from orchestrator.execute.retry import starts_again


def next_startable(waiting: Sequence[Attempt], running: Sequence[Placement], *, node: Node) -> Attempt | None:
    """The first waiting attempt for which the host has room beside what runs, or None to wait. Pure.

    A CPU trial that is measured holds all cores of its host, so that nothing runs beside it; a rehearsal
    never runs beside a measured trial of any kind.
    """
    free_cpus = node.cpus - sum(placement.cpus for placement in running)
    free_devices = {
        name: total - sum(placement.devices for placement in running if placement.trial.device == name)
        for name, total in node.counts.items()
    }
    undisturbing = (each for each in waiting if _is_of_one_provenance(each.placement, running))
    return next((each for each in undisturbing if _fits(each.placement, free_cpus, free_devices)), None)


def _is_of_one_provenance(placement: Placement, running: Sequence[Placement]) -> bool:
    return all(each.provenance == placement.provenance for each in running)


def _fits(placement: Placement, free_cpus: int, free_devices: Mapping[str, int]) -> bool:
    enough_devices = placement.devices <= free_devices.get(placement.trial.device, 0)
    return placement.cpus <= free_cpus and enough_devices


def fits(placement: Placement, node: Node) -> bool:
    """Whether the host could hold the trial if nothing else ran."""
    return _fits(placement, node.cpus, node.counts)


class Queue:
    """The attempts of a sweep that wait and run, in this process."""

    def __init__(
        self,
        placements: Sequence[Placement],
        *,
        node: Node,
        prior_attempts: Mapping[str, int],
        retry_limits: Mapping[FailureKind, int],
    ) -> None:
        self._node = node
        self._retry_limits = retry_limits
        self._waiting = [
            Attempt(placement=each, number=prior_attempts.get(each.trial_id, 0) + 1) for each in placements
        ]
        self._running: dict[str, Attempt] = {}
        self._failed: Counter[tuple[str, str]] = Counter()

    @property
    def is_drained(self) -> bool:
        """Nothing waits and nothing runs."""
        return not self._waiting and not self._running

    def take(self) -> Attempt | None:
        """The next attempt to start, from here on running; None while there is no room or nothing waits.

        An idle host gets the first that waits even if it is too large: waiting would not make it fit.
        """
        running = [each.placement for each in self._running.values()]
        attempt = next_startable(self._waiting, running, node=self._node)
        if attempt is None and self._waiting and not running:
            attempt = self._waiting[0]
        if attempt is not None:
            self._waiting.remove(attempt)
            self._running[attempt.placement.trial_id] = attempt
        return attempt

    def end(self, record: TrialRecord) -> None:
        """Take note of a record; its trial waits again at the front if its failure allows."""
        attempt = self._running.pop(record.trial_id)
        if record.failure is None:
            return
        self._failed[record.trial_id, record.failure.kind] += 1
        times = self._failed[record.trial_id, record.failure.kind]
        if starts_again(record.failure.kind, times=times, limits=self._retry_limits):
            self._waiting.insert(0, Attempt(placement=attempt.placement, number=attempt.number + 1))
