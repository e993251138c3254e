"""Extensions: parts that a distribution adds to this package, found by its entry points.

The packages beside `extensions/` import none of them, and work without any.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, Protocol, TypeVar

from orchestrator.core.errors import ConfigError

GROUP = "orchestrator.extensions"
"""Group of entry points. The value of one is the `module:name` of an `Extension`."""

VARIABLE = "ORCHESTRATOR_EXTENSIONS"
"""Environment variable with these values, for processes in environments without the distributions."""

_SHIPPED = "orchestrator.extensions."

Hook = Literal[
    "trainers",
    "commands",
    "functions",
    "predictor",
    "report_section",
    "search",
    "step_compilers",
    "tracking_server",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Parts that are added, each as `module:name`, which is imported when it is first used; empty: none.

    Attributes:
        trainers: tuple of `core.trainer.TrainerInfo`.
        commands: tuple of `commands.command_line.Command`.
        functions: mapping with the functions `predict` and `advise` of `orchestrator.api`.
        predictor: function of `Settings` and `pipeline.preflight.PreflightState` that returns a
            `pipeline.planning.Predictor`.
        report_section: function of measurements and records that returns an `analysis.section.ReportSection`.
        search: function of `Settings`, `PreflightState` and a `Plan` that returns a
            `pipeline.search.TrialSearch`.
        step_compilers: function of `compile.compilers.CompilerSettings` that returns its `StepCompilers`.
        tracking_server: function of `tracking.uri` that returns a
            `record.tracking.tracker.TrackingServer`.
    """

    name: str
    trainers: str = ""
    commands: str = ""
    functions: str = ""
    predictor: str = ""
    report_section: str = ""
    search: str = ""
    step_compilers: str = ""
    tracking_server: str = ""


class Named(Protocol):
    """A part with a name, by which a person asks for it."""

    @property
    def name(self) -> str:
        """Return it."""


P = TypeVar("P", bound=Named)


@cache
def find_extensions() -> tuple[Extension, ...]:
    """Find the installed extensions, by name.

    Processes that this one starts find the same, also under another interpreter: they have our code, but
    not the metadata of our distributions.

    Raises:
        ConfigError: the module of an entry point cannot be imported, or has no extension.
    """
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = " ".join(dict.fromkeys(_list_places()))
    found = (_import_extension(place) for place in os.environ[VARIABLE].split())
    return tuple(sorted(found, key=lambda extension: extension.name))


def export_extensions() -> dict[str, str]:
    """Return the variable by which processes on other hosts find the same extensions."""
    find_extensions()
    return {VARIABLE: os.environ[VARIABLE]}


def list_unregistered() -> list[str]:
    """Name the extensions of this package that no entry point names: it was installed before it had them."""
    return sorted(set(_list_shipped()) - {found.name for found in find_extensions()})


def load_parts(hook: Hook) -> Iterator[Any]:
    """Yield what every extension has for a hook. Raises ConfigError where it cannot be imported."""
    for extension in find_extensions():
        if place := getattr(extension, hook):
            yield _import(place)


def find_part(hook: Hook) -> Any:
    """Return the part for a hook that one extension may have; None: none has.

    That of another distribution takes the place of the one of this package.

    Raises:
        ConfigError: several other distributions have one, or it cannot be imported.
    """
    places = {one.name: place for one in find_extensions() if (place := getattr(one, hook))}
    others = {name: place for name, place in places.items() if not place.startswith(_SHIPPED)}
    if len(others) > 1:
        raise ConfigError(
            f"one extension may have a {hook}, and several do: {', '.join(others)}; uninstall all but one"
        )
    return next(map(_import, (others or places).values()), None)


def require_part(hook: Hook, *, needed_for: str, instead: str) -> Any:
    """Return the part for a hook that one extension must have.

    Args:
        needed_for, instead: what needs it, and what needs none, for the error message.

    Raises:
        ConfigError: none has one, or as `find_part`.
    """
    if (part := find_part(hook)) is None:
        raise ConfigError(
            f"{needed_for} needs an extension that is not here; {instead} needs none{describe_unregistered()}"
        )
    return part


def add_parts(own: Iterable[P], hook: Hook) -> tuple[P, ...]:
    """Return our parts and those of extensions. Raises ConfigError where two have one name."""
    parts = (*own, *(part for parts in load_parts(hook) for part in parts))
    twice = [name for name, number in Counter(part.name for part in parts).items() if number > 1]
    if twice:
        raise ConfigError(f"{hook} of extensions must have names of their own: {', '.join(twice)} exist")
    return parts


def describe_unregistered() -> str:
    """Name these extensions and the cure, after a semicolon; empty: there are none."""
    if not (missing := list_unregistered()):
        return ""
    return (
        f"; extensions that are not registered: {', '.join(missing)}; to register them: make install, or pip "
        "install this package"
    )


def _list_places() -> Iterator[str]:
    """Yield the values of entry points; a source tree that is not installed has those of its extensions."""
    yield from (point.value for point in metadata.entry_points(group=GROUP))
    try:
        metadata.version("orchestrator")
    except metadata.PackageNotFoundError:
        yield from (f"orchestrator.extensions.{name}.extension:EXTENSION" for name in _list_shipped())


def _list_shipped() -> list[str]:
    folder = Path(str(files("orchestrator"))) / "extensions"
    return sorted(module.parent.name for module in folder.glob("*/extension.py"))


def _import_extension(place: str) -> Extension:
    found = _import(place)
    if not isinstance(found, Extension):
        raise ConfigError(
            f"{place}, of an entry point of {GROUP} or of {VARIABLE}, is no orchestrator.extension.Extension"
        )
    return found


def _import(place: str) -> Any:
    try:
        return resolve_name(place)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{place} of an extension cannot be imported: {error}; install its distribution again, "
            "or remove it"
        ) from error
