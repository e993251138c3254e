"""A file or a folder of files -> latency table, units checked."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.published import is_published, read_published
from orchestrator.extensions.profile_transfer.latency_data.schema import is_documented, read_documented
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable
from orchestrator.extensions.profile_transfer.latency_data.units import check_units, without_twins
from workloads.data.files import require_regular

_DECLARED_APART = 2000.0  # a CPU and a large accelerator may differ by hundreds
_UNDECLARED_APART = 50.0  # 10 in the published data, all of them GPUs
"""Factor between two devices above which a unit must be wrong, where columns name units and where not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LatencyFile:
    """Content of one file; op times by the index of its rows."""

    rows: pd.DataFrame
    op_seconds: pd.DataFrame
    declares_units: bool


def read_latencies(path: Path) -> LatencyTable:
    """Read one CSV file, or every one of a folder, in the documented schema or the published layout.

    Raises:
        ConfigError: nothing to read, columns of neither, or latencies in a wrong unit.
    """
    parts = [_read(file) for file in _find_files(path)]
    table = _joined(parts, source=str(path))
    is_declared = all(part.declares_units for part in parts)
    check_units(table, devices_apart=_DECLARED_APART if is_declared else _UNDECLARED_APART)
    return without_twins(table)


def _find_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ConfigError(f"data={str(path)!r} is neither a file nor a folder")
    files = sorted({*path.glob("*.csv"), *path.glob("*.csv.gz")})
    if not files:
        raise ConfigError(f"data={str(path)!r} holds no .csv and no .csv.gz file")
    return files


def _read(file: Path) -> _LatencyFile:
    try:
        require_regular(file)
        # pandas would give the second of two columns another name, in a time with the square of their number
        for name, count in Counter(list(pd.read_csv(file, header=None, nrows=1, dtype=str).iloc[0])).items():
            if count > 1:
                raise ConfigError(f"{file}: column {name!r} appears {count} times")
        table = pd.read_csv(file)
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot read {str(file)!r} as CSV: {error.strerror or error}") from error
    except Exception as error:  # a broken file raises almost anything
        message = str(error).partition("\n")[0]
        raise ConfigError(f"cannot read {str(file)!r} as CSV: {message}") from error
    columns = list(table.columns)
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes the first fields for names of rows
        raise ConfigError(f"{file}: a row has more fields than the header")
    if table.empty:
        raise ConfigError(f"{file} has no row")
    if is_published(columns):
        rows, op_seconds = read_published(table, file=str(file))
    elif is_documented(columns):
        rows, op_seconds = read_documented(table, file=str(file))
    else:
        raise ConfigError(
            f"{file} has neither a column 'device', as the schema of docs/how_to/predict.md, nor a column "
            f"'instance_name', as the published layout; found: {', '.join(columns[:6])}"
        )
    return _LatencyFile(rows=rows, op_seconds=op_seconds, declares_units=not is_published(columns))


def _joined(parts: list[_LatencyFile], *, source: str) -> LatencyTable:
    """All files in one table; an op that a file does not have took no time in its rows."""
    rows, op_seconds, start = [], [], 0
    for part in parts:
        rows.append(part.rows.set_axis(range(start, start + len(part.rows))))
        op_seconds.append(part.op_seconds.set_axis(part.op_seconds.index + start))
        start += len(part.rows)
    return LatencyTable(rows=pd.concat(rows), op_seconds=pd.concat(op_seconds).fillna(0.0), source=source)
