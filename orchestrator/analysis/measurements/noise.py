"""A measurement -> what else was going on while it was timed, from what its record says. Pure."""

from orchestrator.analysis.formatting import number
from orchestrator.analysis.metrics.metric import step_seconds_of
from orchestrator.core.interval import median_interval
from orchestrator.core.result import TrainResult, TrialRecord

_MOST_LOAD = 1.25  # of its own cores: from there on others have at least a fifth of each
_LEAST_BUSY = 0.9  # of one core, for a trial on CPUs always has a step to compute
_MOST_WAITING = 0.1  # of the steps' time
_TICK_SECONDS = (
    0.02  # how far a rank's CPU time can be short where it is counted by 10 ms, user's and system's apart
)

NOISY = (
    f"the host's load average exceeded {_MOST_LOAD} times the trial's cores, or a trial on CPUs got "
    f"less than {_LEAST_BUSY} of one core while it was timed: other work was running"
)
"""Definition of a noisy trial, for readers."""


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
    return step_seconds_of(result) is None


def noise_of(record: TrialRecord) -> str:
    """Describe the disturbance of a result's timing with its numbers; empty where there was none or nothing
    was timed.

    The load average looks back one minute, so it may also show what ended just before the trial began.
    """
    result = record.result
    if result is None or not any(result.block_seconds) or not record.placement.trains:
        return ""
    if not any(map(sum, result.block_seconds)):
        return ""  # the clock saw no time pass
    cores = sum(group.cpus for group in record.placement.on_host(0))
    load, busy = max(result.load_average), _busy_cores_of(result)
    causes = [f"load {number(load)} on {cores} cores"] if load > _MOST_LOAD * cores else []
    if record.placement.kind == "cpu" and busy < _LEAST_BUSY:
        causes.append(f"{number(busy)} of a core used")
    return ", ".join(causes)


def _busy_cores_of(result: TrainResult) -> float:
    """Cores that all ranks together kept busy while blocks were timed; at most, for the clock is coarse."""
    timed: float = sum(max(ranks) for ranks in zip(*result.block_seconds, strict=True))
    return sum(seconds + _TICK_SECONDS for seconds in result.cpu_seconds) / timed
