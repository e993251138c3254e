"""What the time of a trial's step depends on, as far as its spec tells. Pure."""

from collections.abc import Hashable, Mapping
from dataclasses import fields

from orchestrator.core.spec import TrialSpec

_LENGTH_AND_CHANCE = ("steps", "seed", "repeat", "timing")
_NAMES = tuple(each.name for each in fields(TrialSpec) if each.name not in _LENGTH_AND_CHANCE)

Shape = Hashable


def shape_of(trial: TrialSpec) -> Shape:
    """Equal for trials whose steps are the same: other data, versions of code or options are another one."""
    return tuple(_hashable(getattr(trial, name)) for name in _NAMES)


def _hashable(value: object) -> Hashable:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
