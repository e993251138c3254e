"""(what every rank measured) -> what the trial measured, field by field. Pure.

A field of a rank names its rule in its type, as `Annotated[float, max]`. A field without one is the same on
all ranks, and rank 0's value stands; `validation.rank_agreement` compares those that must be equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, get_type_hints

from orchestrator.core.trial_progress import TargetRun

T = TypeVar("T")


def merge_fields(ranks: Sequence[Any]) -> dict[str, Any]:
    """Return the trial's value of every field of the ranks, which are dataclasses of one type."""
    hints, merged = get_type_hints(type(ranks[0]), include_extras=True), {}
    for name in (field.name for field in fields(ranks[0])):
        values = [getattr(rank, name) for rank in ranks]
        rules = getattr(hints[name], "__metadata__", ())
        merged[name] = rules[0](values) if rules else values[0]
    return merged


def list_known(values: Sequence[T | None]) -> tuple[T, ...]:
    """Return the values of the ranks that have one."""
    return tuple(value for value in values if value is not None)


def list_if_all(values: Sequence[tuple[T, ...]]) -> tuple[tuple[T, ...], ...]:
    """Return [rank][block], or nothing where a rank does not know it."""
    return tuple(values) if all(values) else ()


def find_longest(seconds: Sequence[float | None]) -> float | None:
    """Return the largest of the known values; None without any."""
    return max(list_known(seconds), default=None)


def sum_known(rates: Sequence[float | None]) -> float | None:
    """Return the sum of the known values; None without any."""
    given = list_known(rates)
    return sum(given) if given else None


def find_slowest_by_name(seconds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the seconds of the slowest rank for each name."""
    return {name: max(second[name] for second in seconds) for name in seconds[0]}


def find_most_compiled(counts: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the counts of the rank that compiled most while it was timed."""
    return max(list_known(counts), key=lambda span: span[1] - span[0], default=None)


def merge_pursuits(pursuits: Sequence[TargetRun | None]) -> TargetRun | None:
    """Return rank 0's qualities, which decided, with the times of the slowest rank."""
    given = list_known(pursuits)
    if not given:
        return None
    curves = zip(*(pursuit.curve for pursuit in given), strict=False)  # `rank_agreement` compares lengths
    return replace(
        given[0],
        curve=tuple(
            replace(ranks[0], training_seconds=max(rank.training_seconds for rank in ranks))
            for ranks in curves
        ),
        evaluation_seconds=max(pursuit.evaluation_seconds for pursuit in given),
    )
