"""One run of the hardware test: its machine, its folder, and the orchestrator's commands in it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.core.device import Device

ROOT = Path(__file__).parents[2]
_USUAL = ("executor=inline", "tracking=none", "data.source=synthetic", "budget.confirm_usd=null")
_SECONDS = 900.0
_USUAL_VALUES = (None, 0, "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One expectation of the hardware, and whether it held."""

    stage: str
    passed: bool
    text: str


@dataclass(slots=True, kw_only=True)
class Session:
    """Machine under test, the folder of its records, and the verdicts so far.

    Attributes:
        device: the accelerator; a CPU for a dry run of this tool.
        name: name that the driver gives the device.
        is_quick: True for the least of every stage.
    """

    device: Device
    name: str
    folder: Path
    is_quick: bool = False
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def trainer(self) -> str:
        """Trainer that drives this kind of device in most stages."""
        return "torch_xla" if self.device.kind == "tpu" else "torch_ddp"

    @property
    def precisions(self) -> tuple[str, ...]:
        """Precisions that the trainer sets and that the device has units for."""
        if self.device.kind == "tpu":
            return ("fp32", "bf16")
        wanted = ("fp32", "tf32", "bf16", "fp16") if self.device.kind == "gpu" else ("fp32", "bf16")
        native = self.device.native_precisions
        return tuple(name for name in wanted if name in native or self.device.kind == "cpu")

    def check(self, stage: str, passed: bool, text: str) -> None:
        """Keep and print a verdict."""
        self.verdicts.append(Verdict(stage=stage, passed=bool(passed), text=text))
        sys.stdout.write(f"{'ok  ' if passed else 'FAIL'} {stage}: {text}\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Keep and print a figure."""
        self.notes.append(text)
        sys.stdout.write(f"     {text}\n")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command of the orchestrator as the leader of a process group."""
        command = [
            sys.executable,
            "-m",
            "orchestrator",
            *words,
            *_USUAL,
            f"outputs={self.folder / 'outputs'}",
        ]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "ORCHESTRATOR_CACHE": str(self.folder / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command, at most a quarter of an hour, and return its exit code and output."""
        process = self.start(*words)
        try:
            output, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill(process)
            output = f"{process.communicate()[0]}\nkilled after {_SECONDS:g} s"
        except BaseException:  # this tool is ended: a sweep that trained on would disturb what runs next
            self.kill(process)
            raise
        return process.returncode, output

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a command and all processes of its group."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def sweep(self, stage: str, *words: str, device: str | None = None) -> list[dict[str, Any]]:
        """Run a sweep that has the stage's name, check that it ends well, and return its results."""
        where = device or f"device={self.device.name}"
        code, output = self.run("+sweep=single", f"sweep.name={stage}", where, *words)
        records = self.records(stage)
        self.check(stage, code == 0, f"the sweep ends with exit code {code} and {len(records)} records")
        if code:
            sys.stdout.write(output[-3000:])
        for record in records:
            if record["failure"]:
                failure = record["failure"]
                self.check(stage, False, f"{build_label(record)}: {failure['kind']}: {failure['message']}")
        return [record for record in records if record["result"]]

    def records(self, sweep: str) -> list[dict[str, Any]]:
        """Return all records of a sweep as plain values."""
        ledger = self.folder / "outputs" / sweep / "records.jsonl"
        return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


def build_label(record: Mapping[str, Any]) -> str:
    """Name a record by what distinguishes it within a stage."""
    spec = record["spec"]
    differing = {**(spec.get("trainer_options") or {}), **(spec.get("memory_settings") or {})}
    method = (spec.get("workload_options") or {}).get("method")
    options = ", ".join(
        f"{name}={value}"
        for name, value in {"method": method, **differing}.items()
        if value not in _USUAL_VALUES
    )
    return " ".join(filter(None, [spec["workload"], spec["trainer"], spec["precision"], options]))


def step_seconds(record: Mapping[str, Any]) -> float:
    """Return the median time of a step over the blocks, each as long as on its slowest rank."""
    result = record["result"]
    blocks = sorted(max(ranks) for ranks in zip(*result["block_seconds"], strict=True))
    return blocks[len(blocks) // 2] / steps_per_block(result)


def steps_per_block(result: Mapping[str, Any]) -> int:
    """Return the number of steps in a block."""
    return int(result["steps_per_block"])


def timed_seconds(result: Mapping[str, Any]) -> float:
    """Return the seconds of all timed blocks."""
    return sum(max(ranks) for ranks in zip(*result["block_seconds"], strict=True))


def format_words(values: Sequence[str]) -> str:
    """Join the values of an axis as a command line takes them."""
    return ",".join(values)
