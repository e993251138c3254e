"""Settings with which a step takes less memory, in the order of what they cost in time. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from orchestrator.core.trial_spec import MemorySettings, Option
from orchestrator.plan.compatibility import find_reason_against_recomputation
from workloads.registry import cached_workload

_ADAPTERS: Mapping[str, Mapping[str, Option]] = {"causal_lm": {"method": "lora"}}
"""Workload -> options that train adapters beside frozen weights instead of all weights."""


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
    workload: str, options: Mapping[str, Option], settings: MemorySettings
) -> Iterator[LighterSettings]:
    """Yield settings that take less: blocks computed again, then adapters, then both."""
    adapters = _ADAPTERS.get(workload, {})
    for added in ({}, adapters) if {**options, **adapters} != options else ({},):
        chosen = {**options, **added}
        words = tuple(f"workload.{key}={value}" for key, value in added.items())
        if words:
            yield LighterSettings(words=" ".join(words), workload_options=chosen, memory_settings=settings)
        if settings.activation_checkpointing != "full" and not find_reason_against_recomputation(
            cached_workload(workload, chosen)
        ):
            yield LighterSettings(
                words=" ".join((*words, "activation_checkpointing=full")),
                workload_options=chosen,
                memory_settings=replace(settings, activation_checkpointing="full"),
            )
