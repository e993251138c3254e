"""What a sweep says, in the sentences that a reader needs first."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from orchestrator.analysis.findings import Findings
from orchestrator.analysis.measured import Measured, Spread
from orchestrator.analysis.setting import DETAILS, varying
from orchestrator.analysis.wording import counted, data_name, label_of, spread

_IN_A_NAME = ("trainer", "precision", "device")


def headline_of(findings: Findings) -> tuple[str, ...]:
    """Counts, the fastest of each workload on each data, then what failed and what is not measured."""
    return (_counts_of(findings), *_fastest(findings.measured), *_caveats(findings))


def _counts_of(findings: Findings) -> str:
    passed = sum(each.failure is None for each in findings.rehearsed)
    counts = [
        f"{counted(findings.num_measured, 'trial')} measured",
        f"{passed:,} rehearsed",
        f"{len(findings.failed):,} failed",
        f"{counted(len(findings.plan.skipped), 'point')} skipped",
    ]
    missing = [f"{findings.num_missing:,} not run yet"] if findings.num_missing else []
    return ", ".join([*counts, *missing]) + "."


def _fastest(measured: Sequence[Measured]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for each in measured:
        groups[each.setting.workload, each.setting.data].append(each)
    for (workload, data), group in groups.items():
        yield f"Fastest on {workload} with {data_name(data)} data: {_fastest_of(group)}"


def _fastest_of(group: Sequence[Measured]) -> str:
    names = (*_IN_A_NAME, *varying([each.setting for each in group], DETAILS))
    first, *others = sorted(group, key=lambda each: -each.samples_per_second.median)
    close = [each for each in others if _overlap(first.samples_per_second, each.samples_per_second)]
    said = f"{label_of(first.setting, names)}, {spread(first.samples_per_second)} samples/s."
    if not close:
        return said
    rivals = " and ".join(label_of(each.setting, names) for each in close[:2])
    more = f" and {len(close) - 2} more" if len(close) > 2 else ""
    return f"{said} Its interval overlaps that of {rivals}{more}: no difference shown."


def _overlap(one: Spread, other: Spread) -> bool:
    return one.low <= other.high and other.low <= one.high


def _caveats(findings: Findings) -> Iterator[str]:
    if findings.failed:
        kinds = Counter(str(each.failure.kind) for each in findings.failed if each.failure)
        listed = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
        yield f"Failed: {listed}. Causes and logs are in the table of failures."
    if findings.rehearsed:
        devices = ", ".join(dict.fromkeys(each.spec.device for each in findings.rehearsed))
        yield f"Not measured, for they are not here: {devices}. Their code path ran on the CPU, untimed."
    if findings.num_others:
        others = counted(findings.num_others, "trial")
        yield f"Not shown: {others} of this sweep's ledger that this plan does not ask for."
