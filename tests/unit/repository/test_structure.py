"""Figures of the code's structure: what each counts, and that it is within its limit."""

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from repository import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import structure

COUNTED = """
import ray._private.worker
def cost_of(trial):
    \"\"\"Tell what it costs.\"\"\"
    return isinstance(trial, (int, ScriptSpec)) and helper()
def helper(tell=None):
    \"\"\"Return one.\"\"\"
    return 1
LEAST = 1
\"\"\"Least runs of a verdict.\"\"\"
MOST: int = 2
\"\"\"Most runs, whatever the trial says.\"\"\"
def test_a_rate_is_said(): ...
def test_batch_of_another_size_is_refused(): ...
"""


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (structure.count_nominal_names, 1),
        (structure.count_private_ray, 1),
        (structure.count_workload_tests, 1),
        (structure.count_odd_docstrings, 50),
        (structure.count_odd_attribute_docs, 50),
        (structure.count_odd_tests, 50),
        (structure.count_odd_names, 2),
        (structure.count_single_uses, 25),
        (structure.count_long_functions, 0),
        (structure.count_files_in_a_folder, 1),
    ],
)
def test_each_figure_counts_its_kind_alone(
    count: Callable[[structure.Trees], float], expected: float
) -> None:
    assert count({Path("a/b.py"): ast.parse(COUNTED)}) == expected


def test_words_of_contributors_pages_are_left_out(tmp_path: Path) -> None:
    for page, words in {"a.md": 3, "decisions/b.md": 5, "findings/c.md": 7, "benchmarks.md": 11}.items():
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text("word " * words)
    assert structure.count_words(tmp_path) == 3


def test_every_figure_is_within_its_limit() -> None:
    done = subprocess.run([sys.executable, "tools/structure.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
