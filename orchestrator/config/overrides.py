"""Words of the command line -> keys and values, in Hydra's grammar; and those that later commands repeat."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, QuotedString
from hydra.errors import HydraException

from orchestrator.config.places import PRIMARY_NAME, SEARCH_PATH
from orchestrator.config.workload_overrides import VARIABLES
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import Objective
from orchestrator.core.printable import without_secrets
from orchestrator.core.settings import TrainerSettings
from orchestrator.core.sweep import MOST_TRIALS

_GROUPS = ("executor", "cluster", "pools", "tracking", "record", "retry", "checkpoint", "prices", "budget")
_QUESTION = tuple(f"report.{field_.name}" for field_ in fields(Objective))
_KEYS = (
    "outputs",
    "data_folder",
    *_QUESTION,
    SEARCH_PATH,
    PRIMARY_NAME,
    *VARIABLES,
    *(f"trainer.{field_.name}" for field_ in fields(TrainerSettings)),
)


def repeated_words(overrides: Iterable[str]) -> tuple[str, ...]:
    """Return the words with the places of trials, code and records, the question, and the caps.

    Words that choose the measured points are not among them.
    """
    return tuple(word for word in overrides if _is_repeated(word))


def find_group(word: str) -> str:
    """Return the config group of a word: of `+prices.own={cpu: 1}` `prices`."""
    return word.lstrip("+").partition("=")[0].partition(".")[0]


def _is_repeated(word: str) -> bool:
    return find_group(word) in _GROUPS or word.lstrip("+").partition("=")[0] in _KEYS


_INT = r"-?(?:0|[1-9]\d{0,17})"
_INTS = rf"{_INT}(?:\s*,\s*{_INT})*"
_WHOLE_NUMBERS = re.compile(rf"\+{{0,2}}(?P<key>[\w.]+)=(?:\[\s*(?P<list>{_INTS})\s*\]|(?P<choices>{_INTS}))")

_MOST_CHARACTERS = 20_000  # Hydra's parser takes time with the square of them: 2 s here


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedOverride:
    """One override.

    Attributes:
        text: the word as typed.
        values: one, or several where Hydra would sweep over them; lists are tuples.
        removes: `~key` takes the key away.
    """

    text: str
    key: str
    values: tuple[Any, ...]
    removes: bool = False

    @property
    def value_text(self) -> str:
        """The value as typed."""
        return self.text.partition("=")[2]

    def value(self) -> Any:
        """The only value. Raises ConfigError if there are several."""
        if len(self.values) != 1:
            raise ConfigError(f"{self.text!r} gives {self.key} {len(self.values)} values; give one")
        return self.values[0]


OptionsOf = Callable[[str], Sequence[str]]
"""Group -> its options."""


def read(overrides: Sequence[str], *, options: OptionsOf) -> tuple[ParsedOverride, ...]:
    """Read the words of a command line.

    Args:
        options: names from which `glob(…)` selects.

    Raises:
        ConfigError: a word is not an override.
    """
    return tuple(_read(override, options) for override in overrides)


def _read(text: str, options: OptionsOf) -> ParsedOverride:
    numbers = _WHOLE_NUMBERS.fullmatch(text)
    if numbers:  # of which Hydra's parser would take 8 s for 10,000
        values = tuple(int(word) for word in (numbers["list"] or numbers["choices"]).split(","))
        return ParsedOverride(text=text, key=numbers["key"], values=(values,) if numbers["list"] else values)
    if len(text) > _MOST_CHARACTERS:
        raise ConfigError(
            f"{text[:30]!r}… has {len(text):,} characters, and a word at most {_MOST_CHARACTERS:,}; "
            "write its values into a file in conf/sweep/"
        )
    try:
        parsed = OverridesParser.create().parse_overrides([text])[0]
        values = _values(parsed, options)
    except HydraException as error:
        raise ConfigError(
            f"cannot read {without_secrets(text)!r}{_hint(text)}; write KEY=VALUE, KEY=A,B or +sweep=NAME"
        ) from error
    except RecursionError as error:
        raise ConfigError(f"cannot read {text[:30]!r}…: it nests too deeply; write a flat list") from error
    except ValueError as error:  # Python makes no number of more than 4,300 digits
        raise ConfigError(f"cannot read {text[:30]!r}…: {str(error).partition(';')[0]}") from error
    if parsed.package is not None or not parsed.key_or_group:
        raise ConfigError(f"cannot read {text!r}; write KEY=VALUE, KEY=A,B or +sweep=NAME")
    if not values:
        raise ConfigError(f"{text!r} matches nothing; known: {', '.join(options(parsed.key_or_group))}")
    if (len(values) > 1 or isinstance(values[0], tuple)) and "${" in text:
        raise ConfigError(f"{text!r}: an axis takes values, not interpolations")
    key = parsed.key_or_group.replace("/", ".")
    return ParsedOverride(text=text, key=key, values=values, removes=parsed.is_delete())


def _values(parsed: Override, options: OptionsOf) -> tuple[Any, ...]:
    value: Any = parsed.value()
    if isinstance(value, Glob):
        return tuple(value.filter(list(options(parsed.key_or_group))))
    if parsed.is_sweep_override():
        values = tuple(_frozen(value) for value in islice(parsed.sweep_iterator(), MOST_TRIALS + 1))
        if len(values) > MOST_TRIALS:
            raise ConfigError(
                f"{parsed.input_line!r} gives {parsed.key_or_group} more than {MOST_TRIALS:,} values; "
                f"a sweep has at most that many trials"
            )
        return values
    return (_frozen(value),)


def _frozen(value: Any) -> Any:
    if isinstance(value, QuotedString):
        return value.text
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _hint(text: str) -> str:
    if text.startswith("-"):
        return ", which is not an option"
    return "" if "=" in text else ", which has no '='"
