"""Request of a command line: sweep, values of its points, settings. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from orchestrator.config.error_messages import shown
from orchestrator.config.overrides import ParsedOverride
from orchestrator.config.schema import (
    DEVICES,
    KNOB_GROUPS,
    POINT_GROUPS,
    POINT_KEYS,
    SETTINGS_GROUPS,
    RootConf,
)
from orchestrator.config.workload_overrides import VARIABLES as WORKLOAD_WORDS
from orchestrator.core.errors import ConfigError, UnknownNameError

_GRID = "sweep.grid."
_PRICE_FACTS = ("prices.regions", "prices.as_of", "prices.source", "prices.currency")
_SELLER = "prices.seller"


@dataclass(slots=True, kw_only=True)
class Request:
    """Words of a command line, sorted.

    Attributes:
        sweep: name of the sweep.
        picks: settings group -> option.
        choices: key of a point -> values that replace the sweep's own.
        axes: key of a point -> values of an axis that the sweep gets.
        dropped: axes that the sweep loses.
        settings: any other key -> value.
    """

    sweep: str | None = None
    picks: dict[str, str] = field(default_factory=dict)
    choices: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    axes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    settings: dict[str, ParsedOverride] = field(default_factory=dict)


def classify_overrides(words: Iterable[ParsedOverride]) -> Request:
    """Sort the words; of two with the same key the last one holds.

    Raises:
        ConfigError: a key that does not exist, or a word that its key does not take.
    """
    request = Request()
    for word in words:
        _take(word, request)
    return request


def check_axis(key: str, value: Any, *, where: str) -> None:
    """Raise ConfigError unless points have this key and accept this value."""
    if any(isinstance(item, dict) for item in (value if isinstance(value, (list, tuple)) else [value])):
        raise ConfigError(f"{where}: {key}={value!r} must be a value or a list of values")
    if not _is_of_a_point(key):
        axes = (*POINT_GROUPS, *POINT_KEYS, DEVICES, *(f"{group}.KEY" for group in KNOB_GROUPS))
        raise UnknownNameError(f"axis in {where}", key, known=axes)


def check_option(key: str, value: Any) -> None:
    """Raises ConfigError where a group has a list in the place of an option's name."""
    if key in POINT_GROUPS and isinstance(value, (list, tuple)):
        names = ",".join(map(str, value))
        together = f", and one trial over all of them is {DEVICES}=[{names}]" if key == "device" else ""
        cure = f"; a trial of each is {key}={names}{together}" if value else ""
        raise ConfigError(f"{key}={shown(value)} must be one name{cure}")


def values_of_axis(value: Any) -> tuple[Any, ...]:
    """The values of an axis as a configuration gives them; a single one needs no list."""
    return value if isinstance(value, tuple) else (value,)


def _take(word: ParsedOverride, request: Request) -> None:
    if word.key.startswith(_GRID):
        _take_axis(word, request)
    elif word.removes:
        raise ConfigError(f"{word.text!r} cannot be taken away; only an axis of a sweep can: ~{_GRID}NAME")
    elif word.key == "sweep":
        if request.sweep is not None or len(word.values) != 1:
            raise ConfigError(f"{word.text!r} names another sweep; one command runs one sweep")
        request.sweep = str(word.value())
    elif word.key in SETTINGS_GROUPS:
        request.picks[word.key] = _single(word)
    elif _is_of_a_point(word.key):
        check_axis(word.key, word.values[0], where="the command line")
        for value in word.values:
            check_option(word.key, value)
        request.choices[word.key] = word.values
    else:
        _check_settable(word.key)
        _single(word)
        request.settings[word.key] = word


def _take_axis(word: ParsedOverride, request: Request) -> None:
    axis = word.key.removeprefix(_GRID)
    if word.removes:
        request.dropped.append(axis)
        return
    check_axis(axis, word.values[0], where="sweep.grid")
    request.axes[axis] = word.values if len(word.values) > 1 else values_of_axis(word.value())


def _single(word: ParsedOverride) -> Any:
    if len(word.values) != 1:
        axes = ", ".join((*POINT_GROUPS, *POINT_KEYS, DEVICES))
        raise ConfigError(f"{word.text!r}: {word.key} holds for the whole command; axes may be: {axes}")
    return word.value()


def _is_of_a_point(key: str) -> bool:
    group, dot, knob = key.partition(".")
    return group in KNOB_GROUPS and knob != "name" if dot else key in (*POINT_GROUPS, *POINT_KEYS, DEVICES)


def _check_settable(key: str) -> None:
    top = key.partition(".")[0]
    if top in POINT_GROUPS:
        raise ConfigError(
            f"{key!r} is a fact of conf/{top}/; write another file there and choose it: {top}=NAME"
        )
    if key == _SELLER or key.startswith(_PRICE_FACTS):
        raise ConfigError(
            f"{key!r} is a fact with a source; write it into another file in conf/prices/ and choose it: "
            f"prices=NAME"
        )
    if top == "hydra":
        raise ConfigError(_without_effect(key))
    settable = [*(field_.name for field_ in fields(RootConf)), *WORKLOAD_WORDS]
    if top not in settable:
        raise UnknownNameError("key", key, known=settable)


_INSTEAD = {
    "hydra.run": "outputs=DIR is the folder of results",
    "hydra.sweep": "outputs=DIR is the folder of results",
    "hydra.launcher": "executor=ray runs trials side by side, executor=inline one after the other",
    "hydra.sweeper": "search=adaptive chooses trials, search=grid runs all",
    "hydra.mode": "a list of values is always a grid",
}
"""Start of a key of Hydra's own settings -> what has that effect here."""


def _without_effect(key: str) -> str:
    instead = next((words for start, words in _INSTEAD.items() if f"{key}.".startswith(f"{start}.")), None)
    advice = instead or "of Hydra's own settings hydra.searchpath=[DIR] has one"
    return f"{key!r} has no effect; {advice}"
