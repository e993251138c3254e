"""Results of scripts whose files are others now: found by their hashes, each file hashed once."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import record, train_result
from plan_builders import environment, here, planned, point, torch_like

from orchestrator.core.placement import Outdated, Placement, Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Point, Sweep
from orchestrator.pipeline.script_files import find_outdated, list_files, without_changed_files
from orchestrator.plan.cache import reuse_results, with_further_repeats
from orchestrator.plan.requests import RequestedPoint, request_trials
from orchestrator.plan.trial_specs import data_needed
from workloads.script.file_hash import CHANGED, hash_files, hash_like

TRAINERS: dict[str, Any] = {
    "trainers": {"script": torch_like(name="script", runs_scripts=True)},
    "start_methods": {"script": "auto"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "model.py").write_text("one")
    return tmp_path


def script(folder: Path, **changes: Any) -> Point:
    options = {"command": "python train.py", "folder": str(folder)}
    return point(workload="script", workload_options=options, trainer="script", **changes)


def planned_with(*points: Point, **changes: Any) -> Plan:
    told = {"train_samples": {}, "environments": {"script": environment()}, **TRAINERS, **changes}
    return planned(*points, **told)


def requested(*points: Point, repeats: int = 1) -> tuple[RequestedPoint, ...]:
    sweep = Sweep(name="example", points=points, repeats=repeats)
    return request_trials(
        sweep,
        inventory=here(),
        **TRAINERS,
        data_ids=dict.fromkeys(data_needed(sweep), "synthetic:1"),
    )


def read(placement: Placement, folder: Path, *names: str, **changes: Any) -> TrialRecord:
    hashes = {path.name: hashed for path, hashed in hash_files(folder / name for name in names).items()}
    return record(placement=placement, result=train_result(read_files=hashes), **changes)


def test_a_result_holds_while_its_files_are_the_same(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    ended = read(placement, folder, "train.py", "model.py")
    assert not find_outdated(requested(script(folder)), [ended], are_here=True)


@pytest.mark.parametrize(("content", "change"), [("two", "model.py has changed"), (None, "model.py is gone")])
def test_a_changed_file_makes_the_result_outdated_and_the_trial_is_measured_again(
    content: str | None, change: str, folder: Path
) -> None:
    (placement,) = planned_with(script(folder)).placements
    ended = read(placement, folder, "train.py", "model.py")
    (folder / "model.py").unlink()
    if content is not None:
        (folder / "model.py").write_text(content)
    outdated = find_outdated(requested(script(folder)), [ended], are_here=True)
    assert outdated == {placement.trial_id: Outdated(changes=(change,), until=ended.ended_at)}
    plan = planned_with(script(folder), records=[ended], outdated=outdated)
    assert (plan.placements, plan.cached) == ((placement,), ())
    assert plan.outdated == outdated


def test_a_file_that_only_another_machine_has_is_not_gone(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    ended = read(placement, folder, "model.py")
    (folder / "model.py").unlink()
    assert not find_outdated(requested(script(folder)), [ended], are_here=False)


def test_a_file_that_changed_while_it_was_read_never_holds(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    ended = record(placement=placement, result=train_result(read_files={"model.py": CHANGED}))
    (found,) = find_outdated(requested(script(folder)), [ended], are_here=True).values()
    assert found.changes == ("model.py changed while the trial read it",)


def test_results_of_changed_files_are_left_out_of_predictions(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    old = read(placement, folder, "model.py")
    of_network = record()
    assert without_changed_files([old, of_network], are_here=True) == (old, of_network)
    (folder / "model.py").write_text("two")
    new = read(placement, folder, "model.py", ended_at=old.ended_at + 1)
    assert without_changed_files([old, new, of_network], are_here=True) == (new, of_network)


def test_the_newest_result_decides(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    old = read(placement, folder, "model.py")
    (folder / "model.py").write_text("two")
    new = read(placement, folder, "model.py", ended_at=old.ended_at + 1)
    assert not find_outdated(requested(script(folder)), [new, old], are_here=True)


def test_a_result_without_files_holds_as_before(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    assert not find_outdated(requested(script(folder)), [record(placement=placement)], are_here=True)


def test_a_file_of_a_thousand_trials_is_hashed_once(folder: Path) -> None:
    points = tuple(script(folder, seed=seed) for seed in range(1_000))
    records = [read(one, folder, "train.py", "model.py") for one in planned_with(*points).placements]
    hashed: Counter[str] = Counter()

    def hash_file(path: Path, earlier: str) -> str | None:
        hashed[path.name] += 1
        return hash_like(path, earlier)

    assert not find_outdated(requested(*points), records, are_here=True, hash_file=hash_file)
    assert hashed == {"train.py": 1, "model.py": 1}


def test_a_further_repeat_of_before_the_change_does_not_count(folder: Path) -> None:
    placements = planned_with(script(folder), repeats=2).placements
    records = [read(placement, folder, "model.py") for placement in placements]
    (folder / "model.py").write_text("two")
    outdated = find_outdated(requested(script(folder)), records, are_here=True)
    assert set(outdated) == {placement.trial_id for placement in placements}
    plan = planned_with(script(folder), records=records, outdated=outdated)
    assert with_further_repeats(plan, records).cached == ()


def test_a_newer_result_of_another_sweep_with_other_files_is_copied(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    own = read(placement, folder, "model.py", sweep="own")
    (folder / "model.py").write_text("two")
    other = read(placement, folder, "model.py", sweep="other", ended_at=own.ended_at + 1)
    plan = planned_with(script(folder), records=[own, other])
    copied = reuse_results(plan.cached, {"own": [own], "other": [other]}, sweep="own")
    assert copied == (replace(other, sweep="own", reused_from="other"),)
    again = reuse_results(plan.cached, {"own": [own, *copied], "other": [other]}, sweep="own")
    assert again == ()


def test_files_of_the_command_and_files_that_were_read_count(folder: Path) -> None:
    (placement,) = planned_with(script(folder)).placements
    ended = read(placement, folder, "model.py", "train.py")
    plan = planned_with(script(folder), records=[ended])
    files = list_files([script(folder)], plan, [ended])
    assert files == {"python train.py": ("train.py", "model.py")}
