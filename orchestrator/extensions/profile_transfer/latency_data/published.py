"""A CSV file in the layout of the data published with PROFET -> measurements.

Lee, Hur, Park and Lee 2022, "PROFET", arXiv 2208.05130; `ddps-lab/profet` @e69477f, MIT. The layout
declares no units. They are: `batch_latency` in seconds; op times in microseconds over two steps; the columns
that are named after other instances in microseconds.
"""

import pandas as pd

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.schema import counts, names, numbers
from orchestrator.extensions.profile_transfer.latency_data.table import DEVICE_OP, HOST_OP, find_family

PROFILED_STEPS = 2
"""The authors' profiler is set to one batch and covers two: all op times together are 2.03 steps (median)."""

_USD_PER_HOUR = {"g3s.xlarge": 0.75, "g4dn.xlarge": 0.526, "p2.xlarge": 0.90, "p3.2xlarge": 3.06}
"""AWS us-east-1, Linux, on demand, from memory: not of the published data. Others are unknown."""

_NEEDED = ("instance_name", "dataset", "model", "batchsize", "batch_latency")
_WITHOUT_MEANING = ("exp_name", "optimizer", "epoch_latency")  # to us; exp_name becomes the repeat
_MICROSECOND = 1e-6


def is_published(columns: list[str]) -> bool:
    """Return whether a file with these columns is in that layout."""
    return "instance_name" in columns


def read_published(table: pd.DataFrame, *, file: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows and op times as `LatencyTable` has them, the targets of a row as rows of their own.

    Raises:
        ConfigError: a column that is missing or not of numbers.
    """
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise ConfigError(f"{file}: column {missing[0]!r} of the published layout is missing")
    ops = [name for name in table.columns if name.startswith((DEVICE_OP, HOST_OP))]
    targets = [name for name in table.columns if name not in (*_NEEDED, *_WITHOUT_MEANING, *ops)]
    workload = _workloads(table, file=file)
    _check_epochs(table, file=file)
    own = _measured(
        workload, names(table["instance_name"], file=file), numbers(table["batch_latency"], file=file)
    )
    elsewhere = [
        _measured(
            workload, pd.Series(name, index=table.index), numbers(table[name], file=file) * _MICROSECOND
        )
        for name in targets
    ]
    rows = pd.concat([own, *(part.dropna(subset="step_seconds") for part in elsewhere)], ignore_index=True)
    if not ops:
        return rows, pd.DataFrame(index=table.index[:0])
    values = pd.DataFrame({name: numbers(table[name], file=file) for name in ops})
    return rows, values.fillna(0.0) * _MICROSECOND / PROFILED_STEPS


def _check_epochs(table: pd.DataFrame, *, file: str) -> None:
    """Raises ConfigError for a step that is longer than the epoch, in seconds too, that it is a part of."""
    if "epoch_latency" not in table:
        return
    epoch = numbers(table["epoch_latency"], file=file)
    longer = table[numbers(table["batch_latency"], file=file) > epoch]
    if len(longer):
        first = longer.iloc[0]
        raise ConfigError(
            f"{file}: {first['model']}, batch {first['batchsize']:g}: "
            f"batch_latency={first['batch_latency']:g} is above "
            f"epoch_latency={first['epoch_latency']:g}; both are seconds"
        )


def _workloads(table: pd.DataFrame, *, file: str) -> pd.DataFrame:
    pixels = table["dataset"].astype(str).str.extract(r"^(\d+)", expand=False)
    if pixels.isna().any():
        first = table.loc[pixels.isna(), "dataset"].iloc[0]
        raise ConfigError(f"{file}: dataset={first!r} must begin with the size of its images, as 224dataset")
    model = names(table["model"], file=file)
    return pd.DataFrame(
        {
            "model": model,
            "family": model.map(find_family),
            "batch_size": counts(table["batchsize"], file=file),
            "image_size": pixels.astype(float),
            "repeat": table["exp_name"].astype(str) if "exp_name" in table else "1",
        }
    )


def _measured(workload: pd.DataFrame, device: pd.Series, step_seconds: pd.Series) -> pd.DataFrame:
    return workload.assign(device=device, step_seconds=step_seconds, usd_per_hour=device.map(_USD_PER_HOUR))
