"""(answers of a TPU's compiler about steps) -> estimates with their interval. Pure."""

from collections.abc import Mapping

from orchestrator.core.estimate import CompiledStep, Estimate, NotCompiled
from orchestrator.extensions.predictions.step_time.estimator import CompiledOf
from orchestrator.plan.memory import MemoryKey, memory_key

COMPILED_FACTOR = 1.5
"""Factor to both sides that is to hold 90 of 100 published steps of networks and generations that were held
out: printed by `benchmarks/compiled.py`, and kept in docs/findings/compiled_steps.md."""

_HOST_FACTOR = 3.0
"""The same for the host's part, which another machine than this one would do: an assumption."""


def estimates_from(steps: Mapping[MemoryKey, CompiledStep | NotCompiled]) -> CompiledOf:
    """Return the estimate of a trial with a compiled step."""
    found = {key: compiled_estimate(step) for key, step in steps.items() if isinstance(step, CompiledStep)}
    return lambda trial: found.get(memory_key(trial))


def compiled_estimate(step: CompiledStep) -> Estimate:
    """Return the time of a compiled step with its 90% interval."""
    device, host = step.on_device_seconds, step.host_seconds or 0.0
    return Estimate(
        low=max(device / COMPILED_FACTOR, host / _HOST_FACTOR),
        likely=step.seconds,
        high=max(device * COMPILED_FACTOR, host * _HOST_FACTOR),
        source=_name_source(step),
        provenance="compiled",
    )


def _name_source(step: CompiledStep) -> str:
    parts = {"cycles": step.device_seconds, "memory alone": step.unpriced_seconds, "links": step.link_seconds}
    described = ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in parts.items() if seconds > 0)
    if step.is_host_bound:
        waited = f"the device waits for the host, {1e3 * step.seconds:.3g} ms on this one"
        return f"compiled, {step.compiler}: {waited}; {described}"
    host = "" if step.host_seconds is not None else "; the host's part is not known"
    return f"compiled, {step.compiler}: {described}{host}"
