"""Run the micro-benchmark of a device in a trainer's Python, in a process of its own."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from orchestrator.core import codec
from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import PlacementError
from orchestrator.execute.machine.child_process import find_answer, link_code

_SECONDS = 300.0  # it takes ten; a cold installation on a slow disk takes a minute more


def run_benchmark(python: str, kind: DeviceKind, precisions: Sequence[str]) -> DeviceBenchmark:
    """Measure the first device of a kind.

    Args:
        python: interpreter with torch.

    Raises:
        PlacementError: the benchmark failed, or did not end in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        link_code(Path(folder) / "code")
        command = [python, "-P", "-m", "orchestrator.train.device_benchmark", kind, *precisions]
        variables = {**os.environ, "PYTHONPATH": str(Path(folder) / "code")}
        try:
            answer = json.loads(find_answer(command, variables, seconds=_SECONDS))
        except TimeoutError:
            raise PlacementError(f"the benchmark of the {kind} did not end in {_SECONDS:g} s") from None
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise PlacementError(f"the benchmark of the {kind} failed: {error}") from error
    if "error" in answer:
        raise PlacementError(f"the benchmark of the {kind} failed: {answer['error']}")
    return codec.from_plain(DeviceBenchmark, answer)
