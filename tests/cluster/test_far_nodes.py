"""Nodes with addresses of their own, that have never seen this project nor the driver's folders."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cluster_runs import POOL, cluster_context, one_process, run, two_workers
from namespaced_nodes import far_nodes, missing
from noop_trials import Unwatched
from process_tracking import family
from trainer_runs import python_of
from user_workload import SPEC, write

from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.execute.machine.agent import OWN_PYTHON
from workloads.origins import Origin

pytest.importorskip("ray", reason="Ray is not installed")

XLA = python_of("torch_xla").absolute()
TRAINERS = ["torch_ddp", "tensorflow", *(["torch_xla"] if XLA.exists() else [])]
ASKED = {
    **{
        f"{trainer} on {hosts}": two_workers(trainer, num_hosts=hosts)
        for trainer in TRAINERS
        for hosts in (1, 2)
    },
    "a workload of one's own": one_process("noop", workload="mine", steps=120),
}
REFUSED = {
    "data that is gone": one_process("noop", data="gone:1", steps=120),
    "photographs of one's own": one_process("noop", data="mine:1", steps=120),
}
TOLERANCE = 1e-4  # of a loss: float32 sums in another order
COMPARED_STEPS = 40
"""Training amplifies rounding: after 120 steps a loss of 1.4 differs by 0.005 on some hosts."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the driver, with its data, its records and its workloads."""
    return tmp_path_factory.mktemp("driver")


@pytest.fixture(scope="module")
def records(folder: Path) -> Mapping[str, TrialRecord]:
    """One sweep on two such nodes."""
    if why := missing():
        pytest.skip(f"no machines can be made of namespaces: {why}")
    write(folder, {"mine/spec.py": SPEC})
    told = cluster_context(
        folder,
        pythons=dict.fromkeys(("torch_ddp", "tensorflow", "torch_xla", "noop"), OWN_PYTHON),
        origins={"mine": Origin(package="mine", folder=str(folder / "mine"))},
        checkpointing=None,
        deadlines=Deadlines(resources_seconds=180.0, start_seconds=180.0, run_seconds=300.0),
    )
    data = {**told.data_paths, "gone:1": str(folder / "gone.npz"), "mine:1": str(_photographed(folder))}
    told = replace(told, data_paths=data)
    every = ASKED | REFUSED
    variables = {"ORCHESTRATOR_XLA_PYTHON": str(XLA)}
    with (
        pytest.MonkeyPatch.context() as patch,
        family(patch),
        far_nodes(POOL, patch, hidden=[folder], count=2, variables=variables) as running,
    ):
        found = run(running, told, *every.values(), watcher=Unwatched())
    return {
        name: record for name, asked in every.items() for record in found if record.trial_id == asked.trial_id
    }


def _photographed(folder: Path) -> Path:
    """A prepared file that names a folder of the driver's."""
    (folder / "eyes").mkdir()
    labels = np.zeros(3, np.uint8)
    path = folder / "eyes.npz"
    np.savez(
        path,
        x_train=labels,
        y_train=labels,
        x_test=labels,
        y_test=labels,
        folder=os.fsencode(folder / "eyes"),
    )
    return path


@pytest.mark.parametrize("name", ASKED)
def test_code_workload_and_data_reach_a_node_that_has_never_seen_them(records, name):
    assert records[name].failure is None
    assert records[name].result is not None


@pytest.mark.parametrize("name", ASKED)
def test_the_logs_come_back_to_the_driver(records, folder, name):
    asked = ASKED[name]
    ranks = {f"rank{rank}.log" for rank in range(asked.num_processes)}
    assert {path.name for path in (folder / records[name].log_path).iterdir()} == ranks


@pytest.mark.parametrize("trainer", TRAINERS)
def test_two_machines_learn_what_one_learns(records, trainer):
    one, two = (records[f"{trainer} on {hosts}"] for hosts in (1, 2))
    assert len({two.placement.node, *two.placement.other_nodes}) == 2
    assert [step for step, _ in two.result.losses] == [step for step, _ in one.result.losses]
    early, expected = (
        [loss for step, loss in record.result.losses if step <= COMPARED_STEPS] for record in (two, one)
    )
    assert len(early) > 5
    assert early == pytest.approx(expected, abs=TOLERANCE)


def test_data_that_a_node_cannot_have_is_shown_in_one_line(records, folder):
    gone, mine = (records[name].failure for name in REFUSED)
    assert {gone.kind, mine.kind} == {"environment"}
    assert gone.message == f"the driver's host did not send {folder / 'gone.npz'} (FileNotFoundError)"
    assert mine.message == (
        f"the photographs of eyes.npz are not here: {folder / 'eyes'}; "
        "a node must see the folder of data_folder=…"
    )
