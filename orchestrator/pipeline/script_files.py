"""Files that scripts read: which results are of others than those that are here, and which files count."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
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
    scripts = {
        point_id(request.trial)
        for one in requested
        if one.point.workload == "script"
        for request in one.requests[:1]
    }
    if not scripts:
        return {}
    results = results_by_trial(one for one in records if one.result and one.result.read_files)
    newest = {  # a measurement in the place of a rehearsal
        trial: record
        for kind in ("rehearsed", "measured")
        for (trial, kind_of_result), record in results.items()
        if kind_of_result == kind
    }
    find_changes = _build_finder(hash_file, are_here=are_here)
    outdated = {}
    for trial, record in newest.items():
        if point_id(record.spec) in scripts and (changes := find_changes(record)):
            outdated[trial] = Outdated(changes=changes, until=record.ended_at)
    return outdated


def without_changed_files(records: Iterable[TrialRecord], *, are_here: bool) -> tuple[TrialRecord, ...]:
    """Leave out results of scripts that read other files than those that are here now."""
    find_changes = _build_finder(hash_like, are_here=are_here)
    return tuple(one for one in records if one.spec.workload != "script" or not find_changes(one))


def _build_finder(hash_file: _HashLike, *, are_here: bool) -> Callable[[TrialRecord], tuple[str, ...]]:
    """Return a function that describes how the files that a script's trial read differ from those of now."""
    describe = cache(partial(_describe_change, hash_file=hash_file, are_here=are_here))

    def find_changes(record: TrialRecord) -> tuple[str, ...]:
        folder = Path(str(record.spec.workload_options.get("folder") or ".")).expanduser().resolve()
        read = record.result.read_files if record.result else {}
        return tuple(filter(None, (describe(folder, name, earlier) for name, earlier in read.items())))

    return find_changes


def _describe_change(
    folder: Path, name: str, earlier: str, *, hash_file: _HashLike, are_here: bool
) -> str | None:
    """Describe how a file differs from what a trial read; None: it is the same, or on another machine."""
    if earlier == CHANGED:
        return f"{name} changed while the trial read it"
    now = hash_file(folder / name, earlier)
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
