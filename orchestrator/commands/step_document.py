"""The time of a predicted step as JSON; `docs/reference/json.md` describes every key. Pure."""

from typing import Any

from orchestrator.core.estimate import Estimate, Refusal


def step_document(step: Estimate | Refusal) -> dict[str, Any]:
    """Make the keys of the time of a step."""
    found = None if isinstance(step, Refusal) else step
    return {
        "provenance": found.provenance if found else "refused",
        "step_seconds": found and found.spread,
        "source": found and found.source,
        "past_hits": (found and found.past) or None,
        "refusal": None if found else step,
    }
