"""What the measured trials ran with; a value that differs between trials says whose it is."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.analysis.tables import Column, Table
from orchestrator.core.result import TrialRecord


def environment_table(records: Sequence[TrialRecord]) -> Table:
    """One row per fact; where trainers differ in it, each value is followed by its trainers."""
    trainers: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        for name, value in _facts_of(record):
            trainers[name][value][record.spec.trainer] = None
    return Table(
        title="Environment",
        note="",
        columns=(Column(header="what"), Column(header="value")),
        rows=tuple((name, _worded(values)) for name, values in trainers.items()),
    )


def _facts_of(record: TrialRecord) -> Iterator[tuple[str, str]]:
    measured = record.provenance == "measured" and record.result
    for device in measured.devices if measured else ():
        yield f"{record.spec.device}, as its driver says", device.name
    yield "processes x threads", f"{record.placement.num_processes} x {record.placement.threads}"
    yield from record.environment.items()


def _worded(values: Mapping[str, Iterable[str]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({', '.join(trainers)})" for value, trainers in values.items())
