"""(attempt) -> its seconds by phase, and the colour of each phase. Pure."""

from collections.abc import Mapping

from orchestrator.analysis.figures.palette import BLUE, GREEN, NEUTRAL, ORANGE, PURPLE, RED, TEAL, Colour
from orchestrator.analysis.metrics.cost import find_parts
from orchestrator.core.result import TrialRecord

_PARTS: Mapping[str, tuple[str, ...]] = {
    "launch": ("launch_seconds",),
    "first step": ("first_step_seconds",),
    "training": ("warmup_seconds", "training_seconds"),
    "evaluation": ("evaluation_seconds",),
}
"""Phase of a measurement -> the parts of its bill that it consists of."""

REST, FAILED, PRUNED, REHEARSED = "rest", "failed", "pruned", "rehearsed"
REHEARSAL_FAILED = "rehearsal failed"

COLOURS: Mapping[str, Colour] = {
    "launch": ORANGE,
    "first step": PURPLE,
    "training": BLUE,
    "evaluation": GREEN,
    REST: NEUTRAL,
    FAILED: RED,
    PRUNED: RED,
    REHEARSED: TEAL,
    REHEARSAL_FAILED: RED,
}
"""Phases in the order in which they follow each other."""

PHASES = (
    "Launch includes the set-up, the first step includes compilation, training includes the warm-up. "
    "Rest is the start and end of processes."
)


def split_phases(record: TrialRecord) -> dict[str, float]:
    """Divide the seconds of an attempt: measured phases and the rest of them, or one phase for all."""
    whole = max(0.0, record.ended_at - record.started_at)
    if record.provenance == "rehearsed":
        return {REHEARSAL_FAILED if record.failure else REHEARSED: whole}
    if record.result is None:
        return {PRUNED if record.is_pruned else FAILED: whole}
    parts = find_parts(record.result)
    phases = {phase: sum(parts[name] for name in names) for phase, names in _PARTS.items()}
    return {**phases, REST: max(0.0, whole - sum(phases.values()))}
