"""Method of a sweep: how it was measured, with which versions, and the meaning of every number."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.analysis.comparison.compare import LEAST_REPEATS
from orchestrator.analysis.findings import Findings
from orchestrator.analysis.formatting import counted, data_name, describe_processes, is_standin
from orchestrator.analysis.measurements.noise import NOISY
from orchestrator.analysis.metrics.cost import COSTS
from orchestrator.analysis.metrics.definitions import METRICS
from orchestrator.analysis.table import Table, list_columns
from orchestrator.analysis.tables.measurements import SHOWN
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TimingSpec

STANDIN = (
    "The data is a declared stand-in: a smaller set of real data instead of the full one. Its "
    "samples have the same shape, so times are valid; loss and quality are not comparable with "
    "the full set's."
)


def describe_method(findings: Findings) -> tuple[tuple[str, str], ...]:
    """(term, definition) pairs, in reading order."""
    measured = [record for record in findings.records if record.provenance == "measured"]
    return (
        *(
            ("protocol", _describe_protocol(timing))
            for timing in dict.fromkeys(record.spec.timing for record in measured)
        ),
        *(
            ("data", _find_data(data))
            for data in dict.fromkeys(record.spec.data for record in findings.records)
        ),
        *((METRICS[key].header, METRICS[key].meaning) for key in SHOWN),
        *((COSTS[key].header, COSTS[key].meaning) for key in COSTS if findings.costs and COSTS[key].header),
        *_TERMS,
        *_find_quality(findings),
    )


_TERMS = (
    (
        "[low, high]",
        "of one trial: the order statistics of its blocks that hold the true median with at least 95% "
        "probability if blocks are independent, or the whole range of fewer than six blocks. Blocks of one "
        "process drift together, and timing stops as soon as the interval is tight, so it is narrower than "
        "it says: at an autocorrelation of 0.7 it holds the median about 70 times in 100. Of several "
        "repeats: their whole range",
    ),
    (
        "ratio",
        "geometric mean of the repeats of one over that of the other, with Welch's 95% interval of mean "
        "logarithms. It takes repeats for independent and each comparison for the only one. With fewer than "
        f"{LEAST_REPEATS} repeats on a side there is no verdict: too few repeats",
    ),
    ("noisy", NOISY),
    (
        "rehearsed",
        "dry run: the device was not available, and a few steps of the same code ran on the CPU. "
        "It shows that the trial would start, not how fast it would be",
    ),
    (
        "predicted",
        "the device was not available, and nothing was run for it. Published measurements, or "
        "own measurements of other trials, give the step time. docs/how_to/predict.md has the method "
        "and its errors",
    ),
    (
        "compiled",
        "the device was not available. Its own compiler estimated the cycles of the step's program; nothing "
        "was run. docs/how_to/compiled.md has the method and its errors",
    ),
)


_CALIBRATED = ". On a CPU matrices are multiplied after all else, for a calibrated peak"


def _describe_protocol(timing: TimingSpec) -> str:
    return (
        f"set-up; the first step apart; {counted(timing.warmup_steps, 'step')} of warm-up, up to "
        f"{timing.max_warmup_steps} while the framework still compiles; then {timing.min_blocks} to "
        f"{timing.max_blocks} blocks of {counted(timing.steps_per_block, 'step')}, on accelerators after "
        f"{timing.min_warmup_seconds:g} s of warm-up and in blocks of {timing.min_block_seconds:g} s or more "
        "where the steps suffice, and of fewer steps where these are slow, until half the interval "
        f"of the median is within {timing.interval_fraction:.1%} of it. A block is timed from idle device to "
        "idle device, and its slowest rank counts. Each trial has processes of its own, repeats too; losses "
        "are read outside the timed part"
        f"{_CALIBRATED if timing.calibrate else ''}"
    )


def _find_data(data: str) -> str:
    name = f"{data_name(data)} ({data})"
    return f"{name}. {STANDIN}" if is_standin(data) else name


def _find_quality(findings: Findings) -> tuple[tuple[str, str], ...]:
    names = dict.fromkeys(name for measurement in findings.measured for name in measurement.quality)
    return tuple((name, "on held-out data, after the last step") for name in names)


def environment_table(records: Sequence[TrialRecord]) -> Table:
    """One row per fact; where trainers differ in it, each value is followed by its trainers."""
    trainers: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        for name, value in _list_facts(record):
            trainers[name][value][record.spec.trainer] = None
    return Table(
        title="Environment",
        note="",
        columns=list_columns("what", "value"),
        rows=tuple((name, _worded(values)) for name, values in trainers.items()),
    )


def _list_facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    measured = record.provenance == "measured" and record.result
    parts = record.placement.of_ranks
    for part, device in zip(parts, measured.devices, strict=False) if measured else ():
        yield f"{part.device}, as its driver says", device.name
    yield "processes x threads", describe_processes(record.placement)
    yield from record.environment.items()


def _worded(values: Mapping[str, Iterable[str]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({', '.join(trainers)})" for value, trainers in values.items())
