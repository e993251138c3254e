"""Repeats of one setting -> those that decide its numbers. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from typing import TypeVar

from orchestrator.core.result import TrialRecord, environment_key
from orchestrator.core.trial_spec import setting_id

MOST_APART = 1.5
"""Times the rate of a repeat: no change of clock or seed alone makes as much."""

_Repeat = TypeVar("_Repeat")


def repeat_key(record: TrialRecord) -> Hashable:
    """Return what is equal in repeats of one setting that ran with the same versions, and in nothing else."""
    return setting_id(record.spec), environment_key(record)


def find_deciding(rates: Sequence[float], quiet: Sequence[bool]) -> tuple[bool, ...]:
    """Describe which repeats of a setting decide: those that are quiet and no `OUTLIER`.

    Args:
        rates: samples or steps per second of each repeat.
        quiet: for each repeat, True if its record shows no disturbance.
    """
    if rates and max(rates) <= MOST_APART * min(rates):
        return tuple(quiet)
    repeats = list(zip(rates, quiet, strict=True))
    fastest_noisy = max((rate for rate, is_quiet in repeats if not is_quiet), default=0.0)
    credible = [is_quiet and rate * MOST_APART >= fastest_noisy for rate, is_quiet in repeats]
    others = sorted(rate for rate, counts in zip(rates, credible, strict=True) if counts)

    def agrees(rate: float) -> bool:
        alike = bisect_right(others, MOST_APART * rate) - bisect_left(others, rate / MOST_APART)
        return 2 * (alike - 1) >= len(others) - 1  # it is one of them

    return tuple(counts and agrees(rate) for rate, counts in zip(rates, credible, strict=True))


def choose_deciding(
    repeats: Sequence[_Repeat], rates: Sequence[float], quiet: Sequence[bool]
) -> tuple[_Repeat, ...]:
    """Choose the repeats of a setting that decide; all where none does."""
    decides = find_deciding(rates, quiet)
    return tuple(one for one, counts in zip(repeats, decides, strict=True) if counts) or tuple(repeats)
