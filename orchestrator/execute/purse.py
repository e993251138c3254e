"""What the queue is told of money and time: which attempts may start, and which must leave."""

from collections.abc import Collection
from typing import Protocol

from orchestrator.core.placement import Placement
from orchestrator.core.result import TrialRecord


class Purse(Protocol):
    """Tells the queue what there is money and time for."""

    def affords(self, placement: Placement) -> bool:
        """Whether an attempt may start beside what runs: all of them likely end within the caps."""

    def start(self, placement: Placement) -> None:
        """Take note of an attempt that runs from now on."""

    def drop(self, placement: Placement) -> None:
        """Take note that an attempt was never begun."""

    def leave_out(self, placement: Placement) -> None:
        """Take note of a trial that no longer waits, for nothing runs that could end cheaper than thought."""

    def leavers(self) -> Collection[str]:
        """The trials that run and must leave, for a cap is passed."""

    def explained(self, record: TrialRecord) -> TrialRecord:
        """The record of an attempt, which says so if it was made to leave."""

    def end(self, record: TrialRecord) -> None:
        """Take note of an attempt that has ended."""


class _OpenPurse:
    """No caps."""

    def affords(self, placement: Placement) -> bool:  # noqa: ARG002  # anything
        """Always."""
        return True

    def start(self, placement: Placement) -> None:
        """Of no interest."""

    def drop(self, placement: Placement) -> None:
        """Of no interest."""

    def leave_out(self, placement: Placement) -> None:
        """Never happens."""

    def leavers(self) -> Collection[str]:
        """None."""
        return ()

    def explained(self, record: TrialRecord) -> TrialRecord:
        """As it is."""
        return record

    def end(self, record: TrialRecord) -> None:
        """Of no interest."""


OPEN = _OpenPurse()
