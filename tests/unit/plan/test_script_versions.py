"""Trials of a script: another one where a file that its command names with the trial's values has changed."""

from pathlib import Path

import pytest
from plan_builders import point, torch_like

from orchestrator.plan.planner import build_full_training
from orchestrator.plan.trial_specs import build_trial, build_workload, data_key


def test_a_changed_file_of_one_batch_size_is_another_trial_of_that_batch_size_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    for size in (32, 64):
        (tmp_path / f"{size}.yaml").write_text("one")
    command = "python train.py --config={global_batch_size}.yaml"

    def versions() -> list[int]:
        found = []
        for size in (32, 64):
            options = {"command": command, "folder": str(tmp_path)}
            asked = point(workload="script", workload_options=options, global_batch_size=size)
            data_ids = {data_key(asked): "own:script:1"}
            trial = build_trial(asked, 0, trainer=torch_like(), data_ids=data_ids, host_cpu="x", num_hosts=1)
            found.append(trial.workload_version)
        return found

    before = versions()
    (tmp_path / "64.yaml").write_text("two")
    after = versions()
    assert after[0] == before[0]
    assert after[1] != before[1]


@pytest.mark.parametrize(
    ("options", "samples"), [({}, None), ({"steps_total": 10}, 320), ({"samples_total": 1000}, 1000)]
)
def test_a_full_training_has_the_samples_that_were_stated(
    options: dict[str, int], samples: int | None, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("")
    words = {"command": "python train.py", "folder": str(tmp_path), **options}
    asked = point(workload="script", workload_options=words, global_batch_size=32)
    training = build_full_training(build_workload(asked), asked, None)
    assert (training.samples, training.epochs, training.train_samples) == (samples, None, None)
