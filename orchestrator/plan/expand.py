"""(axes, exclude, include) -> combinations, in the order of the axes. Pure."""

from collections.abc import Mapping, Sequence
from itertools import product

from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.trial_spec import Option

Combination = Mapping[str, Option]


def expand(
    grid: Mapping[str, Sequence[Option]],
    *,
    exclude: Sequence[Combination] = (),
    include: Sequence[Combination] = (),
) -> tuple[Combination, ...]:
    """Every combination of the grid that no `exclude` matches, then each `include` as it is.

    Args:
        grid: axis -> its values; the first axis changes slowest. Without axes there is nothing but `include`.
        exclude: a combination matches when it has all of an entry's values; a tuple in an entry means any of,
            or the very tuple.
        include: added after excluding, so that nothing excludes them.

    Raises:
        ConfigError: an axis without values, an entry of `exclude` that names no axis, or nothing left.
    """
    _check(grid, exclude)
    every = product(*grid.values()) if grid else ()
    combinations = [dict(zip(grid, values, strict=True)) for values in every]
    kept = [
        combination
        for combination in combinations
        if not any(matches(combination, entry) for entry in exclude)
    ]
    if not grid and not include:
        raise ConfigError(
            "sweep.grid and sweep.include are empty, so the sweep has no points; add an axis or an entry"
        )
    if not kept and not include:
        raise ConfigError(
            f"sweep.exclude leaves none of the {len(combinations)} combinations of sweep.grid; "
            f"take an entry out of sweep.exclude or add a value to an axis"
        )
    return (*kept, *include)


def _check(grid: Mapping[str, Sequence[Option]], exclude: Sequence[Combination]) -> None:
    for axis, values in grid.items():
        if not values:
            raise ConfigError(f"axis {axis!r} of sweep.grid has no values; give one or take the axis out")
    for entry in exclude:
        if not entry:
            raise ConfigError("an entry of sweep.exclude is empty, so it would exclude every combination")
        for axis in entry:
            if axis not in grid:
                raise UnknownNameError("axis in sweep.exclude", axis, known=grid)


def matches(combination: Combination, entry: Combination) -> bool:
    """Return whether a combination has all values of an entry; a tuple there means any of its values, or the
    tuple itself.
    """
    return all(axis in combination and _is_met(combination[axis], wanted) for axis, wanted in entry.items())


def _is_met(value: Option, wanted: Option) -> bool:
    return value == wanted or (isinstance(wanted, tuple) and value in wanted)
