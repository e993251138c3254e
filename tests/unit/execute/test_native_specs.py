"""Descriptions of native jobs on their way to where trials run."""

import pickle
from dataclasses import replace

import pytest
from builders import placement, trial_spec
from native_runs import COST

from orchestrator.core.placement import Placement
from orchestrator.pipeline import run
from workloads.spec import NativeSpec

SPEC = NativeSpec(
    name="mine",
    version=1,
    costs={"torch": COST, "keras": COST},
    data="own:mine:1",
    train_samples=None,
    quality=None,
    epochs=None,
    accumulation_steps=1,
    unchecked=(),
)


def placements(count: int) -> list[Placement]:
    return [
        replace(
            placement(trial_spec(workload="mine", trainer=trainer, seed=seed)), trial_id=f"{trainer}-{seed}"
        )
        for trainer in ("torch_ddp", "tensorflow")
        for seed in range(count)
    ]


def test_trials_of_one_job_share_its_description_in_their_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray reads the descriptions anew for every trial: with one for each of thousands, that takes a while."""
    monkeypatch.setattr(run, "cached_workload", lambda *_: SPEC)
    few, many = (run.find_native_specs(placements(count)) for count in (2, 200))
    assert list(few["torch_ddp-0"].costs) == ["torch"]
    assert list(few["tensorflow-0"].costs) == ["keras"]
    assert len({id(spec) for spec in many.values()}) == 2
    assert len(pickle.dumps(many)) - len(pickle.dumps(few)) < 40 * (len(many) - len(few))
