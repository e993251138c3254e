"""CPU time of commands from start to end, each a process of its own.

    python benchmarks/start_up.py [--runs 5] [--only status plan] [--code OTHER_CHECKOUT]

Prints the least and the median CPU seconds (user and system, with the processes that a command started and
waited for), the least seconds of the clock, and the most memory. The floors: `nothing` is `python -c pass`;
`hydra alone` composes the configuration of `+sweep=smoke` by Hydra's own function, with our schemas; `ray
alone` starts Ray, runs a task that does nothing, and stops it; `mlflow alone` creates a database with a run.
A run before the first one writes the compiled modules. `sweep again` finds the sweep that this run finished.
`first sweep` is a no-op trial on Ray with a new MLflow database, `first sweep inline` one without both. With
`--code` the commands of another checkout take turns with these, in the same run.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parent.parent
_PROGRAM = ("-m", "orchestrator")
_MANY = (*_PROGRAM, "plan", "+sweep=single", "device=cpu", "trainer=noop", "data.source=synthetic")
_NOOP = ("+sweep=smoke", "trainer=noop", "precision=fp32", "sweep.include=[]", "data.source=synthetic")
_HYDRA = """
from pathlib import Path
from hydra import compose, initialize_config_dir
from orchestrator.config import schema
schema.register()
schema.register_workload("mnist_cnn", ())
with initialize_config_dir(str(Path(schema.__file__).parents[2] / "conf"), version_base="1.3"):
    compose("config", ["+sweep=smoke"])
"""
_RAY = """
import ray
ray.init(address="local", include_dashboard=False)
ray.get(ray.remote(int).remote())
ray.shutdown()
"""
_MLFLOW = """
from mlflow import MlflowClient
client = MlflowClient("sqlite:///mlflow.db")
client.create_run(client.create_experiment("first"))
"""
_COMMANDS = {
    "nothing": ("-c", "pass"),
    "import hydra": ("-c", "import hydra"),
    "hydra alone": ("-c", _HYDRA),
    "ray alone": ("-c", _RAY),
    "mlflow alone": ("-c", _MLFLOW),
    "version": (*_PROGRAM, "--version"),
    "help": (*_PROGRAM, "--help"),
    "wrong verb": (*_PROGRAM, "plna"),
    "completion": (*_PROGRAM, "completion", "bash", "--line=orchestrator plan +sweep="),
    "completion of a key": (*_PROGRAM, "completion", "bash", "--line=orchestrator plan budget."),
    "status": (*_PROGRAM, "status", "+sweep=smoke"),
    "plan smoke": (*_PROGRAM, "plan", "+sweep=smoke"),
    "plan tpu_vs_gpu": (*_PROGRAM, "plan", "+sweep=tpu_vs_gpu"),
    "predict": (*_PROGRAM, "predict", "workload=vgg16", "device=t4,v100"),
    "predict advise": (*_PROGRAM, "predict", "advise", "+sweep=smoke"),
    "sweep again": (*_PROGRAM, *_NOOP, "executor=inline"),
    "first sweep": (*_PROGRAM, *_NOOP),
    "first sweep inline": (*_PROGRAM, *_NOOP, "executor=inline", "tracking=none"),
    "plan of 12,654": (*_MANY, "seed=range(0,12654)"),
    "plan of 100,000": (*_MANY, "seed=range(0,100000)"),
}
"""Name -> words after `python`."""
_IN_NEW_FOLDERS = {"mlflow alone", "first sweep", "first sweep inline"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One process."""

    cpu_seconds: float
    seconds: float
    mebibytes: float


def read_run(words: Sequence[str], folder: Path, *, code: Path, compiled: Path) -> Run:
    """Run a process in a folder; its exit code may be that of a wrong request.

    Args:
        compiled: folder of the compiled modules.
    """
    variables = {**os.environ, "PYTHONPATH": str(code), "PYTHONPYCACHEPREFIX": str(compiled)}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(child.pid, 0)
    return Run(
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        seconds=time.perf_counter() - began,
        mebibytes=usage.ru_maxrss / 1024,
    )


def _find_folder(command: str, parent: Path) -> Path:
    """Return the folder in which a command runs; some leave files that would change their next run."""
    return Path(tempfile.mkdtemp(dir=parent)) if command in _IN_NEW_FOLDERS else parent


def row_of(command: str, runs: Sequence[Run]) -> str:
    """Return one row of the table."""
    cpu = [run.cpu_seconds for run in runs]
    return (
        f"| {command} | {min(cpu):.2f} | {statistics.median(cpu):.2f} | "
        f"{min(run.seconds for run in runs):.2f} | {max(run.mebibytes for run in runs):.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=_COMMANDS, default=list(_COMMANDS))
    parser.add_argument("--code", type=Path, help="folder of another checkout")
    arguments = parser.parse_args()
    codes = {"": _HERE, **({", other": arguments.code.resolve()} if arguments.code else {})}
    print("| command | least CPU s | median CPU s | least s | most MiB |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for command in arguments.only:
            words = _COMMANDS[command]
            turns = [
                {
                    which: read_run(
                        words, _find_folder(command, Path(name)), code=code, compiled=Path(name) / "compiled"
                    )
                    for which, code in codes.items()
                }
                for _ in range(arguments.runs + 1)
            ][1:]
            for which in codes:
                print(row_of(f"{command}{which}", [turn[which] for turn in turns]), flush=True)


if __name__ == "__main__":
    main()
