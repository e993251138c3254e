"""What a host did during a trial -> the system metrics of its MLflow run, under MLflow's own names. Pure."""

from collections.abc import Iterator
from itertools import pairwise

from orchestrator.core.host_use import HostUse

Point = tuple[str, float, int, int]
"""Name, value, milliseconds since the epoch, step."""


def system_metrics_of(seen: tuple[HostUse, ...]) -> Iterator[Point]:
    """Of each look but the first: the share of the cores is that since the look before."""
    for step, (before, now) in enumerate(pairwise(seen)):
        for name, value in _values_of(before, now):
            yield f"system/{name}", value, round(now.at * 1000), step


def _values_of(before: HostUse, now: HostUse) -> Iterator[tuple[str, float]]:
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
