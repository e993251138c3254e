"""Bad CSV files of latencies."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

from hostile_values import damaged, many, outcome, scalars, texts
from hypothesis import example, given
from hypothesis import strategies as st
from latency_builders import published_frame, schema_frame

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies

FILES = tuple(frame.head(8).to_csv(index=False).encode() for frame in (schema_frame(), published_frame()))
TABLES = tuple(list(csv.reader(file.decode().splitlines())) for file in FILES)


def read(content: bytes, folder: Path, *, name: str = "latencies.csv") -> None:
    file = folder / name
    file.write_bytes(content)
    with outcome(ConfigError):
        read_latencies(file)


@many(150)
@given(content=st.sampled_from(FILES).flatmap(damaged))
@example(content=b"")
@example(content=b"device\n")
@example(content=b"\x00" * 100)
@example(content=b'"device\nx",model\n1,2\n')
@example(content=b"device,device,model\n1,2,3\n")
@example(content=b"a," * 100_000)
def test_a_damaged_file_is_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    read(content, tmp_path_factory.getbasetemp())


@many(150)
@given(content=damaged(gzip.compress(FILES[0])))
def test_a_damaged_compressed_file_is_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    read(content, tmp_path_factory.getbasetemp(), name="latencies.csv.gz")


@many(150)
@given(
    table=st.sampled_from(TABLES),
    column=st.integers(0, 30),
    row=st.integers(0, 8),
    value=st.one_of(scalars, texts),
)
def test_a_cell_or_a_column_may_hold_anything(
    tmp_path_factory: Any, table: list[list[str]], column: int, row: int, value: Any
) -> None:
    changed = [list(group) for group in table]
    changed[row][column % len(changed[0])] = value
    with io.StringIO() as text:
        csv.writer(text).writerows(changed)
        read(text.getvalue().encode(errors="replace"), tmp_path_factory.getbasetemp())
