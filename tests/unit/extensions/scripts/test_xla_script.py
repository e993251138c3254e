"""Scripts in torch_xla, whose devices cannot be asked whether they compute."""

import subprocess

import pytest
from repository import ROOT
from trainer_runs import python_of

LOOP = """
import torch
import torch_xla
import orchestrator_callback as callback


class Parts:
    first = {"order": "part", "steps": 1}
    said = []

    def next(self, said):
        self.said.append(said)
        return {"order": "part" if len(self.said) < 3 else "stop", "steps": 5}


callback._Alone = Parts
model = torch.nn.Linear(3, 3).to(torch_xla.device())
for x in callback.steps(torch.ones(64, 3) for _ in range(50)):
    model(x.to(torch_xla.device())).sum().backward()
    torch_xla.sync()
print([(said["samples"], said["data_wait_seconds"]) for said in Parts.said])
"""


@pytest.mark.more
def test_a_wait_for_a_batch_that_may_overlap_a_step_is_not_reported() -> None:
    python = python_of("torch_xla")
    if not python.exists():
        pytest.skip(f"{python} is absent; get it with: make xla")
    done = subprocess.run(
        [str(python), "-c", LOOP],
        env={
            "PYTHONPATH": str(ROOT / "orchestrator/extensions/scripts/callback"),
            "PJRT_DEVICE": "CPU",
            "PATH": "",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([(64, None), (320, None), (320, None)])
