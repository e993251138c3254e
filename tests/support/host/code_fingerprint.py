"""A fingerprint of what code does: no comments, no layout, no docstrings, the same under every Python."""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path


def syntax_sha256(files: Iterable[Path]) -> str:
    """Hash the syntax trees of `files`, in that order."""
    return hashlib.sha256("\n".join(map(_tree, files)).encode()).hexdigest()


@cache
def _tree(file: Path) -> str:
    """Return the file's syntax; most files are in the fingerprint of several workloads."""
    return _text(ast.parse(file.read_text()))


def _text(value: object) -> str:
    """Dump the node like `ast.dump`, which shows other empty fields in other Python versions."""
    if isinstance(value, list):
        return f"[{', '.join(_text(each) for each in value if not _is_docstring(each))}]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = ((name, each) for name, each in ast.iter_fields(value) if each is not None and each != [])
    return f"{type(value).__name__}({', '.join(f'{name}={_text(each)}' for name, each in fields)})"


def _is_docstring(node: object) -> bool:
    """Return whether a statement is a bare string."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
