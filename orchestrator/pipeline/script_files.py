"""Files that scripts read: which results are of others than those that are here, and which files count."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from orchestrator.core.placement import Outdated, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import point_id
from orchestrator.plan.cache import results_by_trial
from orchestrator.plan.requests import RequestedPoint
from orchestrator.plan.trial_specs import build_workload, unsuitable
from workloads.script.command import describe_in_plain_words, name_files
from workloads.script.file_hash import CHANGED, hash_like

_HashLike = Callable[[Path, str], str | None]


def find_outdated(
    requested: Sequence[RequestedPoint],
    records: Iterable[TrialRecord],
    *,
    are_here: bool,
    hash_file: _HashLike = hash_like,
) -> Mapping[str, Outdated]:
    """Find the trials of scripts with a newest result of other files than those that are here now.

    Args:
        requested: the trials of the sweep; further repeats of its points are looked at too.
        records: records of all sweeps.
        are_here: False where trials run on other machines, which may have files that are not here.
        hash_file: hashes a file as it was before; each file is hashed once.
    """
    specs = {
        point_id(request.trial): build_workload(one.point)
        for one in requested
        if one.point.workload == "script"
        for request in one.requests[:1]
    }
    if not specs:
        return {}
    results = results_by_trial(one for one in records if one.result and one.result.read_files)
    newest = {  # a measurement in the place of a rehearsal
        trial: record
        for kind in ("rehearsed", "measured")
        for (trial, kind_of_result), record in results.items()
        if kind_of_result == kind
    }
    describe_change = cache(
        lambda folder, name, earlier: _describe_change(folder, name, earlier, hash_file, are_here)
    )
    outdated = {}
    for trial, record in newest.items():
        script = specs.get(point_id(record.spec))
        if script is None or record.result is None:
            continue
        found = (describe_change(script.folder, name, was) for name, was in record.result.read_files.items())
        if changes := tuple(change for change in found if change):
            outdated[trial] = Outdated(changes=changes, until=record.ended_at)
    return outdated


def _describe_change(
    folder: str, name: str, earlier: str, hash_file: _HashLike, are_here: bool
) -> str | None:
    """Describe how a file differs from what a trial read; None: it is the same, or on another machine."""
    if earlier == CHANGED:
        return f"{name} changed while the trial read it"
    now = hash_file(Path(folder) / name, earlier)
    if now is None:
        return f"{name} is gone" if are_here else None
    return None if now == earlier else f"{name} has changed"


def list_files(
    points: Iterable[Point], plan: Plan, records: Iterable[TrialRecord]
) -> Mapping[str, tuple[str, ...]]:
    """Return the files that count of every command of a script: those that it names and those it read."""
    scripts = (point for point in points if point.workload == "script" and unsuitable(point) is None)
    specs = {spec.command: spec for spec in map(build_workload, scripts)}
    asked = {one.trial_id for one in plan.asked} if specs else set()
    files = {
        command: dict.fromkeys(name_files(describe_in_plain_words(command), Path(spec.folder)))
        for command, spec in specs.items()
    }
    for record in records if specs else ():
        command = str(record.spec.workload_options.get("command"))
        if record.trial_id in asked and record.result and command in files:
            files[command].update(dict.fromkeys(record.result.read_files))
    return {command: tuple(names) for command, names in files.items()}
