"""Fixed predictions in, what `predict` and `predict explain` show at 80 and 120 columns out.

A change is looked at, then kept with `UPDATE_GOLDEN=1 pytest tests/golden`.
"""

import io
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.breakdown_table import breakdown_sentence, breakdown_table
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.extensions.predictions.prediction_table import describe_basis, note_lines, prediction_table
from orchestrator.extensions.predictions.step_breakdown import StepBreakdown
from orchestrator.terminal.screen import Screen

FOLDER = Path(__file__).with_name("terminal")
WORDS = (
    "workload=resnet50",
    "workload.image_size=224",
    "workload.num_classes=1000",
    "device=g4dn.xlarge,cpu",
    "global_batch_size=64,512",
)
STEP = Estimate(low=0.3, likely=0.5, high=0.8333, source="resnet50 there in fp32 (a laboratory)")
PARTS = StepBreakdown(compute=0.3, memory=0.12, sequence=0.0, launch=0.004, host=0.001, exchange=0.0)


@pytest.mark.parametrize("width", [80, 120])
def test_predictions_look_as_they_did(width: int, tmp_path: Path) -> None:
    predictions = [
        replace(one, step=STEP, breakdown=PARTS) if isinstance(one.step, Estimate) else one
        for one in predict_points(WORDS, working_directory=tmp_path)
    ]
    out = io.StringIO()
    screen = Screen(Console(file=out, width=width, color_system=None))
    screen.table(prediction_table(predictions))
    for sentence in note_lines(predictions):
        screen.line(sentence)
    first = predictions[0]
    screen.table(breakdown_table(first, PARTS, has_bars=True))
    screen.line(breakdown_sentence(first))
    screen.line(describe_basis(first))
    found = "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
    golden = FOLDER / f"predict_{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()
