"""Memory of a step's tensors on a GPU, counted without one."""

from pathlib import Path

import pytest
from own_jobs import torch_job

pytest.importorskip("torch")

from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.capture.torch_tensors import count
from workloads.origins import Origin
from workloads.registry import find_origin

LAYERS, UNITS = 6, 512
LAYER_BYTES = 4 * UNITS * UNITS


def count_bytes(folder: Path, optimizer: str) -> int:
    """Count six large layers and a tiny batch, so that the update takes most."""
    layers = f"*(nn.Linear({UNITS}, {UNITS}, bias=False) for _ in range({LAYERS}))"
    torch_job(
        folder,
        model=f"nn.Sequential(nn.Linear(4, {UNITS}), {layers}, nn.Linear({UNITS}, 2))",
        optimizer=f"torch.optim.{optimizer}",
    )
    request = CaptureRequest(
        workload="mine",
        workload_options={},
        precision="fp32",
        global_batch_size=1,
        origin=Origin(package=folder.name, folder=str(folder)),
    )
    return count(request)["tensor_bytes"]


@pytest.mark.parametrize("optimizer", ["Adam", "AdamW"])
def test_adam_on_a_gpu_holds_a_copy_of_all_weights_while_it_updates_them(
    tmp_path: Path, optimizer: str
) -> None:
    """PyTorch's own choice there is `foreach`, which takes the roots of all second moments at once."""
    counted = {
        how: count_bytes(tmp_path / f"job_{optimizer}_{number}", f"{optimizer}(model.parameters(), {how})")
        for number, how in enumerate(("lr=0.1", "foreach=True", "foreach=False", "fused=True"))
    }
    whole = LAYERS * LAYER_BYTES
    assert counted["lr=0.1"] == counted["foreach=True"] == pytest.approx(5 * whole, rel=0.05)
    one_by_one = [counted["foreach=False"], counted["fused=True"]]
    assert max(one_by_one) < counted["lr=0.1"] - whole + 3 * LAYER_BYTES


def test_an_update_without_such_a_copy_is_counted_without_one(tmp_path: Path) -> None:
    counted = count_bytes(tmp_path / "job_sgd", "SGD(model.parameters(), lr=0.1)")
    assert counted == pytest.approx(2 * LAYERS * LAYER_BYTES, rel=0.1)


def test_a_step_in_fp8_is_counted_as_in_bf16_because_it_keeps_the_same_values() -> None:
    requests = [
        CaptureRequest(
            workload="gpt2",
            workload_options={},
            precision=precision,
            global_batch_size=2,
            origin=find_origin("gpt2"),
        )
        for precision in ("bf16", "fp8")
    ]
    assert count(requests[0]) == count(requests[1])
