"""AMD GPUs of this host, as a HIP build of torch lists them in a process of its own. Read-only."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

_KFD = Path("/dev/kfd")
"""Device file of AMD's driver; a host without it has no GPU that HIP could use."""
_TORCH_SECONDS = 120.0
_QUESTION = """
import torch
for index in range(torch.cuda.device_count() if torch.version.hip else 0):
    print(f"{index}, {index}, [N/A], {torch.cuda.get_device_name(index)}")
"""


def list_rocm_gpus(*, without: str, kfd: Path = _KFD) -> str:
    """Return a table of index, identifier, mode and name; empty without AMD's driver or a HIP build of torch.

    The identifier is the index, which HIP accepts wherever it accepts a UUID.

    Args:
        without: variable that must not hide GPUs from the answer.
    """
    return _ask_torch(without) if kfd.exists() else ""


@cache
def _ask_torch(without: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name != without}
    try:
        answer = subprocess.run(
            (sys.executable, "-P", "-c", _QUESTION),
            env=variables,
            capture_output=True,
            text=True,
            timeout=_TORCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return ""
    return answer.stdout if answer.returncode == 0 else ""
