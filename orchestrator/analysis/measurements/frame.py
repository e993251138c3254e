"""Records -> a table with one row per trial, for tables, figures and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.analysis.measurements.setting import Setting, build_setting, plain_setting
from orchestrator.analysis.metrics.cost import COSTS, bill_of_all, find_attempts, price_label
from orchestrator.analysis.metrics.definitions import METRICS, collect_metrics
from orchestrator.core.price import Price, find_marks
from orchestrator.core.result import TrialRecord, find_variables, find_versions, latest
from orchestrator.core.trial_spec import point_id, setting_id

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: tuple[str, ...] = (
    "trial_id",
    "setting_id",  # trial_id without seed and repeat: equal in all trials that are repeats of one another
    "point",  # trial_id without the repeat alone
    "provenance",
    "state",  # done, or the class of the failure
    *(field_.name for field_ in fields(Setting)),
    "seed",
    "repeat",
    "trains",
    "versions",
    "variables",
    "noise",
    "num_blocks",
    "held_out_samples",
    *METRICS,
    *COSTS,
    "trial_usd",  # of the trial with all its failed attempts
    "price",  # what it is priced as; empty where it has no price
    "price_marks",  # of that price: hypothetical, old, re-priced
)
"""The columns that every frame has; after them comes one per quality metric: `quality.accuracy`."""

_QUALITY = "quality."


def build_frame(records: Iterable[TrialRecord]) -> "pd.DataFrame":
    """One row per trial, of the record that stands, in the order in which trials first appear.

    A trial costs what its attempts did that are among the records.

    What was not measured is missing: a rehearsal has no times, and a failure no metrics.
    """
    import pandas as pd

    records = tuple(records)
    attempts = find_attempts(records)
    rows = [_build_row(record, attempts.get(trial, ())) for trial, record in latest(records).items()]
    names = dict.fromkeys(name for row in rows for name in row)
    return pd.DataFrame(rows, columns=[*COLUMNS, *(name for name in names if name not in COLUMNS)])


def quality_columns(frame: "pd.DataFrame") -> Mapping[str, str]:
    """Quality on held-out data: what the workload calls it -> its column."""
    return {name.removeprefix(_QUALITY): name for name in frame.columns if name not in COLUMNS}


def _build_row(record: TrialRecord, attempts: Sequence[TrialRecord]) -> dict[str, object]:
    spec, result = record.spec, record.result
    is_measured = record.provenance == "measured"
    quality = result.quality if result and is_measured else {}
    held_out = result.held_out_samples if result and is_measured else None
    numbers, bill = collect_metrics(record), bill_of_all(attempts) if attempts else None
    return {
        "trial_id": record.trial_id,
        "setting_id": setting_id(spec),
        "point": point_id(spec),
        "provenance": record.provenance,
        "state": record.failure.kind if record.failure else "done",
        **plain_setting(build_setting(spec)),
        "seed": spec.seed,
        "repeat": spec.repeat,
        "trains": record.placement.trains,
        "versions": _listed(find_versions(record)),
        "variables": _listed(find_variables(record)),
        "noise": describe_noise(record) if is_measured else "",
        "num_blocks": min(map(len, result.block_seconds), default=0) if result else 0,
        **({"held_out_samples": held_out} if held_out is not None else {}),
        **{name: numbers[name] for name in (*METRICS, *COSTS) if name in numbers},
        **({"trial_usd": bill.usd} if bill else {}),
        "price": price_label(record),
        "price_marks": ", ".join(find_marks(record.price)) if isinstance(record.price, Price) else "",
        **{f"{_QUALITY}{name}": value for name, value in quality.items()},
    }


def _listed(facts: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in facts.items())
