"""A record -> the tags and metrics of its MLflow run. Pure, and without MLflow."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from orchestrator.core.codec import to_plain
from orchestrator.core.inventory import HostUsage
from orchestrator.core.memory_fit import NoFit
from orchestrator.core.price import Price, priced_as
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.axes import format_value
from orchestrator.extensions.mlflow_tracking.keys import LONGEST_TAG, keys_of_names

_LOSS_CURVE = "quality/training_loss"

MetricSample = tuple[str, float, int, int]
"""Name, value, milliseconds since the epoch, step."""


def list_system_metrics(seen: tuple[HostUsage, ...]) -> Iterator[MetricSample]:
    """Yield the samples of every look but the first; a share of the cores is that since the previous look."""
    for step, (before, now) in enumerate(pairwise(seen)):
        for name, value in _list_values(before, now):
            yield f"system/{name}", value, round(now.at * 1000), step


def _list_values(before: HostUsage, now: HostUsage) -> Iterator[tuple[str, float]]:
    seconds = now.cpu_seconds - before.cpu_seconds
    if seconds > 0:  # two looks within one tick of the kernel's clock tell nothing
        yield "cpu_utilization_percentage", 100 * (now.cpu_busy_seconds - before.cpu_busy_seconds) / seconds
    yield from _find_memory("system_memory", now.memory_bytes, total=now.memory_total_bytes)
    for index, gpu in enumerate(now.gpus):
        yield f"gpu_{index}_utilization_percentage", 100 * gpu.busy_fraction
        yield from _find_memory(f"gpu_{index}_memory", gpu.memory_bytes, total=gpu.memory_total_bytes)


def _find_memory(name: str, used: int, *, total: int) -> Iterator[tuple[str, float]]:
    yield f"{name}_usage_megabytes", used / 1e6
    yield f"{name}_usage_percentage", 100 * used / total


RECORD_NAME = "record.json"
"""The artifact of a run that holds its whole record."""

RunKey = tuple[str, str, int]
"""Identity of an attempt: trial_id, number of the attempt, start in milliseconds since the epoch."""


def build_run_key(record: TrialRecord) -> RunKey:
    """Name an attempt; its start distinguishes it if the count of attempts was lost."""
    return record.trial_id, str(record.attempt), compute_milliseconds(record.started_at)


def compute_milliseconds(seconds: float) -> int:
    """MLflow's unit of time."""
    return round(seconds * 1000)


def build_tags(record: TrialRecord) -> dict[str, str]:
    """Return the tags that runs are searched by; environment under `environment.`."""
    spec = record.spec
    tags = {
        "trial_id": record.trial_id,
        "attempt": str(record.attempt),
        "outcome": record.outcome,
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
        "mlflow.source.git.commit": record.environment.get("git_commit", ""),
        **{f"environment.{name}": value for name, value in record.environment.items()},
        **_find_price(record),
        **_build_compiler_tags(record),
    }
    keys = keys_of_names(name for name, value in tags.items() if value)
    return {key: tags[name][:LONGEST_TAG] for name, key in keys.items()}


def _find_price(record: TrialRecord) -> dict[str, str]:
    """Return the price in words, or the reason for having none."""
    if isinstance(record.price, Price):
        return {"price": priced_as(record.price)}
    return {"price": f"none: {record.price.reason}"} if record.price else {}


def _build_compiler_tags(record: TrialRecord) -> dict[str, str]:
    """Return tags of what was known of the step before it ran; no metrics, because it was not measured."""
    if isinstance(record.memory, NoFit):
        tags = {"memory": f"not checked: {record.memory.reason}"}
    else:
        tags = {"memory": record.memory.words(record.spec.device)} if record.memory else {}
    if record.compiled:
        tags["compiled.step_seconds"] = format_value(record.compiled.seconds)
        parts = to_plain(record.compiled).items()
        tags |= {f"compiled.{name}": format_value(value) for name, value in parts}
    return tags


def load_points(record: TrialRecord, metrics: Mapping[str, float]) -> Iterator[MetricSample]:
    """Yield every metric: numbers and curves of the trial at its end, and the use of its host over time."""
    ended_at = compute_milliseconds(record.ended_at)
    yield from ((name, value, ended_at, step) for name, value, step in list_metrics(record, metrics))
    yield from list_system_metrics(record.host_use)


def list_metrics(record: TrialRecord, metrics: Mapping[str, float]) -> Iterator[tuple[str, float, int]]:
    """(name, value, step): the caller's metrics, then the curves: the loss, the quality on the way to a
    target, and the loss of each of several networks. Each has a name that MLflow accepts.
    """
    named = [*((name, value, 0) for name, value in metrics.items()), *_list_curves(record)]
    keys = keys_of_names(name for name, *_ in named)
    yield from ((keys[name], value, step) for name, value, step in named)


def _list_curves(record: TrialRecord) -> Iterator[tuple[str, float, int]]:
    if record.result is None:
        return
    yield from ((_LOSS_CURVE, loss, step) for step, loss in record.result.losses)
    if record.result.pursuit:
        metric = f"quality/pursuit.{record.result.pursuit.target.metric}"
        yield from (
            (metric, evaluation.quality, evaluation.steps) for evaluation in record.result.pursuit.curve
        )
    networks = record.result.network_losses
    for network, losses in networks.items() if len(networks) > 1 else ():
        yield from ((f"{_LOSS_CURVE}.{network}", loss, step) for step, loss in losses)
