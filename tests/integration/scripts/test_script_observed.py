"""Scripts that are not changed, and observed."""

from pathlib import Path

import pytest
from script_runs import EVALUATE, PATIENT, records_in, require_without_evaluations, run

LOOP = (
    EVALUATE
    + """
import atexit, sys, torch

atexit.register(tell)
data = torch.utils.data.TensorDataset(torch.randn(1024, 20), torch.randint(2, (1024,)))
loader = torch.utils.data.DataLoader(data, int(sys.argv[1]), shuffle=True)
held_out = torch.utils.data.DataLoader(data, 500)
model = torch.nn.Linear(20, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
began = time.monotonic()
for _ in range(100):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        EXTRA
    for x, y in held_out:
        evaluate()
        break
"""
)


def measure(folder: Path, extra: str) -> str:
    """Measure a loop in batches of 64, with one more line behind the step; return what was printed."""
    (folder / "train.py").write_text(LOOP.replace("EXTRA", extra))
    command = "env OMP_NUM_THREADS=1 python train.py 64"
    return run(folder, command, "script.observe=true", "global_batch_size=64", *PATIENT).out


@pytest.mark.more
def test_a_loop_is_measured_without_its_evaluations_and_marked(tmp_path: Path) -> None:
    out = measure(tmp_path, "pass")
    [record] = records_in(tmp_path)
    assert record["result"], out
    assert record["result"]["samples"] == 100 * 64
    assert any("the script was observed" in text for text in record["result"]["unchecked"])
    require_without_evaluations(record["result"], tmp_path)


@pytest.mark.more
def test_a_loop_of_two_optimizers_is_refused(tmp_path: Path) -> None:
    out = measure(tmp_path, "torch.optim.SGD(model.parameters(), 0.1).step()")
    assert "two optimizers make steps" in out
