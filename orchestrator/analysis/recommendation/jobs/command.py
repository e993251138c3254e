"""(a setting) -> the words of a command line that ask for it and for no other. Pure."""

import re
from collections.abc import Iterator, Mapping

from orchestrator.core.printable import quoted_value
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import Option, TrialSpec

_PLAIN = re.compile(r"(?!(?i:true|false|null|nan|inf)\Z)(?:\d+(?![eE])[A-Za-z]|[A-Za-z_/.])[\w./:%+-]*")
"""Texts that Hydra reads as they are."""


def list_words(asked: Point | TrialSpec, *, data_source: str, devices: tuple[str, ...]) -> tuple[str, ...]:
    """List `key=value` for everything that a sweep may vary, so that no axis of it is left open.

    Args:
        data_source: `own` of a native job, which no word asks for.
        devices: device of every worker.
    """
    one_kind, options, num_hosts = len(set(devices)) == 1, asked.workload_options, asked.num_hosts
    return (
        f"workload={asked.workload}",
        *(_of_script(options) if asked.workload == "script" else _options("workload", options)),
        *(() if data_source == "own" else (f"data.source={data_source}",)),
        f"device={devices[0]}" if one_kind else f"devices={_value(devices)}",
        *((f"num_workers={asked.num_workers}",) if one_kind else ()),
        *((f"num_hosts={num_hosts}",) if one_kind and num_hosts and num_hosts > 1 else ()),
        f"precision={asked.precision}",
        f"trainer={asked.trainer}",
        *_options("trainer", asked.trainer_options),
        f"global_batch_size={asked.global_batch_size}",
        *asked.memory_settings.words.split(),
        f"steps={asked.steps}",
        f"seed={asked.seed}",
        *_options("measure", asked.timing.chosen),
    )


def _options(group: str, options: Mapping[str, Option]) -> Iterator[str]:
    return (f"{group}.{name}={_value(options[name])}" for name in sorted(options))


def _of_script(options: Mapping[str, Option]) -> Iterator[str]:
    """Write texts as they are typed: such a word is quoted where it is read, unless it looks quoted."""
    for name, value in sorted(options.items()):
        is_typed = isinstance(value, str) and value[:1] not in ("'", '"', "[")
        yield f"script.{name}={value if is_typed else _value(value)}"


def _value(value: Option) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(map(_value, value))}]"
    if value is None:
        return "null"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else quoted_value(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
