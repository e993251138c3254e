"""NVIDIA's driver at its boundary: an `nvidia-smi` of scripted GPUs, failures and delays."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGpu:
    """One GPU as nvidia-smi describes it; figures are texts, as it prints them with `nounits`."""

    name: str
    driver_version: str = "580.65.06"
    mig_mode: str = "[N/A]"
    power_limit: str = "350.00"
    clock: str = "1980"
    most_clock: str = "1980"
    utilization: str = "0"
    memory_used: str = "4"
    memory_total: str = "81559"
    persistence_mode: str = "Enabled"


_PROGRAM = """#!{python}
import json, sys, time
time.sleep({delay})
if {failure!r}:
    print({failure!r})
    sys.exit({exit_code})
(query,) = [word.partition("=")[2] for word in sys.argv[1:] if word.startswith("--query-gpu=")]
for row in json.loads({rows!r}):
    print(", ".join(row[field] for field in query.split(",")))
"""


def install_driver(
    folder: Path, *gpus: FakeGpu, failure: str = "", exit_code: int = 0, delay_seconds: float = 0.0
) -> Path:
    """Write an `nvidia-smi` into a folder for PATH.

    Args:
        failure: printed instead of a table, with `exit_code`.
    """
    program = folder / "nvidia-smi"
    rows = json.dumps([_build_row(index, gpu) for index, gpu in enumerate(gpus)])
    program.write_text(
        _PROGRAM.format(
            python=sys.executable, rows=rows, failure=failure, exit_code=exit_code, delay=delay_seconds
        )
    )
    program.chmod(0o755)
    return program


def _build_row(index: int, gpu: FakeGpu) -> dict[str, str]:
    facts = asdict(gpu)
    return {
        "index": str(index),
        "uuid": f"GPU-{index:08d}-0000",
        "name": facts["name"],
        "driver_version": facts["driver_version"],
        "mig.mode.current": facts["mig_mode"],
        "power.limit": facts["power_limit"],
        "clocks.sm": facts["clock"],
        "clocks.max.sm": facts["most_clock"],
        "utilization.gpu": facts["utilization"],
        "memory.used": facts["memory_used"],
        "memory.total": facts["memory_total"],
        "persistence_mode": facts["persistence_mode"],
    }
