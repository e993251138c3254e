"""Figures of the code's structure and language, each with a limit that it must not pass.

    python tools/structure.py

Prints a table: figure, today, limit, goal. Ends with 1 where a figure is above its limit. A change that
lowers a figure lowers its limit too. What each function counts: `tests/unit/repository/test_structure.py`.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ODD_TEXT = re.compile(
    r"\b(whom|whose|whatever|whoever|tell|tells|told|hear|heard|says?|said|is known of|nobody|somebody)\b",
    re.IGNORECASE,
)
"""Words of a docstring that name no act of a program. One of them may stand: their share is limited."""

ODD_TEST_NAME = re.compile(
    r"(^|_)(is_said|is_told|are_told|tells?|told|says?|said|whatever|whom|nothing|nobody|hears?)(_|$)"
)

ODD_NAME = re.compile(
    r"(^|_)(tells?|(un)?told|says?|said|hears?|heard|whom|whose|whatever|nobody|somebody)(_|$)", re.I
)
"""Words of a name in code that name no act of a program."""

_KINDS_OF_WORKLOAD = {"ScriptSpec", "NativeSpec", "WorkloadSpec"}
_CONTRIBUTORS_PAGES = ("decisions", "findings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One count, the most that it may be, and what it is to become."""

    name: str
    count: float
    limit: float
    goal: float


LIMITS: Mapping[str, tuple[float, float]] = {
    "lines of orchestrator/ outside extensions/": (43_000, 43_000),
    "functions named X_of": (1, 1),
    "functions of more than 50 lines": (5, 5),
    "functions used in one place, %": (30.5, 25),
    "modules that import private parts of Ray": (1, 1),
    "modules that ask for a kind of workload": (1, 1),
    "files in one folder": (24, 24),
    "odd docstrings, %": (0.1, 1.5),
    "odd docs of attributes, %": (0.1, 1.5),
    "odd names of tests, %": (0.1, 1.5),
    "odd names in code": (0, 0),
    "words of pages for users": (30_000, 30_000),
}
"""Figure -> the most that it may be today, and its goal."""

Trees = Mapping[Path, ast.Module]
"""File -> its syntax tree."""


def parse_files(*folders: Path) -> Trees:
    """Parse the Python files below folders."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return {file: ast.parse(file.read_text()) for file in files}


def list_functions(trees: Trees) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method."""
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def count_nominal_names(trees: Trees) -> int:
    """Count functions named `X_of`, which say no verb."""
    return sum(function.name.endswith("_of") for function in list_functions(trees))


def count_long_functions(trees: Trees, *, lines: int = 50) -> int:
    """Count functions that are longer than so many lines, their docstrings included."""
    lengths = ((function.end_lineno or 0) - function.lineno + 1 for function in list_functions(trees))
    return sum(length > lines for length in lengths)


def count_single_uses(trees: Trees) -> float:
    """Count the functions whose names occur once beside their definition, in percent of all."""
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    names = [function.name for function in list_functions(trees)]
    return round(100 * sum(uses[name] == 1 for name in names) / max(1, len(names)), 1)


def count_private_ray(trees: Trees) -> int:
    """Count modules that import a private part of Ray."""
    return sum(any(_is_private_ray(node) for node in ast.walk(tree)) for tree in trees.values())


def _is_private_ray(node: ast.AST) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return any(name.startswith("ray._") or "._private" in name for name in names)


def count_workload_tests(trees: Trees) -> int:
    """Count modules that ask with `isinstance` which kind of workload something is."""
    return sum(any(_asks_for_kind(node) for node in ast.walk(tree)) for tree in trees.values())


def _asks_for_kind(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return False
    named = {inner.id for inner in ast.walk(node.args[1]) if isinstance(inner, ast.Name)}
    return bool(named & _KINDS_OF_WORKLOAD)


def count_odd_docstrings(trees: Trees) -> float:
    """Count docstrings with a word of `ODD_TEXT`, in percent of all."""
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        text
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, nodes) and (text := ast.get_docstring(node))
    ]
    return _share(texts, ODD_TEXT)


def count_odd_attribute_docs(trees: Trees) -> float:
    """Count the strings below assignments with a word of `ODD_TEXT`, in percent of all."""
    bodies = (getattr(node, "body", None) for tree in trees.values() for node in ast.walk(tree))
    pairs = (pair for body in bodies if isinstance(body, list) for pair in pairwise(body))
    texts = [
        after.value.value
        for before, after in pairs
        if isinstance(before, ast.Assign | ast.AnnAssign) and _is_text(after)
    ]
    return _share(texts, ODD_TEXT)


def _is_text(node: ast.AST) -> bool:
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)


def count_odd_tests(trees: Trees) -> float:
    """Count names of tests with a word of `ODD_TEST_NAME`, in percent of all."""
    names = [function.name for function in list_functions(trees) if function.name.startswith("test_")]
    return _share(names, ODD_TEST_NAME)


def count_odd_names(trees: Trees) -> int:
    """Count functions, classes, parameters and variables with a word of `ODD_NAME` in their names."""
    names = (_get_new_name(node) for tree in trees.values() for node in ast.walk(tree))
    return sum(bool(ODD_NAME.search(name)) for name in names)


def _get_new_name(node: ast.AST) -> str:
    """Return the name that a node defines or assigns to; empty without one."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case (
            ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
        ):
            return name
    return ""


def _share(texts: Sequence[str], odd: re.Pattern[str]) -> float:
    return round(100 * sum(bool(odd.search(text)) for text in texts) / max(1, len(texts)), 1)


def count_lines(files: Sequence[Path]) -> int:
    """Count the lines of files."""
    return sum(len(file.read_text().splitlines()) for file in files)


def count_files_in_a_folder(trees: Trees) -> int:
    """Count the modules of the fullest folder, `__init__` left out."""
    return max(Counter(file.parent for file in trees if file.name != "__init__.py").values())


def count_words(folder: Path) -> int:
    """Count the words of pages for users: decisions, findings and benchmarks are for contributors."""
    pages = [
        page
        for page in sorted(folder.rglob("*.md"))
        if page.relative_to(folder).parts[0] not in (*_CONTRIBUTORS_PAGES, "benchmarks.md")
    ]
    return sum(len(page.read_text().split()) for page in pages)


def measure(root: Path) -> tuple[Figure, ...]:
    """Measure every figure of a checkout."""
    core, workloads, tests = (parse_files(root / name) for name in ("orchestrator", "workloads", "tests"))
    code = {**core, **workloads}
    outside = [file for file in core if "extensions" not in file.relative_to(root).parts]
    counts: Mapping[str, Callable[[], float]] = {
        "lines of orchestrator/ outside extensions/": lambda: count_lines(outside),
        "functions named X_of": lambda: count_nominal_names(code),
        "functions of more than 50 lines": lambda: count_long_functions(core),
        "functions used in one place, %": lambda: count_single_uses(core),
        "modules that import private parts of Ray": lambda: count_private_ray(core),
        "modules that ask for a kind of workload": lambda: count_workload_tests(core),
        "files in one folder": lambda: count_files_in_a_folder(core),
        "odd docstrings, %": lambda: count_odd_docstrings(code),
        "odd docs of attributes, %": lambda: count_odd_attribute_docs(code),
        "odd names of tests, %": lambda: count_odd_tests(tests),
        "odd names in code": lambda: count_odd_names(code),
        "words of pages for users": lambda: count_words(root / "docs"),
    }
    return tuple(
        Figure(name=name, count=count(), limit=LIMITS[name][0], goal=LIMITS[name][1])
        for name, count in counts.items()
    )


def main() -> int:
    figures = measure(ROOT)
    print(f"{'figure':45}{'today':>9}{'limit':>9}{'goal':>9}")
    for figure in figures:
        mark = "  above its limit" if figure.count > figure.limit else ""
        print(f"{figure.name:45}{figure.count:>9,}{figure.limit:>9,}{figure.goal:>9,}{mark}")
    return int(any(figure.count > figure.limit for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
