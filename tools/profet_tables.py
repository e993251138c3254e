"""Write PROFET's published measurements, which are pickles, as the CSV files that `predict evaluate` reads.

    git clone https://github.com/ddps-lab/profet
    python tools/profet_tables.py profet profiles
    python -m orchestrator predict evaluate data=profiles

They are 15 networks on four instances (MIT; checked with commit e69477f). A pickle may name any function, and
reading it calls that function: only functions that build a table are called.
"""

import argparse
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

_FILES = (
    *(f"data/anchor_data/anchor_{anchor}.pickle" for anchor in ("g3", "g4", "p2", "p3")),
    "data/pre_data/target_preprocessing.pickle",
)
_NAMES = {
    ("builtins", "slice"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("pandas", "DataFrame"),
    ("pandas", "Index"),
    ("pandas", "RangeIndex"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.numeric", "Int64Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    ("pandas.core.internals.managers", "BlockManager"),
}
"""Module and name of everything that tables of pandas 1 to 3 are made of."""
_MOVED = {
    ("numpy.core.multiarray", "_reconstruct"): ("numpy._core.multiarray", "_reconstruct"),
    ("pandas.core.indexes.numeric", "Int64Index"): ("pandas", "Index"),
}
"""Names that newer versions have elsewhere."""


class _TableUnpickler(pickle.Unpickler):
    """A reader of pickles that builds tables and nothing else."""

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no table needs")
        return super().find_class(*_MOVED.get((module, name), (module, name)))


def write_tables(clone: Path, folder: Path) -> None:
    """Write one CSV file per pickle.

    Raises:
        OSError: a file that is absent, or a folder that cannot be written.
        pickle.UnpicklingError: a file that is no table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in _FILES:
        with (clone / file).open("rb") as stream:
            table = _TableUnpickler(stream).load()
        if not isinstance(table, pd.DataFrame):
            raise pickle.UnpicklingError(f"{file} is no table")
        table.to_csv(folder / f"{Path(file).stem}.csv", index=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert the files; return 0, or 2 after one line if one cannot be read or written."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="folder of github.com/ddps-lab/profet")
    parser.add_argument("folder", type=Path, help="folder for the CSV files")
    words = parser.parse_args(arguments)
    try:
        write_tables(words.clone, words.folder)
    except (OSError, pickle.UnpicklingError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
