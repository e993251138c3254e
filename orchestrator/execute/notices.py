"""Asks every few seconds of a trial whether one of its hosts is about to go."""

from collections.abc import Callable

_SECONDS = 2.0  # a cloud gives half a minute; to ask takes milliseconds


class Notices:
    """The first notice, and when to ask again on the monotonic clock.

    Args:
        is_leaving: whether one is.
    """

    def __init__(self, is_leaving: Callable[[], bool]) -> None:
        self._is_leaving = is_leaving
        self._has_come = False
        self.due = 0.0

    def have_come(self, *, now: float) -> bool:
        """Ask, if it is time to: True once."""
        if self._has_come or now < self.due:
            return False
        self.due = now + _SECONDS
        self._has_come = self._is_leaving()
        return self._has_come
