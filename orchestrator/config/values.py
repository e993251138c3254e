"""Typed configuration -> plain values, and the other way: set, check, resolve."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from orchestrator.config.error_messages import explained, one_line_errors
from orchestrator.core.errors import ConfigError, UnknownNameError

MOST = 2**63 - 1
"""The largest whole number: tables and tracking servers hold 64 bits."""

_REFERENCE = re.compile(r"\$\{\s*\.*([\w.]+)\s*\}")

_RESOLVER = re.compile(r"\boc\.env\b|\$\{[^:}]*\$\{")
"""The resolver of the environment; or one with an interpolated name, which may be that one."""

_FROM_ENVIRONMENT = frozenset({"uri", "path", "python", "outputs", "data_folder"})
"""Last parts of the keys that may take a text from the environment: addresses, folders, programs."""

_SWITCH = {"False": "off", "True": "on"}
"""The text of YAML's value for an unquoted `off` or `on` -> the word that the user typed."""


def knows(config: DictConfig, key: str) -> bool:
    """Return whether the configuration has that dotted key, with or without a value."""
    top, _, rest = key.partition(".")
    if top not in list(config):  # the config itself says no for a key whose value is missing
        return False
    inner = OmegaConf.select(config, top) if rest else None
    return not rest or (isinstance(inner, DictConfig) and knows(inner, rest))


def assign(config: DictConfig, key: str, value: Any, *, text: str | None = None) -> None:
    """Set a dotted key. Raises ConfigError for a key that is not there or a value of another type.

    Args:
        text: the value as typed; a key that holds text gets it, so that a name `1e3` is no number.
    """
    if not knows(config, key):
        raise UnknownNameError("key", key, known=known_keys(config, key))
    try:
        OmegaConf.update(config, key, value, merge=False)
        if text and isinstance(value, int | float) and isinstance(OmegaConf.select(config, key), str):
            OmegaConf.update(config, key, text, merge=False)
    except OmegaConfBaseException as error:
        if isinstance(value, float) and value.is_integer():  # `1e6`, which YAML and Hydra read as a float
            return assign(config, key, int(value))
        raise explained(error, key=key) from error


def read_value(config: DictConfig, key: str) -> Any:
    """The value of a top-level key, resolved.

    Raises:
        ConfigError: a whole number of more than 64 bits, or a value that is no choice.
    """
    with one_line_errors():
        value = config[key]
    if isinstance(value, str):
        written = OmegaConf.to_container(config)
        assert isinstance(written, dict)
        _require_no_environment(config._get_full_key(key), value, written[key], config)
    _require_64_bits(key, value)
    choices = _list_choices(config).get(key)
    return _choose(key, value, choices) if choices else value


def known_keys(config: DictConfig, key: str) -> list[str]:
    """The keys beside that dotted key, as far as it leads."""
    path = ""
    for part in key.split(".")[:-1]:
        deeper = OmegaConf.select(config, f"{path}{part}")
        if not isinstance(deeper, DictConfig):
            break
        path = f"{path}{part}."
    level = OmegaConf.select(config, path[:-1]) if path else config
    return [f"{path}{name!s}" for name in level]


def check_schema(config: Any, *, group: str, option: str) -> None:
    """Raises ConfigError unless the option's file builds on a schema, which checks keys and types."""
    if isinstance(config, DictConfig) and dataclasses.is_dataclass(OmegaConf.get_type(config)):
        return
    schema = "NAME_schema" if group in ("workload", "trainer") else "schema"
    raise ConfigError(
        f"conf/{group}/{option}.yaml does not build on a schema; begin it with 'defaults: [{schema}, _self_]'"
    )


def convert_to_plain(config: DictConfig, *, group: str, file: str | None = None) -> dict[str, Any]:
    """A group's option, resolved, with tuples for lists.

    Args:
        file: file of the option, for messages.

    Raises:
        ConfigError: a missing value, an interpolation that leads nowhere, a value that is no choice, or a
            whole number of more than 64 bits.
    """
    plain = {str(key): frozen(item) for key, item in resolved(config, file=file).items()}
    _require_no_environment(group, plain, OmegaConf.to_container(config), config)
    for key, value in plain.items():
        _require_64_bits(f"{group}.{key}", value)
    for key, choices in _list_choices(config).items():
        plain[key] = _choose(f"{group}.{key}", plain[key], choices)
    return plain


def _list_choices(config: DictConfig) -> Mapping[str, Sequence[Any]]:
    """Return the keys with a closed set of values."""
    kind: Any = OmegaConf.get_type(config)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {one.name: one.metadata["choices"] for one in fields if "choices" in one.metadata}


def _choose(key: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return a value that is a choice, `on` for YAML's `True`. Raises UnknownNameError for another."""
    switch = _SWITCH.get(value)
    chosen = switch if switch in choices else value
    if chosen not in choices:
        raise UnknownNameError(key, str(value), known=choices)
    return chosen


def resolved(config: DictConfig, *, file: str | None = None) -> Any:
    """Plain containers without interpolations and with nothing missing."""
    with one_line_errors(file=file):
        return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def load_defaults(config: DictConfig) -> dict[str, Any]:
    """The defaults of a typed configuration's schema."""
    defaults = OmegaConf.to_container(OmegaConf.structured(OmegaConf.get_type(config)))
    assert isinstance(defaults, dict)
    return {str(key): frozen(item) for key, item in defaults.items()}


def frozen(value: Any) -> Any:
    """Tuples for lists, at any depth."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def _require_no_environment(key: str, value: Any, written: Any, config: DictConfig) -> None:
    """Raise ConfigError for text from the environment in a key that records, pages or folders show.

    Args:
        written: the value with its interpolations.
        config: where references start.
    """
    if isinstance(value, dict) and isinstance(written, dict):
        by_name = {str(name): inner for name, inner in written.items()}
        for name, inner in value.items():
            _require_no_environment(f"{key}.{name}", inner, by_name.get(str(name)), config)
    elif isinstance(value, (tuple, list)) and isinstance(written, list):
        for inner, text in zip(value, written, strict=False):
            _require_no_environment(key, inner, text, config)
    elif isinstance(value, str) and isinstance(written, str) and _reads_environment(written, config):
        if key.rpartition(".")[2] in _FROM_ENVIRONMENT:
            return
        raise ConfigError(
            f"{key} takes text from the environment, which records and pages would show; only these may: "
            f"{', '.join(sorted(_FROM_ENVIRONMENT))}"
        )


def _reads_environment(written: str, config: DictConfig, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether an interpolation, or one that it leads to, may have a resolver of the environment."""
    if _RESOLVER.search(written):
        return True
    found = (
        _written_at(reference, start)
        for reference in set(_REFERENCE.findall(written)) - seen
        for start in (config._get_root(), config)
    )
    seen |= frozenset(_REFERENCE.findall(written))
    return any(isinstance(text, str) and _reads_environment(text, config, seen) for text in found)


def _written_at(reference: str, start: Any) -> Any:
    """The value of a dotted key with its interpolations; None: there is none."""
    value = OmegaConf.to_container(start)
    for name in reference.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _require_64_bits(key: str, value: Any) -> None:
    """Raises ConfigError for a whole number that is larger or smaller, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _require_64_bits(f"a key of {key}", name)
            _require_64_bits(f"{key}.{name}", inner)
    elif isinstance(value, tuple):
        for inner in value:
            _require_64_bits(key, inner)
    elif isinstance(value, int) and not -MOST - 1 <= value <= MOST:
        too, most = ("large", f"most {MOST}") if value > 0 else ("small", f"least {-MOST - 1}")
        raise ConfigError(f"{key}={_shortened(value)} is too {too}; a whole number is at {most}")


def _shortened(value: int) -> str:
    """Return a number's digits, shortened; in hexadecimal where Python refuses decimal digits."""
    try:
        digits = str(value)
    except ValueError:
        digits = hex(value)
    return digits if len(digits) < 40 else f"{digits[:20]}…"


def references(config: DictConfig) -> set[str]:
    """The keys that its interpolations name."""
    return set(_references(OmegaConf.to_container(config)))


def _references(plain: Any) -> Iterator[str]:
    if isinstance(plain, str):
        yield from _REFERENCE.findall(plain)
    elif isinstance(plain, (dict, list)):
        for item in plain.values() if isinstance(plain, dict) else plain:
            yield from _references(item)
