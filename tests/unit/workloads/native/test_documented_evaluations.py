"""Evaluations of the documented PyTorch jobs on a GPU's tensors without data: nothing stays on the CPU."""

import importlib

import pytest
import torch
from repository import ROOT
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorDeviceMismatchError, FakeTensorMode

from workloads.native.torch_step import replace_tensors

JOBS = ROOT / "docs/examples/jobs"


def evaluate_on_a_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> Exception | None:
    """Return what ended the evaluation: a tensor without data has no numbers, and a CPU build no CUDA."""
    monkeypatch.syspath_prepend(JOBS)
    module = importlib.import_module(f"{name}.torch_job")
    job, mode = module.build(module.Options()), FakeTensorMode(allow_non_fake_inputs=True)

    def on_a_gpu(tensor: Tensor) -> Tensor:
        with mode:
            return torch.empty_like(tensor, device="cuda")

    job.model.eval().requires_grad_(False)
    replace_tensors(job.model, [], on_a_gpu)
    try:
        with mode, torch.no_grad():
            job.evaluate(job.model)
    except Exception as error:  # noqa: BLE001  any is an answer
        return error
    return None


@pytest.mark.parametrize("name", ["digits", "tiny_bert"])
def test_no_documented_evaluation_mixes_devices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = evaluate_on_a_gpu(name, monkeypatch)
    assert not isinstance(ended, FakeTensorDeviceMismatchError), ended
    assert ended is None or "cuda" in str(ended).lower() or "_local_scalar" in str(ended)
