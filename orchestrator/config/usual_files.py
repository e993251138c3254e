"""Config files of the usual shape, merged at a fraction of the cost of Hydra's defaults list.

Usual is an option that builds on one schema, `defaults: [schema, _self_]`, is one, or builds on one of these;
and a primary file that builds on one schema and chooses options of groups. For any other file, and for one
with a mistake in it, the answer here is None: Hydra composes it, or reports the mistake. Both ways give the
same configuration.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import TypeVar

from hydra.core.default_element import ConfigDefault, GroupDefault, InputDefault
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf

from orchestrator.config.error_messages import one_line_errors
from orchestrator.core.errors import ConfigError

_SELF = "_self_"

T = TypeVar("T")

ReadFile = Callable[[str], ConfigResult | None]
"""Reads a config file by its path in the folders; what it returns is not changed here."""


class UsualFiles:
    """Merges files of the usual shape, each option once."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read
        self._options: dict[tuple[str, str], DictConfig | None] = {}

    def option(self, group: str, option: str) -> DictConfig | None:
        """Merge an option into the schema that it builds on; None: leave it to Hydra."""
        if (group, option) not in self._options:
            self._options[group, option] = _or_none(partial(_merged_option, self._read, group, option))
        return self._options[group, option]

    def primary(self, name: str, picks: Mapping[str, str]) -> tuple[DictConfig, Mapping[str, str]] | None:
        """Merge the primary file, the options that it chooses and those picked in their place, and the sweep.

        Args:
            picks: group -> option; `sweep` is a group that the primary file does not choose.

        Returns:
            The configuration, and group -> its option; None: leave it to Hydra.
        """
        choices = _or_none(partial(_choices_in, self._read, name, picks))
        nodes = {group: self.option(group, option) for group, option in (choices or {}).items()}
        if choices is None or None in nodes.values():
            return None
        config = _or_none(partial(_merged_primary, self._read, name, nodes))
        return None if config is None else (config, choices)


def _or_none(merge: Callable[[], T | None]) -> T | None:
    """Return what a function returns, and None for a mistake in a file."""
    try:
        with one_line_errors():
            return merge()
    except ConfigError:
        return None


def _merged_option(read: ReadFile, group: str, option: str, *, is_base: bool = False) -> DictConfig | None:
    file = read(f"{group}/{option}")
    if file is None:
        return None
    is_schema = file.is_schema_source and not file.defaults_list
    schema = None if is_schema else _find_schema(read, file, folder=f"{group}/")
    base = _find_first(file)
    if base and not (is_schema or is_base or schema):
        schema = _merged_option(read, group, base, is_base=True)
    if not is_schema and (schema is None or len(file.defaults_list or ()) != 2):
        return None
    config = OmegaConf.merge(*([] if schema is None else [schema]), file.config)  # a copy, also of one alone
    return config if isinstance(config, DictConfig) else None


def _choices_in(read: ReadFile, name: str, picks: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return group -> option; None where the sweep is not the one group that is added."""
    file = read(name)
    chosen = _read_choices((file.defaults_list or [])[1:-1]) if file else None
    if chosen is None or picks.keys() - chosen.keys() != {"sweep"}:
        return None
    return {**chosen, **picks}


def _merged_primary(read: ReadFile, name: str, nodes: Mapping[str, DictConfig | None]) -> DictConfig | None:
    file = read(name)
    schema = _find_schema(read, file) if file else None
    if file is None or schema is None:
        return None
    groups = {group: node for group, node in nodes.items() if group != "sweep"}
    parts = (OmegaConf.create(groups), deepcopy(file.config), OmegaConf.create({"sweep": nodes["sweep"]}))
    config = OmegaConf.unsafe_merge(deepcopy(schema), *parts)  # of copies, for the options are kept
    return config if isinstance(config, DictConfig) else None


def _find_schema(read: ReadFile, file: ConfigResult, *, folder: str = "") -> DictConfig | None:
    """Return the schema that a file's defaults list begins with, if it ends with the file itself."""
    path = _find_first(file)
    schema = read(f"{folder}{path}") if path else None
    if schema is None or not schema.is_schema_source or schema.defaults_list:
        return None
    return schema.config if isinstance(schema.config, DictConfig) else None


def _find_first(file: ConfigResult) -> str | None:
    """Return the file that a file's defaults list begins with, if it ends with the file itself."""
    entries = file.defaults_list or []
    if file.header["package"] is not None or len(entries) < 2 or entries[-1] != ConfigDefault(path=_SELF):
        return None
    first = entries[0]
    path = first.path if isinstance(first, ConfigDefault) else None
    return path if path and "/" not in path and first == ConfigDefault(path=path) else None


def _read_choices(entries: Sequence[InputDefault]) -> Mapping[str, str] | None:
    """Return group -> option, if each entry is no more than that and each has another group."""
    choices = {
        str(entry.group): entry.value
        for entry in entries
        if isinstance(entry, GroupDefault) and isinstance(entry.value, str)
    }
    usual = [GroupDefault(group=group, value=option) for group, option in choices.items()]
    if list(entries) != usual or any("/" in group for group in choices) or "$" in "".join(choices.values()):
        return None
    return choices
