"""A workload's version is raised with the code that decides what it computes.

As a script it stores versions and code as they are: `python tests/unit/workloads/test_workload_versions.py`.
"""

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

STORED = Path(__file__).with_name("workload_versions.json")
SHARED = ("flops", "traffic", "data.batches", "with_torch.training", "with_keras.training")
"""Modules that every workload is computed with, beside what its own folder names."""

_MENTIONED = re.compile(r"(?:from |\")workloads\.([\w.]+)(?: import|:)")
"""In an import, or in the `module:attribute` of a data set or a measure."""

if __name__ == "__main__":  # a script has no conftest that puts these folders on the path
    repository = Path(__file__).parents[3]
    sys.path[:0] = [str(repository), str(repository / "tests/support/host")]

from code_fingerprint import syntax_sha256  # noqa: E402 (as a script it has no conftest that puts it on the path)
from repository import ROOT  # noqa: E402 (likewise)

from workloads.registry import find_origin, workload_names  # noqa: E402 (likewise)

DECLARED = tuple(name for name in workload_names() if find_origin(name).folder is None)
"""Workloads with a `spec.py`: the version of others is a hash of their code."""


def found_of(name: str) -> dict[str, object]:
    files = set((ROOT / "workloads" / name).glob("**/*.py")) | {file_of(module) for module in SHARED}
    return {
        "version": import_module(f"workloads.{name}.spec").VERSION,
        "sha256": syntax_sha256(sorted(with_mentioned(files))),
    }


def with_mentioned(files: set[Path]) -> set[Path]:
    """The files, those of the modules of `workloads/` that they name, and so on."""
    found: set[Path] = set()
    waiting = set(files)
    while waiting:
        file = waiting.pop()
        found.add(file)
        named = {file_of(module) for module in _MENTIONED.findall(file.read_text())}
        waiting |= {path for path in named if path.exists()} - found
    return found


def file_of(module: str) -> Path:
    return (ROOT / "workloads" / module.replace(".", "/")).with_suffix(".py")


@pytest.mark.parametrize("name", DECLARED)
def test_a_workload_with_changed_code_gets_another_version(name: str) -> None:
    assert json.loads(STORED.read_text()).get(name) == found_of(name), (
        f"the code of workload {name!r} changed: raise VERSION in workloads/{name}/spec.py if it computes "
        "anything else, then run: python tests/unit/workloads/test_workload_versions.py"
    )


def test_a_workload_is_made_of_the_modules_that_its_folder_names() -> None:
    own = {file_of("mnist_gan.spec")}
    named = {str(path.relative_to(ROOT / "workloads")) for path in with_mentioned(own)}
    assert {"mnist_gan/frechet.py", "data/mnist.py", "data/drawn_glyphs.py", "layers.py"} <= named
    assert not {"mnist_dbn/spec.py", "with_torch/network.py"} & named


def test_comments_layout_and_docstrings_are_no_part_of_a_version(tmp_path: Path) -> None:
    plain, told, other = tmp_path / "plain.py", tmp_path / "told.py", tmp_path / "other.py"
    plain.write_text("def f(x):\n    return x\n")
    told.write_text('"""Module."""\n\ndef f( x ):\n    """Doc."""\n    return x  # why\n')
    other.write_text("def f(x):\n    return -x\n")
    assert syntax_sha256([plain]) == syntax_sha256([told]) != syntax_sha256([other])


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: found_of(name) for name in DECLARED}, indent=2) + "\n")
