"""A measurement -> disturbances while it was timed, by the counters in its record. Pure."""

from collections.abc import Iterator
from statistics import median

from orchestrator.analysis.formatting import number
from orchestrator.analysis.metrics.metric import find_step_seconds
from orchestrator.core.deciding import MOST_APART
from orchestrator.core.interval import median_interval
from orchestrator.core.placement import Placement
from orchestrator.core.result import TrainResult, TrialRecord

_MOST_LOAD = 1.25  # of its own cores: from there on others have at least a fifth of each
_LEAST_BUSY = 0.9  # of one core, for a trial on CPUs always has a step to compute
_LEAST_SHARE = 0.01  # of a core, that a process surely had: a slowdown is finite
_MOST_WAITING = 0.1  # of the steps' time
_MOST_WITHOUT_CORE = 0.1  # of a block, or of the time of its threads if these were ready for longer
_TICK_SECONDS = (
    0.02  # how far a rank's CPU time can be short where it is counted by 10 ms, user's and system's apart
)

NOISY = (
    "other work was running. Its threads were ready but had no core for over a tenth of the time, because "
    "other processes used them. That was so in half of the timed blocks or more. "
    f"Or a trial on CPUs got less than {_LEAST_BUSY} of one core while it was timed. "
    "Where the kernel does not count such waits: "
    f"the host's load average exceeded {_MOST_LOAD} times the trial's cores"
)
"""Definition of a noisy trial, for readers."""


OUTLIER = (
    f"a quiet repeat over {MOST_APART} times slower than a noisy one, or that far from more than half of "
    "the other quiet repeats: it is measured again, not averaged"
)
"""Definition of an outlier among the repeats of a setting, for readers."""


WAITS = (
    "the input pipeline, not the device, set the pace: steps waited over a tenth of their time; a faster "
    "device does not shorten that"
)
"""Note on the rates of a noisy trial."""


def waits_for_data(record: TrialRecord) -> bool:
    """Return whether the steps of a measurement waited for data in more than a tenth of their time."""
    result = record.result
    if result is None or result.data_wait_seconds is None or record.provenance != "measured":
        return False
    return result.data_wait_seconds > _MOST_WAITING * sum(result.phase_seconds.values())


SHORT = (
    "timed blocks were shorter than measure.min_block_seconds, or the warm-up than "
    "measure.min_warmup_seconds: clocks of the device may still have changed; more steps lengthen both"
)
"""Note on the step times of a noisy trial."""


def is_timed_too_shortly(record: TrialRecord) -> bool:
    """Return whether a measurement on accelerators had too few steps for the wanted seconds.

    In a training to a target warm-up and blocks are counted in steps.
    """
    result, timing = record.result, record.spec.timing
    if result is None or record.provenance != "measured" or timing.target is not None:
        return False
    if not record.placement.trains or all(device.kind == "cpu" for device in result.devices):
        return False
    blocks = [max(seconds) for seconds in zip(*result.block_seconds, strict=True)]
    is_short = bool(blocks) and median_interval(blocks).median < timing.min_block_seconds
    return is_short or result.warmup_seconds < timing.min_warmup_seconds


IMPOSSIBLE = "no clock can have shown the times of its blocks: no rate is made of them"
"""Note on a measurement without a rate."""


def has_impossible_times(record: TrialRecord) -> bool:
    """Return whether blocks of a measurement lasted for less than any clock shows, or for ever."""
    result = record.result
    if result is None or record.provenance != "measured" or not any(result.block_seconds):
        return False
    return find_step_seconds(result) is None


def describe_noise(record: TrialRecord) -> str:
    """Describe the disturbance of a result's timing with its numbers; empty where there was none or nothing
    was timed.
    """
    return ", ".join(cause for cause, _ in _find_disturbances(record))


def estimate_slowdown(record: TrialRecord) -> float:
    """Estimate how many times slower a process of the trial was than alone on its host; 1: it was quiet."""
    return max((slowdown for _, slowdown in _find_disturbances(record)), default=1.0)


def _find_disturbances(record: TrialRecord) -> Iterator[tuple[str, float]]:
    """Yield each disturbance with the factor by which it slows a process.

    Waits for a core are of the timed blocks alone. The load average looks back one minute, so it counts only
    where there are none: it misses what began a moment ago, and shows what has just ended.
    """
    result = record.result
    if result is None or not any(result.block_seconds) or not record.placement.trains:
        return
    if not any(map(sum, result.block_seconds)):
        return  # the clock saw no time pass
    cores = sum(group.cpus for group in record.placement.on_host(0))
    load, busy = max(result.load_average), _compute_busy_cores(result)
    if result.core_wait_seconds and result.busy_core_seconds:
        waiting = median(_shares_without_core(result, record.placement))
        if waiting > _MOST_WITHOUT_CORE:
            yield f"{waiting:.0%} waiting for a core", 1 / max(1 - waiting, _LEAST_SHARE)
    elif load > _MOST_LOAD * cores:
        yield f"load {number(load)} on {cores} cores", load / cores
    if record.placement.kind == "cpu" and busy < _LEAST_BUSY:
        yield f"{number(busy)} of a core used", 1 / max(busy, _LEAST_SHARE)


def _shares_without_core(result: TrainResult, placement: Placement) -> Iterator[float]:
    """Yield for each block the share of the time that other processes kept threads from a core.

    Of the host where it is largest, for the ranks wait for each other. The threads of a framework wait for
    each other as well (TensorFlow and XLA on two idle cores for an eighth to a half of the time), so that
    waits count only up to the CPU time that others used on the same cores.
    """
    hosts = [group.host for group in placement.of_ranks]
    blocks = zip(*result.block_seconds, strict=True)
    cpu = zip(*result.block_cpu_seconds, strict=True)
    waits = zip(*result.core_wait_seconds, strict=True)
    busy = zip(*result.busy_core_seconds, strict=True)
    for seconds, cpu_seconds, wait_seconds, busy_seconds in zip(
        map(max, blocks), cpu, waits, busy, strict=True
    ):
        shares = [0.0]
        for host in set(hosts):
            ranks = [rank for rank, place in enumerate(hosts) if place == host]
            used = sum(cpu_seconds[rank] for rank in ranks)
            others = max(busy_seconds[rank] for rank in ranks) - used
            lost = min(sum(wait_seconds[rank] for rank in ranks), others)
            if lost > 0:
                shares.append(lost / max(seconds, used + lost))
        yield max(shares)


def _compute_busy_cores(result: TrainResult) -> float:
    """Cores that all ranks together kept busy while blocks were timed; at most, for the clock is coarse."""
    timed: float = sum(max(ranks) for ranks in zip(*result.block_seconds, strict=True))
    return sum(seconds + _TICK_SECONDS for seconds in result.cpu_seconds) / timed
