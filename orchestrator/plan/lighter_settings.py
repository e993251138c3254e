"""Settings with which a step takes less memory, in the order of what they cost in time. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.core.trial_spec import MemorySettings, Option
from orchestrator.plan.compatibility import find_reason_against_recomputation, find_reason_against_shards
from workloads.registry import cached_workload
from workloads.spec import Workload

_METHODS: Mapping[str, tuple[str, tuple[Option, ...]]] = {"causal_lm": ("method", ("full", "lora", "qlora"))}
"""Workload -> an option of it, and its values: each takes less memory than those before it, and more time."""

_MORE_DEVICES = (2, 4, 8)
"""Devices that hosts have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LighterSettings:
    """Settings of a step that takes less memory.

    Attributes:
        words: what differs from the step that was asked for, in command-line form.
        workload_options: all options of the workload.
        num_workers: devices of a host.
    """

    words: str
    workload_options: Mapping[str, Option]
    memory_settings: MemorySettings
    num_workers: int


def list_lighter_settings(
    workload: str,
    options: Mapping[str, Option],
    settings: MemorySettings,
    *,
    num_workers: int = 1,
    replicas: int = 1,
    global_batch_size: int = 1,
) -> Iterator[LighterSettings]:
    """Yield settings that take less, the cheapest in time first.

    Shards, blocks computed again, both; more devices that divide the batch; then lighter methods.

    Args:
        replicas: replicas of one device.
    """
    unit = replicas * (settings.micro_batch_size or 1)
    wider = [
        count for count in _MORE_DEVICES if count > num_workers and not global_batch_size % (count * unit)
    ]
    tried: list[tuple[int, dict[str, Option]]] = [(count, {}) for count in (num_workers, *wider)]
    for count, added in (*tried, *((num_workers, one) for one in _list_lighter_methods(workload, options))):
        chosen = {**options, **added}
        words = [f"num_workers={count}"] if count > num_workers else []
        words += [f"workload.{key}={value}" for key, value in added.items()]
        try:
            spec = cached_workload(workload, chosen)
        except ValueError:  # its library is absent, or the description took too long: it cannot be proposed
            continue
        for changed in _list_changes(spec, settings, count * replicas, is_wider=count > num_workers):
            named = (*words, *(f"{key}={value}" for key, value in changed.items()))
            if named:
                yield LighterSettings(
                    words=" ".join(named),
                    workload_options=chosen,
                    memory_settings=replace(settings, **changed),
                    num_workers=count,
                )


def _list_lighter_methods(workload: str, options: Mapping[str, Option]) -> list[dict[str, Option]]:
    if workload not in _METHODS:
        return []
    key, values = _METHODS[workload]
    return [{key: value} for value in values[values.index(options.get(key, values[0])) + 1 :]]


def _list_changes(
    spec: Workload, settings: MemorySettings, replicas: int, *, is_wider: bool
) -> list[dict[str, Any]]:
    """List what a workload's trainer may set otherwise, the cheapest in time first; first of all nothing.

    Args:
        is_wider: on more devices, where nothing is computed again.
    """
    shards = replicas > 1 and settings.sharding != "full" and not find_reason_against_shards(spec)
    can_recompute = not is_wider and not find_reason_against_recomputation(spec)
    recomputes = can_recompute and settings.activation_checkpointing != "full"
    sharded = [{}, {"sharding": "full"}] if shards else [{}]
    recomputed = [{}, {"activation_checkpointing": "full"}] if recomputes else [{}]
    return [{**one, **other} for other in recomputed for one in sharded]
