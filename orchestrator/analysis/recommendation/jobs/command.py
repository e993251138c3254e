"""(a setting) -> the words of a command line that ask for it and for no other. Pure."""

import re
from collections.abc import Iterator, Mapping

from orchestrator.analysis.measurements.setting import timing_options
from orchestrator.core.printable import quoted_value
from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings, Option, TimingSpec

_PLAIN = re.compile(r"(?!(?i:true|false|null|nan|inf)\Z)(?:\d+(?![eE])[A-Za-z]|[A-Za-z_/.])[\w./:%+-]*")
"""Texts that Hydra reads as they are."""


def list_words(
    *,
    workload: str,
    workload_options: Mapping[str, Option],
    data_source: str,
    devices: tuple[str, ...],
    precision: str,
    trainer: str,
    trainer_options: Mapping[str, Option],
    num_workers: int,
    global_batch_size: int,
    steps: int,
    seed: int,
    timing: TimingSpec,
    num_hosts: int | None,
    memory_settings: MemorySettings = DEFAULT_MEMORY,
) -> tuple[str, ...]:
    """List `key=value` for everything that a sweep may vary, so that no axis of it is left open.

    Args:
        data_source: `own` of a native job, which no word asks for.
        devices: one, or where they are not alike that of every worker.
        num_hosts: machines of the workers; None: as few as possible.
    """
    one_kind = len(set(devices)) == 1
    return (
        f"workload={workload}",
        *(_of_script(workload_options) if workload == "script" else _options("workload", workload_options)),
        *(() if data_source == "own" else (f"data.source={data_source}",)),
        f"device={devices[0]}" if one_kind else f"devices={_value(devices)}",
        *((f"num_workers={num_workers}",) if one_kind else ()),
        *((f"num_hosts={num_hosts}",) if one_kind and num_hosts and num_hosts > 1 else ()),
        f"precision={precision}",
        f"trainer={trainer}",
        *_options("trainer", trainer_options),
        f"global_batch_size={global_batch_size}",
        *memory_settings.words.split(),
        f"steps={steps}",
        f"seed={seed}",
        *_options("measure", timing_options(timing)),
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
