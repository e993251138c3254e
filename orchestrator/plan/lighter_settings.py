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


@dataclass(frozen=True, slots=True, kw_only=True)
class LighterSettings:
    """Settings of a step that takes less memory.

    Attributes:
        words: what differs from the step that was asked for, in command-line form.
        workload_options: all options of the workload.
    """

    words: str
    workload_options: Mapping[str, Option]
    memory_settings: MemorySettings


def list_lighter_settings(
    workload: str, options: Mapping[str, Option], settings: MemorySettings, *, replicas: int = 1
) -> Iterator[LighterSettings]:
    """Yield settings that take less: shards, blocks computed again, both; then these with lighter methods."""
    for added in ({}, *_list_lighter_methods(workload, options)):
        chosen = {**options, **added}
        words = tuple(f"workload.{key}={value}" for key, value in added.items())
        try:
            spec = cached_workload(workload, chosen)
        except ValueError:  # its library is absent, or the description took too long: it cannot be proposed
            continue
        for changed in _list_changes(spec, settings, replicas):
            named = (*words, *(f"{key}={value}" for key, value in changed.items()))
            if named:
                yield LighterSettings(
                    words=" ".join(named),
                    workload_options=chosen,
                    memory_settings=replace(settings, **changed),
                )


def _list_lighter_methods(workload: str, options: Mapping[str, Option]) -> list[dict[str, Option]]:
    if workload not in _METHODS:
        return []
    key, values = _METHODS[workload]
    return [{key: value} for value in values[values.index(options.get(key, values[0])) + 1 :]]


def _list_changes(spec: Workload, settings: MemorySettings, replicas: int) -> list[dict[str, Any]]:
    """List what a workload's trainer may set otherwise, the cheapest in time first; first of all nothing."""
    shards = replicas > 1 and settings.sharding != "full" and not find_reason_against_shards(spec)
    recomputes = settings.activation_checkpointing != "full" and not find_reason_against_recomputation(spec)
    sharded = [{}, {"sharding": "full"}] if shards else [{}]
    recomputed = [{}, {"activation_checkpointing": "full"}] if recomputes else [{}]
    return [{**one, **other} for other in recomputed for one in sharded]
