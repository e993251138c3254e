"""A plan as a JSON document; `docs/reference/json.md` describes its keys. Pure."""

from typing import Any

from orchestrator.core import codec
from orchestrator.core.memory_fit import TensorCount
from orchestrator.core.placement import Plan


def plan_document(plan: Plan) -> dict[str, Any]:
    """Make the document of `plan`: the stored plan, and what its answers about memory mean."""
    document: dict[str, Any] = codec.to_plain(plan)
    for trial_id, fit in plan.memory.items():
        document["memory"][trial_id] |= {
            "verdict": fit.verdict,
            "used_bytes": codec.to_plain(fit.used_bytes) if isinstance(fit, TensorCount) else None,
        }
    return document
