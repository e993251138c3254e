"""Errors of Hydra, OmegaConf and the YAML reader, shortened to one line."""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import yaml  # type: ignore[import-untyped]  # it has no type information
from hydra.errors import HydraException, MissingConfigException
from omegaconf import errors

from orchestrator.core.errors import ConfigError, UnknownNameError

_EXPECTED = (
    ("Dict[", "a mapping of keys to values"),
    ("Integer", "a whole number"),
    ("Float", "a number"),
    ("valid bool", "true or false"),
    ("ListConfig", "a list"),
    ("list", "a list"),
    ("dict", "a mapping of keys to values"),
    ("Optional", "a value other than null"),
    ("string", "a text"),
)
"""Words in a message of OmegaConf, and what it expected in ours."""


@contextmanager
def one_line_errors(*, file: str | None = None) -> Iterator[None]:
    """Turn every error of a configuration into a ConfigError of one line.

    Args:
        file: the config file that values come from, where the error itself does not know.
    """
    try:
        yield
    except yaml.YAMLError as error:
        raise ConfigError(_not_yaml(error)) from error
    except MissingConfigException as error:
        raise _missing_file(error) from error
    except HydraException as error:
        inner = error.__cause__ or error.__context__
        if not isinstance(inner, errors.OmegaConfBaseException):
            raise ConfigError(_first_line(error)) from error
        raise explained(inner, file=_find_file(error)) from error
    except errors.OmegaConfBaseException as error:
        raise explained(error, file=file) from error
    except RecursionError as error:
        raise ConfigError(
            "a defaults list in conf/ leads back to its own file, or a value nests too deeply; take it out"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"a file in conf/ is not UTF-8 text: {error}") from error
    except OSError as error:
        raise ConfigError(_unread(error)) from error
    except AttributeError as error:  # pyyaml 6: so `!!timestamp x` ends
        raise ConfigError("a value in conf/ is not what the !!tag before it says") from error
    except ValueError as error:
        raise ConfigError(_first_line(error)) from error


def explained(
    error: errors.OmegaConfBaseException, *, file: str | None = None, key: str | None = None
) -> ConfigError:
    """Describe what is wrong with a key or value.

    Args:
        file: the config file that it stands in, if that is known.
        key: the key as the user knows it, if that is not the error's own; it may hold the error's.
    """
    own_key = _build_key(error)
    key = own_key if key is None or own_key.startswith(f"{key}.") else key
    where = f"{file}: " if file else ""
    if not key:
        return ConfigError(f"{where}{_first_line(error)}")
    if isinstance(error, (errors.ConfigKeyError, errors.ConfigAttributeError)):
        return UnknownNameError(f"key of {file}:" if file else "key", key, known=_siblings(error, key))
    if isinstance(error, errors.MissingMandatoryValue):
        return ConfigError(f"{where}{key} has no value and no default; give one")
    if isinstance(error, errors.GrammarParseError):
        return ConfigError(
            f"{where}{key}={error.value!r} is not an interpolation; write ${{key}} or ${{oc.env:NAME}}"
        )
    if isinstance(error, errors.InterpolationResolutionError):
        return ConfigError(f"{where}{key} {_unresolved(str(error))}")
    if isinstance(error, errors.ValidationError):
        return ConfigError(f"{where}{key}={shown(error.value)} must be {_expected(str(error))}")
    return ConfigError(f"{where}{key}: {_first_line(error)}")


def _build_key(error: errors.OmegaConfBaseException) -> str:
    """The full key; an option composed beside others is named as if it were alone."""
    return re.sub(r"^orchestrator_options\.(\w+)\.\w+", r"\1", str(error.full_key or error.key or ""))


def _siblings(error: errors.OmegaConfBaseException, key: str) -> Iterable[str]:
    prefix = key.rpartition(".")[0]
    kind = error.object_type
    names = [field_.name for field_ in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    return [f"{prefix}.{name}" if prefix else name for name in names]


def _unresolved(message: str) -> str:
    variable = re.search(r"Environment variable '(\w+)' not found", message)
    if variable:
        return f"needs the environment variable {variable[1]!r}, which is not set"
    reference = re.search(r"Interpolation key '(.*)' not found", message)
    if reference:
        return f"takes its value from {reference[1]!r}, which does not exist"
    if "Recursive" in message:
        return "takes its value from itself; give it one"
    return f"cannot be resolved: {message.splitlines()[0]}"


def _expected(message: str) -> str:
    first = message.splitlines()[0]
    wanted = first.rpartition(" to ")[2] if "could not be converted" in first else first
    return next((words for sign, words in _EXPECTED if sign in wanted), f"something else ({first})")


def shown(value: object) -> str:
    """A value as it is written in YAML, on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return f"[{','.join(shown(item) for item in value)}]"
    return repr(value)[:80]


def _not_yaml(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # a character that YAML does not allow; the reader gives its position, not its line
        return f"{getattr(error, 'name', 'a file in conf/')}: not YAML: {_first_line(error)}"
    return f"{mark.name}, line {mark.line + 1}: not YAML: {getattr(error, 'problem', 'unreadable')}"


def _unread(error: OSError) -> str:
    if error.filename is None:  # OmegaConf tells so of a file that is one number
        return f"a file in conf/ holds no mapping of keys to values: {_first_line(error)}"
    return f"cannot read {error.filename!r}: {error.strerror}"


def _missing_file(error: MissingConfigException) -> ConfigError:
    group, _, name = str(error.missing_cfg_file).rpartition("/")
    file = _find_file(error) or "conf/"
    if group == "workload" and name.endswith("_schema"):
        workload = name.removesuffix("_schema")
        return ConfigError(
            f"{file} builds on workload {workload!r}, which has no spec.py; "
            f"workload_path=DIR finds DIR/{workload}/spec.py"
        )
    if not error.options:
        return ConfigError(f"{file} builds on {error.missing_cfg_file!r}, which does not exist")
    options = [option for option in error.options if not option.endswith("schema")]
    return UnknownNameError(f"{group} in {file}:", name, known=options)


def _find_file(error: Exception) -> str | None:
    """The config file in which Hydra found the error, as a user would look for it."""
    match = re.match(r"In '([^']+)'", str(error))
    return f"conf/{match[1]}.yaml" if match else None


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    first = text.splitlines()[0].rstrip(".")
    return first[0].lower() + first[1:]
