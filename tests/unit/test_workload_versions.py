"""A workload's version is raised with the code that decides what it computes.

As a script it stores versions and code as they are: `python tests/unit/test_workload_versions.py`.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("workload_versions.json")
SHARED = (
    "spec.py",
    "shapes.py",
    "initial.py",
    "flops.py",
    "sequential_torch.py",
    "sequential_keras.py",
    "data/batches.py",
    "data/mnist.py",
    "data/drawn_digits.py",
)
"""Code that decides what every workload computes, beside the workload's own folder."""

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from syntax import syntax_sha256  # noqa: E402 (as a script it has no conftest that puts it on the path)

from workloads.registry import workload_names  # noqa: E402 (likewise)


def found_of(name: str) -> dict[str, object]:
    own = sorted((ROOT / "workloads" / name).glob("**/*.py"))
    return {
        "version": import_module(f"workloads.{name}.spec").VERSION,
        "sha256": syntax_sha256([*own, *(ROOT / "workloads" / each for each in SHARED)]),
    }


@pytest.mark.parametrize("name", workload_names())
def test_a_workload_whose_code_changes_gets_another_version(name: str) -> None:
    assert json.loads(STORED.read_text()).get(name) == found_of(name), (
        f"the code of workload {name!r} changed: raise VERSION in workloads/{name}/spec.py if it computes "
        "anything else, then run: python tests/unit/test_workload_versions.py"
    )


def test_comments_layout_and_docstrings_are_no_part_of_a_version(tmp_path: Path) -> None:
    plain, told, other = tmp_path / "plain.py", tmp_path / "told.py", tmp_path / "other.py"
    plain.write_text("def f(x):\n    return x\n")
    told.write_text('"""Module."""\n\ndef f( x ):\n    """Doc."""\n    return x  # why\n')
    other.write_text("def f(x):\n    return -x\n")
    assert syntax_sha256([plain]) == syntax_sha256([told]) != syntax_sha256([other])


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: found_of(name) for name in workload_names()}, indent=2) + "\n")
