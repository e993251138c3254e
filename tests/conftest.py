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
    # commands are printed as in an environment that is activated
    os.environ["PATH"] = f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}"
    # else MLflow's server starts eight processes, of 5 CPU s each, for jobs that nothing here sends
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    os.environ.pop("MLFLOW_TRACKING_URI", None)  # the person's own server
    # in a test's own folder there is no torch_xla, wherever the tests are installed
    os.environ.setdefault("ORCHESTRATOR_XLA_PYTHON", ".venv-xla/bin/python")
    os.environ.pop("COLUMNS", None)  # processes of pytest-xdist have the width of their terminal
    process = os.environ.get("PYTEST_XDIST_WORKER", "")
    if process:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(process.removeprefix("gw")) % len(cores)]})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that `more_cases`, `more_except` and `slow_cases` name by a part of their names.

    Raises:
        pytest.UsageError: no case of a file has such a part, for example after a rename.
    """
    used: dict[tuple[str, str], bool] = {}
    for item in items:
        file, case = item.nodeid.partition("::")[0], item.nodeid.partition("[")[2]
        for name, are_named in (("more_cases", True), ("more_except", False), ("slow_cases", True)):
            for mark in item.iter_markers(name):
                used |= {(file, word): used.get((file, word), False) or word in case for word in mark.args}
                if case and are_named == any(word in case for word in mark.args):
                    item.add_marker(name.partition("_")[0])
    unused = [f"{file}: {word}" for (file, word), is_used in used.items() if not is_used]
    if unused and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"no test case has the name of a mark: {', '.join(unused)}")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
