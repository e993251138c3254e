"""Outlines of sweeps, as a tracker is told of them."""

from pathlib import Path
from typing import Any

from orchestrator.core.result import TrialRecord
from orchestrator.record.tracking.tracker import SweepOutline


def outline(name: str, *records: TrialRecord, **changes: Any) -> SweepOutline:
    """A sweep of the trials of these records, for the fastest setting."""
    fields = {"goal": "fastest", "folder": Path("outputs") / name, **changes}
    return SweepOutline(name=name, specs=tuple(record.spec for record in records), **fields)
