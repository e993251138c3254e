"""Plain values <-> YAML text, with a comment at its top."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import yaml  # type: ignore[import-untyped]  # it has no type information

from orchestrator.core.errors import ConfigError


class _YamlLoader(yaml.SafeLoader):  # type: ignore[misc]  # likewise
    """A key that appears twice in a mapping is refused: PyYAML would keep the last one in silence."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for name, _ in node.value:
            key = self.construct_object(name, deep=True)
            if isinstance(key, str):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} appears twice", name.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Writer(yaml.SafeDumper):  # type: ignore[misc]  # likewise
    """YAML writer without anchors, so that every node can be read by itself."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def to_yaml(documents: Sequence[Any], *, comment: Iterable[str]) -> str:
    """Write documents, keys in their order."""
    head = "".join(f"# {line}\n" for line in comment)
    return head + "---\n".join(
        yaml.dump(document, Dumper=_Writer, sort_keys=False, width=100) for document in documents
    )


def from_yaml(text: str, *, name: str) -> list[Any]:
    """Read all documents.

    Args:
        name: name of the file, for the message.

    Raises:
        ConfigError: no YAML, or a key that appears twice.
    """
    try:
        return [document for document in yaml.load_all(text, Loader=_YamlLoader) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{name}{where}: not YAML: {getattr(error, 'problem', error)}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: not YAML: it nests too deeply") from error
    except Exception as error:  # a scalar that is not what its tag says raises almost anything
        raise ConfigError(f"{name}: not YAML: {error}") from error


def diff(rendered: str, current: str, *, name: str) -> str:
    """The unified diff that makes the file what would be rendered; empty if they are equal."""
    lines = difflib.unified_diff(
        current.splitlines(keepends=True), rendered.splitlines(keepends=True), name, "rendered"
    )
    return "".join(lines)
