"""Records -> a table with one row per trial, for tables, figures and notebooks."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace

import pandas as pd

from orchestrator.analysis.setting import setting_of
from orchestrator.analysis.timing import metrics_of
from orchestrator.core.result import TrainResult, TrialRecord, latest
from orchestrator.core.spec import trial_id

COLUMNS: Mapping[str, str] = {
    "trial_id": "name of what was computed",
    "point": "trial_id without the repeat: equal in all repeats of one point",
    "provenance": "measured or rehearsed",
    "state": "done, or the class of the failure",
    "workload": "name of the training task",
    "device": "kind of device that was asked for",
    "trainer": "framework's data-parallel training",
    "precision": "label that was asked for",
    "num_workers": "devices of that kind",
    "global_batch_size": "samples per optimizer step, all replicas together",
    "steps": "optimizer steps that were asked for",
    "seed": "of initial weights and order of samples",
    "repeat": "0, 1, …: the same again in a process of its own",
    "options": "options of workload and trainer that differ from their defaults",
    "host": "model and core count of the host where the device is its CPU, else empty",
    "data": "id of the data set: real, stand-in or synthetic, with its hash or version",
    "num_blocks": "timed blocks",
    "step_seconds_median": "steady-state seconds per step: median over blocks, the slowest rank of each",
    "step_seconds_low": "lower end of that median's interval",
    "step_seconds_high": "upper end of that median's interval",
    "steady_samples_per_second": "all replicas together, from the median",
    "setup_seconds": "from the worker's first line to the first step: framework, rendezvous, data, model",
    "first_step_seconds": "the first step, which traces and compiles: no part of the steady state",
    "warmup_seconds": "the steps between the first and the steady state",
    "training_seconds": "from the first step to the last, loss readings included",
    "evaluation_seconds": "of the evaluation on held-out data",
    "final_loss": "training loss of the last step, over the global batch",
}
"""Name and meaning of the columns that every frame has; after them comes one per quality metric."""


def frame_of(records: Iterable[TrialRecord]) -> pd.DataFrame:
    """One row per trial, of the record that counts, in the order in which trials first appear.

    What was not measured is missing: a rehearsal has no times, and a failure no metrics.
    """
    rows = [_row_of(record) for record in latest(records).values()]
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(rows, columns=[*COLUMNS, *(name for name in names if name not in COLUMNS)])


def quality_metrics(frame: pd.DataFrame) -> tuple[str, ...]:
    """The columns that hold quality on held-out data."""
    return tuple(name for name in frame.columns if name not in COLUMNS)


def _row_of(record: TrialRecord) -> dict[str, object]:
    spec = record.spec
    return {
        "trial_id": record.trial_id,
        "point": trial_id(replace(spec, repeat=0)),
        "provenance": record.provenance,
        "state": record.failure.kind if record.failure else "done",
        **asdict(setting_of(spec)),
        "repeat": spec.repeat,
        "num_blocks": _num_blocks_of(record.result),
        **metrics_of(record),
    }


def _num_blocks_of(result: TrainResult | None) -> int:
    return min((len(blocks) for blocks in result.block_seconds), default=0) if result else 0
