"""Memory that a worker frees, and takes again."""

import ctypes
import resource
import subprocess
import sys

import pytest

from orchestrator.core.errors import TrialError
from orchestrator.train.trainers import torch_process as heap

STEPS = 20
NUM_FLOATS = 10 * 2**20  # more bytes than glibc ever takes from its heap by default
PAGES_PER_STEP = 4 * NUM_FLOATS // resource.getpagesize()
CODE = f"""
import resource, sys, torch
from orchestrator.train.trainers.torch_process import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(5):
    torch.ones({NUM_FLOATS})
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({STEPS}):
    torch.ones({NUM_FLOATS})
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults_per_step(how: str) -> float:
    """Pages that were fetched from the system."""
    done = subprocess.run([sys.executable, "-c", CODE, how], check=True, capture_output=True, text=True)
    return int(done.stdout) / STEPS


@pytest.mark.more
def test_kept_memory_is_used_again_and_trimmed_memory_fetched_anew() -> None:
    assert faults_per_step("kept") < PAGES_PER_STEP / 2 < faults_per_step("trimmed")


def test_another_c_library_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    with pytest.raises(TrialError, match=r"^trainer\.heap=kept needs the C library glibc") as raised:
        heap.keep_freed_memory()
    assert raised.value.kind == "environment"
