"""A CSV file in the documented schema -> measurements. docs/how_to/predict.md has the schema."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.table import DEVICE_OP, HOST_OP, find_family

_UNITS = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6}
_REQUIRED = ("device", "model", "batch_size")
_OPTIONAL = ("family", "image_size", "repeat", "usd_per_hour", "profiled_steps")
_OP_PREFIXES = {"device": DEVICE_OP, "host": HOST_OP}


def is_documented(columns: Sequence[str]) -> bool:
    """Return whether a file with these columns is in the schema."""
    return "device" in columns


def read_documented(table: pd.DataFrame, *, file: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read rows and op times as `LatencyTable` has them, in seconds for any unit that the columns declare.

    Raises:
        ConfigError: a column that is missing, unknown, without a unit or not of numbers.
    """
    step, unit = _step_column(list(table.columns), file=file)
    ops = {name: parts for name in table.columns if (parts := _op_parts(name, file=file))}
    documented = {*_REQUIRED, *_OPTIONAL, step, *ops}
    unknown = [name for name in table.columns if name not in documented]
    if unknown:
        raise ConfigError(
            f"{file}: unknown column {unknown[0]!r}; known: {', '.join((*_REQUIRED, *_OPTIONAL))}, "
            "step_UNIT, device_op_UNIT.NAME, host_op_UNIT.NAME"
        )
    missing = [name for name in _REQUIRED if name not in table.columns]
    if missing:
        raise ConfigError(f"{file}: column {missing[0]!r} is missing")
    rows = pd.DataFrame(
        {
            "device": names(table["device"], file=file),
            "model": names(table["model"], file=file),
            "family": _families(table),
            "batch_size": counts(table["batch_size"], file=file),
            "image_size": _optional(table, "image_size", file=file),
            "repeat": table["repeat"].astype(str) if "repeat" in table else "1",
            "step_seconds": numbers(table[step], file=file) * unit,
            "usd_per_hour": _optional(table, "usd_per_hour", file=file),
        }
    )
    return rows, _op_seconds(table, ops, file=file)


def numbers(column: pd.Series, *, file: str) -> pd.Series:
    """Return the column as floats. Raises ConfigError that names the row without a number."""
    try:
        values = pd.to_numeric(column, errors="coerce").astype(float)
    except OverflowError as error:
        raise ConfigError(f"{file}: a number of {column.name} is too large for one") from error
    wrong = values.isna() & column.notna()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ConfigError(f"{file}: row {row + 1}: {column.name}={column.iloc[row]!r} is not a number")
    return values


def names(column: pd.Series, *, file: str) -> pd.Series:
    """The column as text. Raises ConfigError where a row has none."""
    if column.isna().any():
        raise ConfigError(f"{file}: row {int(np.flatnonzero(column.isna())[0]) + 1} has no {column.name}")
    return column.astype(str)


def counts(column: pd.Series, *, file: str) -> pd.Series:
    """The column as numbers. Raises ConfigError where one is missing or below 1."""
    values = numbers(column, file=file)
    wrong = ~(values >= 1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ConfigError(f"{file}: row {row + 1}: {column.name}={column.iloc[row]} must be at least 1")
    return values


def _step_column(columns: Sequence[str], *, file: str) -> tuple[str, float]:
    """The column of the step's latency, and what one of it is in seconds."""
    names = [name for name in columns if name.startswith("step_")]
    if len(names) != 1 or names[0].removeprefix("step_") not in _UNITS:
        possible = ", ".join(f"step_{unit}" for unit in _UNITS)
        raise ConfigError(
            f"{file}: exactly one column of {possible} is needed, found {', '.join(names) or 'none'}"
        )
    return names[0], _UNITS[names[0].removeprefix("step_")]


def _op_parts(column: str, *, file: str) -> tuple[str, float] | None:
    """`device_op_microseconds.Conv2D` -> (`Device_Conv2D`, 1e-6); None for what is no column of an op."""
    kind, dot, op = column.partition(".")
    side, _, unit = kind.partition("_op_")
    if not dot or side not in _OP_PREFIXES:
        return None
    if unit not in _UNITS or not op:
        raise ConfigError(
            f"{file}: column {column!r} must be {side}_op_UNIT.NAME with one of: {', '.join(_UNITS)}"
        )
    return f"{_OP_PREFIXES[side]}{op}", _UNITS[unit]


def _families(table: pd.DataFrame) -> pd.Series:
    derived = table["model"].astype(str).map(find_family)
    return table["family"].astype("object").fillna(derived).astype(str) if "family" in table else derived


def _optional(table: pd.DataFrame, name: str, *, file: str) -> pd.Series:
    if name not in table:
        return pd.Series(np.nan, index=table.index)
    return numbers(table[name], file=file)


def _op_seconds(table: pd.DataFrame, ops: dict[str, tuple[str, float]], *, file: str) -> pd.DataFrame:
    """Return op seconds of one step for profiled rows; an op that such a row leaves empty took no time."""
    if not ops:
        return pd.DataFrame(index=table.index[:0])
    if "profiled_steps" not in table:
        raise ConfigError(f"{file}: op times need the column 'profiled_steps': how many steps they cover")
    values = pd.DataFrame(
        {op: numbers(table[column], file=file) * unit for column, (op, unit) in ops.items()}
    )
    steps = numbers(table["profiled_steps"], file=file)
    is_profiled = values.notna().any(axis=1)
    if (is_profiled & ~(steps >= 1)).any():
        row = int(np.flatnonzero(is_profiled & ~(steps >= 1))[0])
        raise ConfigError(f"{file}: row {row + 1} has op times and no profiled_steps of at least 1")
    return values[is_profiled].fillna(0.0).div(steps[is_profiled], axis=0)
