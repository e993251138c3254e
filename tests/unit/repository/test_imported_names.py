"""Programs beside the packages import names that the packages have: mypy does not read them."""

import ast
from functools import cache
from pathlib import Path

import pytest
from repository import ROOT

PROGRAMS = sorted(path for folder in ("benchmarks", "tools") for path in (ROOT / folder).rglob("*.py"))


@cache
def names_in(module: str) -> frozenset[str]:
    """Return the names that a module binds at its top level, and its submodules; empty if there is none."""
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists():
        return frozenset()
    names = {below.stem for below in path.glob("*") if below.suffix in ("", ".py")}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return frozenset(names)


def list_absent(file: Path) -> list[str]:
    """List the names that a program imports from our packages, and that are not there."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("orchestrator", "workloads"))
        for alias in node.names
        if alias.name not in names_in(node.module or "")
    ]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_program_imports_names_that_are_there(file: Path) -> None:
    assert not list_absent(file)


def test_an_absent_name_is_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from orchestrator.cli import main, absent\nfrom orchestrator.gone import thing\n")
    assert list_absent(program) == ["orchestrator.cli.absent", "orchestrator.gone.thing"]
