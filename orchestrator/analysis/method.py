"""How a sweep was measured and what each number means, in words."""

from collections.abc import Sequence

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.wording import counted, data_name, is_standin
from orchestrator.core.result import TrialRecord
from orchestrator.core.spec import TimingSpec

STANDIN = (
    "The data is a declared stand-in: a smaller set of real data, used in place of the full one. "
    "Its samples have the same shape, so times hold; loss and quality do not compare with the full set's."
)


def uses_standin(findings: Findings) -> bool:
    """Whether a measured result comes from a stand-in."""
    return any(is_standin(each.setting.data) for each in findings.measured)


def method_of(findings: Findings) -> tuple[tuple[str, str], ...]:
    """(term, definition) pairs, in reading order."""
    return (
        *(("protocol", _protocol_of(timing)) for timing in _timings_of(findings.records)),
        *(("data", _data_of(data)) for data in dict.fromkeys(each.spec.data for each in findings.records)),
        *_DEFINITIONS,
        *_quality_of(findings),
    )


_DEFINITIONS = (
    (
        "step ms",
        "median time of one optimizer step in the steady state; first step and warm-up are no part of it",
    ),
    ("samples/s", "global batch over that median: all devices together"),
    (
        "[low, high]",
        "of one trial: the order statistics of its blocks that hold the true median with at least 95% "
        "probability, whatever the distribution, or the whole range of fewer than six blocks; of several "
        "repeats: their whole range",
    ),
    ("first step s", "the first step alone, which traces and compiles"),
    ("set-up s", "from the worker's first line to the first step: framework, rendezvous, data, model"),
    ("final loss", "training loss of the last step over its global batch"),
    (
        "rehearsed",
        "the device was not there; a few steps of the same code ran on the CPU. It shows that the trial "
        "would start, and nothing of how fast it would be",
    ),
)


def _protocol_of(timing: TimingSpec) -> str:
    return (
        f"set-up; the first step apart; {counted(timing.warmup_steps, 'step')} of warm-up, up to "
        f"{timing.max_warmup_steps} while the framework still compiles; then {timing.min_blocks} to "
        f"{timing.max_blocks} blocks of {counted(timing.steps_per_block, 'step')}, until half the interval "
        f"of the median is within {timing.interval_fraction:.1%} of it. A block is timed from idle device to "
        "idle device, and its slowest rank counts. Each trial has processes of its own, repeats too; losses "
        "are read outside the timed part"
    )


def _timings_of(records: Sequence[TrialRecord]) -> tuple[TimingSpec, ...]:
    return tuple(dict.fromkeys(each.spec.timing for each in records if each.provenance == "measured"))


def _data_of(data: str) -> str:
    known = f"{data_name(data)} ({data})"
    return f"{known}. {STANDIN}" if is_standin(data) else known


def _quality_of(findings: Findings) -> tuple[tuple[str, str], ...]:
    names = dict.fromkeys(name for each in findings.measured for name in each.quality)
    return tuple((name, "on held-out data, after the last step") for name in names)
