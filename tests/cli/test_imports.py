"""Modules that a command loads: an answer without a table of records loads no package that makes one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_RUN = """
import contextlib, io, json, sys
from orchestrator.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""

TABLES = {
    "pandas",
    "pyarrow",
    "sklearn",
    "scipy",
    "mlflow",
    "ray",
    "torch",
    "tensorflow",
    "fsspec",
    "vl_convert",
}
CONFIGS = {"hydra", "omegaconf", "yaml", "numpy"}

CASES = (
    (("--help",), TABLES | CONFIGS),
    (("--version",), TABLES | CONFIGS),
    (("completion", "bash", "--line=orchestrator plan +sweep="), TABLES | CONFIGS),
    (("status", "+sweep=smoke"), TABLES),
    (("plan", "+sweep=smoke"), TABLES),
    (("plan", "+sweep=tpu_vs_gpu"), TABLES),
    (("predict", "workload=vgg16", "device=t4,v100"), TABLES),
    (("predict", "advise", "+sweep=smoke"), TABLES),
)


@pytest.mark.parametrize(("words", "heavy"), CASES, ids=[" ".join(words) for words, _ in CASES])
@pytest.mark.more_cases("plan +sweep=tpu_vs_gpu", "plan +sweep=smoke", "predict")
def test_a_command_loads_no_package_that_it_does_not_use(
    words: tuple[str, ...], heavy: set[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, loaded = json.loads(done.stdout)
    assert code == 0, done.stderr
    assert heavy.isdisjoint(loaded), sorted(heavy.intersection(loaded))
