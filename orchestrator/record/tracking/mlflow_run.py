"""A record -> the names, tags and parameters of its MLflow run. Pure, and without MLflow."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise

from orchestrator.core.codec import to_plain
from orchestrator.core.host_usage import HostUsage
from orchestrator.core.memory_fit import NoFit
from orchestrator.core.price import Price
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import axes_of
from orchestrator.record.tracking.tracker import PAGE_NAME

MetricSample = tuple[str, float, int, int]
"""Name, value, milliseconds since the epoch, step."""


def system_metrics_of(seen: tuple[HostUsage, ...]) -> Iterator[MetricSample]:
    """Yield the samples of every look but the first; a share of the cores is that since the previous look."""
    for step, (before, now) in enumerate(pairwise(seen)):
        for name, value in _values_of(before, now):
            yield f"system/{name}", value, round(now.at * 1000), step


def _values_of(before: HostUsage, now: HostUsage) -> Iterator[tuple[str, float]]:
    seconds = now.cpu_seconds - before.cpu_seconds
    if seconds > 0:  # two looks within one tick of the kernel's clock tell nothing
        yield "cpu_utilization_percentage", 100 * (now.cpu_busy_seconds - before.cpu_busy_seconds) / seconds
    yield from _memory_of("system_memory", now.memory_bytes, total=now.memory_total_bytes)
    for index, gpu in enumerate(now.gpus):
        yield f"gpu_{index}_utilization_percentage", 100 * gpu.busy_fraction
        yield from _memory_of(f"gpu_{index}_memory", gpu.memory_bytes, total=gpu.memory_total_bytes)


def _memory_of(name: str, used: int, *, total: int) -> Iterator[tuple[str, float]]:
    yield f"{name}_usage_megabytes", used / 1e6
    yield f"{name}_usage_percentage", 100 * used / total


RECORD_NAME = "record.json"
"""The artifact of a run that holds its whole record."""

_LONGEST_TAG = 5000  # MLflow's own limit is 8000
_NOT_IN_A_KEY = re.compile(r"[^\w./:\- ]")  # MLflow refuses a run for one such character

RunKey = tuple[str, str, int]
"""Identity of an attempt: trial_id, number of the attempt, start in milliseconds since the epoch."""


def key_of(record: TrialRecord) -> RunKey:
    """Name an attempt; a trial whose count of attempts was lost differs by its start."""
    return record.trial_id, str(record.attempt), milliseconds_of(record.started_at)


def milliseconds_of(seconds: float) -> int:
    """MLflow's unit of time."""
    return round(seconds * 1000)


def name_of(record: TrialRecord) -> str:
    """Return the run's name, for people; a rehearsal says so first, and an id ends an ambiguous name."""
    spec = record.spec
    words = [
        spec.workload,
        spec.trainer,
        spec.device_label,
        spec.precision,
        f"x{spec.num_workers}",
        f"repeat {spec.repeat}",
        record.trial_id[:8],
    ]
    rehearsed = ["rehearsed"] if record.provenance == "rehearsed" else []
    return " ".join([*rehearsed, *words])


def tags_of(record: TrialRecord) -> dict[str, str]:
    """Return the tags that runs are searched by; environment under `environment.`, price under `price.`."""
    spec = record.spec
    tags = {
        "trial_id": record.trial_id,
        "attempt": str(record.attempt),
        "provenance": record.provenance,
        "workload": spec.workload,
        "trainer": spec.trainer,
        "device": spec.device_label,
        "precision": spec.precision,
        "data": spec.data,
        "workload_version": str(spec.workload_version),
        "trainer_version": str(spec.trainer_version),
        "replicas": str(spec.replicas),
        "process_model": spec.process_model,
        "host_cpu": spec.host_cpu or "",
        "node": ", ".join((record.placement.node, *record.placement.other_nodes)),
        "substitutions": "; ".join(record.placement.substitutions),
        "warnings": "; ".join(record.placement.warnings),
        "unchecked": "; ".join(record.result.unchecked if record.result else ()),
        "failure_kind": record.failure.kind if record.failure else "",
        "failure": record.failure.message if record.failure else "",
        "reused_from": record.reused_from or "",
        **{f"environment.{name}": value for name, value in record.environment.items()},
        **_price_of(record),
        **_told_by_compilers(record),
    }
    return {_key(name): value[:_LONGEST_TAG] for name, value in tags.items() if value}


def _price_of(record: TrialRecord) -> dict[str, str]:
    """Return every field that is known of the price, of each kind of nodes, or the reason for having none."""
    if not isinstance(record.price, Price):
        return {
            f"price.{name}": _format_value(value) for name, value in (to_plain(record.price) or {}).items()
        }
    rented = [to_plain(row) for row in record.price.rented]
    values = {name: [row[name] for row in rented if row[name] is not None] for name in rented[0]}
    del values["beside"]
    joined = {
        name: " + ".join(dict.fromkeys(map(_format_value, texts))) for name, texts in values.items() if texts
    }
    return {f"price.{name}": value for name, value in joined.items()}


def _told_by_compilers(record: TrialRecord) -> dict[str, str]:
    """Return tags of what was known of the step before it ran; no metrics, because it was not measured."""
    if isinstance(record.memory, NoFit):
        told = {"memory": f"not checked: {record.memory.reason}"}
    else:
        told = {"memory": record.memory.words(record.spec.device)} if record.memory else {}
    if record.compiled:
        told["compiled.step_seconds"] = _format_value(record.compiled.seconds)
        parts = to_plain(record.compiled).items()
        told |= {f"compiled.{name}": _format_value(value) for name, value in parts}
    return told


def params_of(record: TrialRecord) -> dict[str, str]:
    """Return the possible axes of a sweep under their command-line keys; numbers in plain digits.

    MLflow's pages compare runs by these: what is the same in nearly every run is a tag, and an option or a
    knob of the timing that has its default is left out.
    """
    spec = record.spec
    timing = {
        field_.name: getattr(spec.timing, field_.name)
        for field_ in fields(spec.timing)
        if getattr(spec.timing, field_.name) != field_.default
    }
    axes = {
        **axes_of(spec),
        **{f"workload.{name}": value for name, value in spec.workload_options.items()},
        **{f"trainer.{name}": value for name, value in spec.trainer_options.items()},
        **{f"measure.{name}": value for name, value in timing.items()},
    }
    return {_key(name): _format_value(value) for name, value in axes.items()}


def points_of(record: TrialRecord, metrics: Mapping[str, float]) -> Iterator[MetricSample]:
    """Yield every metric: numbers and curves of the trial at its end, and the use of its host over time."""
    ended_at = milliseconds_of(record.ended_at)
    yield from ((name, value, ended_at, step) for name, value, step in metrics_of(record, metrics))
    yield from system_metrics_of(record.host_use)


def metrics_of(record: TrialRecord, metrics: Mapping[str, float]) -> Iterator[tuple[str, float, int]]:
    """(name, value, step): the caller's metrics, then the curves: the loss, the quality on the way to a
    target, and the loss of each of several networks.
    """
    yield from ((_key(name), value, 0) for name, value in metrics.items())
    if record.result is None:
        return
    yield from (("loss", loss, step) for step, loss in record.result.losses)
    if record.result.pursuit:
        metric = _key(f"pursuit.{record.result.pursuit.target.metric}")
        yield from (
            (metric, evaluation.quality, evaluation.steps) for evaluation in record.result.pursuit.curve
        )
    networks = record.result.network_losses
    for network, losses in networks.items() if len(networks) > 1 else ():
        yield from ((f"loss.{network}", loss, step) for step, loss in losses)


def _key(name: str) -> str:
    return _NOT_IN_A_KEY.sub("_", name)


def _format_value(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


NOTE_TAG = "mlflow.note.content"
"""MLflow shows this tag as Markdown above everything else of a run."""

_LONGEST = 5000  # MLflow's own limit of a tag is 8000
_HOW_TO_OPEN = f"The page with all figures and tables: tab *Artifacts*, `{PAGE_NAME}`."


def note_of(markdown: str) -> str:
    """Return the headline without the tables, and the location of the page. The text is escaped and stays
    so.
    """
    headline, *_ = markdown.partition("\n### ")
    lines = headline.strip().splitlines()
    while len("\n".join(lines)) > _LONGEST:
        lines.pop()
    return "\n".join([*lines, "", _HOW_TO_OPEN])
