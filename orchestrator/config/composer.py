"""Config files, the user's before the shipped ones: usual ones are merged, and Hydra composes all others.

The rows in a file of prices are completed before: date and source are each row's own, or its own file's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields, replace
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import hydra.version

# the public ways into Hydra search one folder, and compose its own settings anew each time: 1.3 is pinned
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository, IConfigRepository
from hydra._internal.defaults_list import DefaultsList, create_defaults_list
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import setup_globals
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf

from orchestrator.config.error_messages import one_line_errors
from orchestrator.config.places import NO_PLACES, ConfigPlaces, config_folders
from orchestrator.config.schema import (
    OPTIONS,
    POINT_GROUPS,
    SETTINGS_GROUPS,
    PriceRowConf,
    register,
    register_workload,
)
from orchestrator.config.usual_files import UsualFiles
from orchestrator.config.values import check_schema
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.train.registry import trainer_info
from workloads.data.files import require_regular
from workloads.registry import workload_names

MOST_BYTES = 250_000
"""The reader is slow: a list of that size takes ten seconds, and ours take milliseconds."""

MOST_ALIASES = 20
"""Aliases of aliases multiply: with so many at most to a thousand values, with 80 to a thousand million."""

_ALIAS = re.compile(rb"(?:^|[\s\[,{:])\*[\w-]", re.MULTILINE)
_FIGURES = ("on_demand", "spot")
_FIELDS_OF_A_ROW = tuple(field_.name for field_ in fields(PriceRowConf))


class CheckedFiles(ConfigRepository):
    """Hydra's config files in those folders, each read once, and the schemas of the named workloads."""

    def __init__(self, places: ConfigSearchPath, folders: Iterable[Path]) -> None:
        super().__init__(places)
        self._folders = tuple(folders)
        self._read: dict[str, ConfigResult | None] = {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Read a file for Hydra, which merges other files into what it gets."""
        found = self.read(config_path)
        return found and replace(found, config=deepcopy(found.config))

    def read(self, config_path: str) -> ConfigResult | None:
        """Read a file, for who does not change it.

        Raises:
            ConfigError: it is too large, no regular file, or a broken workload's.
        """
        if config_path not in self._read:
            self._read[config_path] = self._load(config_path)
        return self._read[config_path]

    def _load(self, config_path: str) -> ConfigResult | None:
        group, _, option = config_path.removesuffix(".yaml").partition("/")
        workload = option.removesuffix("_schema")
        if group == "workload" and workload in workloads_named():
            register_workload(workload, self._folders)
        if group == "trainer" and option.endswith("_schema"):
            trainer_info(option.removesuffix("_schema"))  # refuses a trainer that no extension has here
        for folder in self._folders:
            file = folder / f"{config_path.removesuffix('.yaml')}.yaml"
            if file.exists():
                _check(file, name=str(file.relative_to(folder.parent)))
        return _with_whole_prices(super().load_config(config_path), group=group, option=option)


def _with_whole_prices(found: ConfigResult | None, *, group: str, option: str) -> ConfigResult | None:
    """Complete the rows of prices in a file, before other files are merged with it."""
    if found is None or found.is_schema_source or not isinstance(found.config, DictConfig):
        return found
    if group != "prices" and "prices" not in found.config:
        return found
    plain = OmegaConf.to_container(found.config)
    assert isinstance(plain, dict)
    file = f"conf/{group}/{option}.yaml" if option else f"conf/{group}.yaml"
    today = datetime.now(timezone(timedelta(hours=14))).date()  # no place is further ahead
    for prices in (plain if group == "prices" else None, plain.get("prices")):
        complete_rows(prices, file=file, today=today)
    found.config = OmegaConf.create(plain)
    return found


def _check(file: Path, *, name: str) -> None:
    try:
        require_regular(file)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise ConfigError(
            f"{name} has {size:,} bytes, and a config file at most {MOST_BYTES:,}; "
            "a list of numbers of any length may stand on the command line"
        )
    count = len(_ALIAS.findall(file.read_bytes()))
    if count > MOST_ALIASES:
        raise ConfigError(f"{name} has {count} aliases (*NAME), and a config file at most {MOST_ALIASES}")


def config_loader(
    working_directory: Path, added: Iterable[Path] = (), *, is_copied: bool = False
) -> ConfigLoaderImpl:
    """Return Hydra's loader over the folders of config files and our schemas.

    Args:
        added: further folders.
        is_copied: Hydra will copy the schemas, so those of all workloads are there from the start.
    """
    folders = config_folders(working_directory, added)
    register()
    for workload in workloads_named() if is_copied else ():
        register_workload(workload, folders)
    setup_globals()
    places = create_config_search_path(None)
    for folder in folders:
        places.prepend("main", f"file://{folder}", anchor="schema")
    loader = ConfigLoaderImpl(places)
    loader.repository = CheckedFiles(places, folders)
    return loader


@contextmanager
def hydra_1_3() -> Iterator[None]:
    """Set Hydra's behaviour of that version, even if another application of this process has set another."""
    base = hydra.version.VersionBase.instance()
    earlier = base.version_base
    hydra.version.setbase("1.3")
    try:
        yield
    finally:
        base.version_base = earlier


def require_primary(files: IConfigRepository, name: str) -> None:
    """Raise UnknownNameError unless there is a primary file of that name."""
    names = files.get_group_options("", ObjectType.CONFIG)
    known = [option for option in names if not option.startswith(("_", "orchestrator_"))]
    if name not in known:
        raise UnknownNameError("config", name, known=known)


def workloads_named() -> tuple[str, ...]:
    """Name the workloads. Raises ConfigError where a user's are ambiguous or missing."""
    with one_line_errors():
        return workload_names()


def with_plus(word: str) -> str:
    """Write `sweep=NAME` with a plus, as Hydra wants a group that no defaults list of ours has."""
    return f"+{word}" if word.startswith("sweep=") else word


def _beside(nodes: Mapping[tuple[str, str], DictConfig | None]) -> Mapping[tuple[str, str], DictConfig]:
    """Put options beside each other in a configuration of their own, as Hydra composes them."""
    groups: dict[str, dict[str, DictConfig | None]] = {group: {} for group, _ in nodes}
    for i, ((group, _), node) in enumerate(nodes.items()):
        groups[group][f"at{i}"] = node
    root = OmegaConf.create({OPTIONS: groups})
    OmegaConf.set_struct(root, True)
    return {pair: root[OPTIONS][pair[0]][f"at{i}"] for i, pair in enumerate(nodes)}


class Composer:
    """Composes options of groups and whole configurations."""

    def __init__(self, working_directory: Path, places: ConfigPlaces = NO_PLACES) -> None:
        self._loader = config_loader(working_directory, places.folders)
        self._name = places.name
        self._files = self._loader.repository
        assert isinstance(self._files, CheckedFiles), "config_loader made it"
        self._usual = UsualFiles(self._files.read)
        self._options: dict[str, tuple[str, ...]] = {}

    def options(self, group: str) -> tuple[str, ...]:
        """Names of a group's config files, its schemas left out."""
        if group not in self._options:
            files = self._files.get_group_options(group, ObjectType.CONFIG)
            names = {name for name in files if not name.endswith("schema")}
            named = workloads_named() if group == "workload" else ()
            self._options[group] = tuple(sorted({*names, *named}))
        return self._options[group]

    @cached_property
    def sweep(self) -> str | None:
        """Name of the sweep in the defaults list of the primary file; None: it has none."""
        with hydra_1_3(), one_line_errors():
            require_primary(self._files, self._name)
            return self._defaults(self._name, ()).overrides.known_choices.get("sweep")

    def check(self, group: str, option: object) -> str:
        """The option itself. Raises UnknownNameError where it has no file."""
        if option not in self.options(group):
            raise UnknownNameError(group, str(option), known=self.options(group))
        return str(option)

    def base(self, picks: Mapping[str, object]) -> tuple[DictConfig, Mapping[str, str]]:
        """The configuration with one option of every group, and the names of those options."""
        options = {group: self.check(group, option) for group, option in picks.items()}
        with hydra_1_3():
            merged = self._usual.primary(self._name, options)
        config, choices = merged or self._composed(options)
        OmegaConf.set_struct(config, True)
        chosen = {group: self._choice(group, choices) for group in (*POINT_GROUPS, *SETTINGS_GROUPS, "sweep")}
        for group, option in chosen.items():
            check_schema(config[group], group=group, option=option)
        return config, chosen

    def nodes(self, wanted: Mapping[str, Sequence[str]]) -> Mapping[tuple[str, str], DictConfig]:
        """(group, option) -> its typed configuration, all of them in one composition."""
        pairs = [(group, option) for group, options in wanted.items() for option in options]
        with hydra_1_3():
            merged = {pair: self._usual.option(*pair) for pair in pairs}
        nodes = self._composed_beside(pairs) if None in merged.values() else _beside(merged)
        for (group, option), config in nodes.items():
            check_schema(config, group=group, option=option)
        return nodes

    def _composed(self, picks: Mapping[str, str]) -> tuple[DictConfig, Mapping[str, str | None]]:
        words = [f"{group}={option}" for group, option in picks.items()]
        try:  # to ask first whether the primary file has a sweep costs as much as a composition
            return self._compose(self._name, [with_plus(word) for word in words])
        except ConfigError:
            if self.sweep is None:
                raise
            return self._compose(self._name, words)

    def _composed_beside(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], DictConfig]:
        overrides = [f"+{group}@{OPTIONS}.{group}.at{i}={option}" for i, (group, option) in enumerate(pairs)]
        composed = self._compose(OPTIONS, overrides)[0]
        OmegaConf.set_struct(composed, True)
        return {pair: composed[OPTIONS][pair[0]][f"at{i}"] for i, pair in enumerate(pairs)}

    def _compose(self, name: str, overrides: list[str]) -> tuple[DictConfig, Mapping[str, str | None]]:
        """Compose as `hydra.compose` does, with the option of every group, but without Hydra's own
        settings.
        """
        with hydra_1_3(), one_line_errors():
            defaults = self._defaults(name, overrides)
            config = self._loader._compose_config_from_defaults_list(defaults.defaults, self._files)
        return config, defaults.overrides.known_choices

    def _defaults(self, name: str, overrides: Sequence[str]) -> DefaultsList:
        return create_defaults_list(
            self._files,
            name,
            OverridesParser.create().parse_overrides(list(overrides)),
            prepend_hydra=False,
            skip_missing=False,
        )

    def _choice(self, group: str, choices: Mapping[str, str | None]) -> str:
        option = choices.get(group)
        if option is None:
            raise ConfigError(
                f"conf/{self._name}.yaml chooses no {group}; add '{group}: NAME' to its defaults list, "
                f"with one of: {', '.join(self.options(group))}"
            )
        return option


def complete_rows(prices: Any, *, file: str, today: date) -> None:
    """Write into each row with a price what it leaves out: date and source of its file, null for the rest.

    So a row takes no price, date, source or note from the row of another list that it replaces.

    Args:
        prices: content of one file, before others are merged with it; its rows are written over. What is
            no price list is left to the schema.
        file: name of the file, for messages.

    Raises:
        ConfigError: a price without date or source, or of a date in the future.
    """
    for region, of_region in _list_items(prices, "regions"):
        for instance, row in _list_items(of_region, "instances"):
            if not isinstance(row, dict) or all(row.get(figure) is None for figure in _FIGURES):
                continue
            for key in ("as_of", "source"):
                row[key] = row.get(key) or prices.get(key)
            _check_row(row, where=f"{file}: {instance} in {region}", today=today)
            row |= {name: None for name in _FIELDS_OF_A_ROW if name not in row}


def _list_items(plain: Any, key: str) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a mapping in a mapping; nothing where either is something else."""
    inner = plain.get(key) if isinstance(plain, Mapping) else None
    yield from inner.items() if isinstance(inner, Mapping) else ()


def _check_row(row: Mapping[str, Any], *, where: str, today: date) -> None:
    missing = " and ".join(f"no {key}" for key in ("as_of", "source") if not row[key])
    if missing:
        raise ConfigError(
            f"{where} has {missing}; give both in the row, as in 'as_of: 2026-11-01, source: our contract', "
            "or at the top of its file"
        )
    try:
        day = date.fromisoformat(str(row["as_of"]))
    except ValueError:  # an interpolation, or what the price list refuses
        return
    if day > today:
        raise ConfigError(f"{where}: as_of={day} lies in the future; today is {today}")
