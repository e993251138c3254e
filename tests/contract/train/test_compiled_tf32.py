"""Compiling under the switches of tf32, which torch's compiler reads too."""

import subprocess
import sys

import pytest
from repository import CHILD_PYTHONPATH

_CODE = """
import torch
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.trainers.torch_process import set_float32_rounding

set_float32_rounding(PRECISIONS["tf32"], torch.device("cuda"))
matrices = torch.rand(2, 16, 16)
compiled = torch.compile(lambda left, right: left @ right, mode="max-autotune")
torch.testing.assert_close(compiled(*matrices), matrices[0] @ matrices[1])
"""


@pytest.mark.more
def test_a_product_compiles_under_the_switches_of_tf32(tmp_path):
    """In a process of its own, because the switches hold for all of it."""
    pytest.importorskip("torch", reason="torch is not installed")
    environment = {"PYTHONPATH": CHILD_PYTHONPATH, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", _CODE], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
