"""Descriptions that MLflow shows as Markdown: of an experiment, a sweep's run and an attempt's run. Pure."""

import re

from orchestrator.core.price import Price, priced_as
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.data_sets import find_data
from orchestrator.record.tracking.tracker import PAGE_NAME

NOTE_TAG = "mlflow.note.content"
"""MLflow shows this tag as Markdown above everything else of a run or an experiment."""

EXPERIMENT_NOTE = """\
A sweep of `orchestrator`. The run with the tag `role = sweep` has the axes, the best numbers, the cost so
far and the report; the runs below it are the attempts of its trials.

Filters: `tags.outcome = 'measured'`, `'rehearsed'`, `'failed'` or `'pruned'`; `'predicted'` for settings of
which no trial ran; `tags.role = 'sweep'`. Sort by `time/samples_per_second` for a flat list of attempts.
"""

SWEEP_NOTE = "No report yet: the command writes it when it ends, and its headline replaces this text."

PREDICTED_NOTE = (
    "Predicted, not measured: no trial of this setting ran. The report says what the prediction stands on."
)

_LONGEST = 5000  # MLflow's own limit of a tag is 8000
_HOW_TO_OPEN = f"The page with all figures and tables: tab *Artifacts*, `{PAGE_NAME}`."
_FIRST_LINES = 15
_LAST_LINES = 15
_LONGEST_LINE = 140
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")


def find_note(markdown: str) -> str:
    """Return the headline without the tables, and the location of the page. The text is escaped and stays
    so.
    """
    headline, *_ = markdown.partition("\n### ")
    lines = headline.strip().splitlines()
    while len("\n".join(lines)) > _LONGEST:
        lines.pop()
    return "\n".join([*lines, "", _HOW_TO_OPEN])


def attempt_note(record: TrialRecord, *, log: str = "") -> str:
    """Describe one attempt: its computation, its data, its price, and the cause and log of a failure.

    Args:
        log: what the workers of a failed attempt wrote.
    """
    spec = record.spec
    lines = [
        f"{spec.workload} with {spec.trainer} on {spec.num_workers} x {spec.device_label}, {spec.precision}, "
        f"batch {spec.global_batch_size}, {spec.steps} steps, seed {spec.seed}, repeat {spec.repeat}.",
        f"Data: {find_data(record).name}.",
        *([f"Price: {priced_as(record.price)}."] if isinstance(record.price, Price) else []),
    ]
    if record.provenance == "rehearsed":
        substitutes = "; ".join(record.placement.substitutions)
        lines.insert(0, f"Rehearsed, not measured: only the code path ran ({substitutes}). It has no times.")
    if record.failure:
        lines.insert(0, f"{record.failure.kind}: {record.failure.message}")
    escaped = "\n\n".join(_escaped(line) for line in lines)[:_LONGEST]
    return f"{escaped}\n\n{_excerpt(log)}"[:_LONGEST] if log.strip() else escaped


def _excerpt(log: str) -> str:
    """Indent the first and the last lines of a log: no line of it can end an indented block."""
    lines = log.strip().splitlines()
    left_out = len(lines) - _FIRST_LINES - _LAST_LINES
    if left_out > 0:
        lines = [*lines[:_FIRST_LINES], f"… {left_out:,} lines …", *lines[-_LAST_LINES:]]
    block = "\n".join(f"    {line[:_LONGEST_LINE]}" for line in lines)
    return f"Log of the workers (all of it: tab *Artifacts*, `log`):\n\n{block}"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
