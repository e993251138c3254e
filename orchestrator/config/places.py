"""Folders of config files, and their names. Imports nothing heavy: help and completion read them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import orchestrator
from orchestrator.core.errors import ConfigError
from workloads.origins import search_path

CONFIG_NAME = "config"
SEARCH_PATH = "hydra.searchpath"
"""Hydra's key for further folders of config files."""

PRIMARY_NAME = "hydra.job.config_name"
"""Hydra's key for the name of the primary config file."""

_ITEM = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<plain>[^,'"\[\]]+)""")
_SCHEME = re.compile(r"(?P<scheme>\w+)://(?P<rest>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigPlaces:
    """Additional folders of config files, and the primary file.

    Attributes:
        folders: absolute, searched in their order, after `conf/` of the working directory.
        name: name of the primary file, without `.yaml`.
    """

    folders: tuple[Path, ...] = ()
    name: str = CONFIG_NAME


NO_PLACES = ConfigPlaces()


def split_places(
    overrides: Sequence[str], *, working_directory: Path
) -> tuple[ConfigPlaces, tuple[str, ...]]:
    """Split a command line into the places of its config files, and the other words.

    Raises:
        ConfigError: a folder that is not there, or a kind of place that cannot be searched.
    """
    folders: list[Path] = []
    name, rest = CONFIG_NAME, []
    for word in overrides:
        key, _, value = word.lstrip("+").partition("=")
        if key == SEARCH_PATH:
            folders += (_folder(place, working_directory) for place in _items(value))
        elif key == PRIMARY_NAME:
            name = value.strip("'\"").removesuffix(".yaml")
        else:
            rest.append(word)
    return ConfigPlaces(folders=tuple(folders), name=name), tuple(rest)


def place_words(*, folders: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Write `--config-dir` and `--config-name` as the overrides that mean the same."""
    searched = (f"{SEARCH_PATH}=[{_quoted(folder)}]" for folder in folders)
    return (*searched, *(f"{PRIMARY_NAME}={name}" for name in names))


def _quoted(folder: str) -> str:
    match = _ITEM.fullmatch(folder)
    if match and match["plain"] and folder == folder.strip():
        return folder
    return f'"{folder}"' if "'" in folder else f"'{folder}'"


def config_folders(working_directory: Path, added: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Folders of config files, the one searched first at the front: the user's before the shipped one.

    Raises:
        ConfigError: a folder of workloads that is not there.
    """
    try:
        beside_workloads = [folder / "conf" for folder in search_path()]
    except ValueError as error:
        raise ConfigError(str(error)) from error
    every = (working_directory.resolve() / "conf", *added, *beside_workloads, find_shipped_folder())
    return tuple(dict.fromkeys(folder for folder in every if folder.is_dir()))


def options_in(folders: Iterable[Path]) -> Mapping[str, tuple[str, ...]]:
    """Group -> its options, as the files of these folders name them."""
    files = {(file.parent.name, file.stem) for folder in folders for file in folder.glob("*/*.yaml")}
    groups = sorted({group for group, _ in files})
    return {group: tuple(sorted(name for of_group, name in files if of_group == group)) for group in groups}


def _items(value: str) -> list[str]:
    found = (match["single"] or match["double"] or match["plain"] or "" for match in _ITEM.finditer(value))
    return [item.strip() for item in found if item.strip()]


def _folder(place: str, working_directory: Path) -> Path:
    match = _SCHEME.fullmatch(place)
    scheme, rest = (match["scheme"], match["rest"]) if match else ("file", place)
    if scheme == "pkg":
        try:
            spec = find_spec(rest.replace("/", "."))
        except (ImportError, ValueError):
            spec = None
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"no package {rest!r} to search for config files; pkg://PACKAGE names one")
        return Path(next(iter(spec.submodule_search_locations)))
    if scheme != "file":
        raise ConfigError(
            f"config files cannot be read from {place!r}; possible: a folder, file:///FOLDER, pkg://PACKAGE"
        )
    folder = (working_directory / rest).resolve()
    if not folder.is_dir():
        raise ConfigError(
            f"no folder {rest!r} to search for config files; name one with files GROUP/NAME.yaml, as conf/"
        )
    return folder


def find_shipped_folder() -> Path:
    """Return the configuration folder: inside the package in a wheel, otherwise the repository's."""
    package = Path(orchestrator.__path__[0]).resolve()
    return package / "conf" if (package / "conf").is_dir() else package.parent / "conf"
