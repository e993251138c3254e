"""Put the helpers of the tests, the benchmarks and the tools on the import path; set up every test process.

Test processes that run side by side have a core each. What was collected stays until the end, so the garbage
collector does not look through it: a tenth of the unit tests' time.
"""

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

REPOSITORY = Path(__file__).parents[1]
SUPPORT = (folder for folder in sorted((REPOSITORY / "tests/support").iterdir()) if folder.is_dir())
sys.path[:0] = [str(folder) for folder in (*SUPPORT, REPOSITORY / "benchmarks", REPOSITORY / "tools")]

hypothesis.settings.register_profile("any_host", deadline=None)
hypothesis.settings.load_profile("any_host")


def pytest_configure() -> None:
    """Keep a test's threads to one core: on one that others use too they wait for each other all the time."""
    gc.disable()
    # else MLflow's server starts eight processes, of 5 CPU s each, for jobs that nothing here sends
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    os.environ.pop("COLUMNS", None)  # processes of pytest-xdist have the width of their terminal
    process = os.environ.get("PYTEST_XDIST_WORKER", "")
    if process:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(process.removeprefix("gw")) % len(cores)]})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `slow.txt` lists, and begin with the files of `longest.txt`."""
    slow = [line.split(maxsplit=1) for line in _lines_of("slow.txt")]
    for item in items:
        if any(item.nodeid.startswith(f"{file}::") and part in item.nodeid for file, part in slow):
            item.add_marker("slow")
    places = {file: place for place, file in enumerate(_lines_of("longest.txt"))}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))


def _lines_of(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
