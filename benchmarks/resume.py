"""Trials that the same command executes after a kill at 8 of 20: ours, hydra-ray-launcher, and Ray Tune.

Each runs twenty jobs; its driver gets SIGKILL when eight have finished, and it is run again: ours and Hydra's
by the same command, Tune by `Tuner.restore`, which is another call. Peers get an environment of their own.

    python benchmarks/resume.py [--json] [--peers PYTHON]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_JOBS, _KILLED_AT = 20, 8
_SETTLE_SECONDS = 15.0  # for what the killed driver leaves behind to end, or to go on
_LONGEST_SECONDS = 900.0
_PEERS = ("hydra-ray-launcher==1.2.*", "hydra-core==1.3.*", "ray[tune]==2.60.*")

_JOB = """
import os, time

def job(x):
    time.sleep(1.5)
    with open(os.environ["DONE"], "a") as done:
        done.write(f"{x}\\n")
"""
_HYDRA = """
import hydra
from job import job

@hydra.main(version_base=None, config_path=None, config_name=None)
def main(config):
    job(config.x)

if __name__ == "__main__":
    main()
"""
_TUNE = """
import os, sys
import ray
from ray import tune

def trainable(config):
    sys.path.insert(0, os.environ["HERE"])
    from job import job
    job(config["x"])
    return {"loss": float(config["x"])}

ray.init(address="local", include_dashboard=False, log_to_driver=False, _temp_dir=os.environ["RAY_FOLDER"])
place = os.path.join(os.environ["HERE"], "store")
limited = tune.with_resources(trainable, {"cpu": 1})
if os.path.exists(os.path.join(place, "jobs")):
    tuner = tune.Tuner.restore(
        os.path.join(place, "jobs"), limited, resume_errored=True, resume_unfinished=True
    )
else:
    tuner = tune.Tuner(
        limited,
        param_space={"x": tune.grid_search(list(range(int(os.environ["JOBS"]))))},
        run_config=tune.RunConfig(name="jobs", storage_path=place, verbose=0),
    )
tuner.fit()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Result of a second command.

    Attributes:
        finished_before: jobs that had finished when it began.
        executed: jobs that it executed.
        executed_twice: of those, the ones that had finished.
        finished: jobs that had finished in the end.
    """

    tool: str
    finished_before: int
    executed: int
    executed_twice: int
    finished: int


def resumed(
    tool: str,
    command: Sequence[str],
    folder: Path,
    *,
    done: Callable[[], list[str]],
    variables: Mapping[str, str],
) -> Resumed:
    """Run the command, kill it when enough jobs have finished, and run it again.

    Args:
        done: a line for each job that was executed to its end, in order.
    """
    driver = _started(command, folder, variables)
    _wait_until(lambda: len(done()) >= _KILLED_AT, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    time.sleep(_SETTLE_SECONDS)
    before = done()
    _started(command, folder, variables).wait(_LONGEST_SECONDS)
    after = done()[len(before) :]
    return Resumed(
        tool=tool,
        finished_before=len(set(before)),
        executed=len(after),
        executed_twice=len(set(before) & set(after)),
        finished=len({*before, *after}),
    )


def ours(folder: Path) -> Resumed:
    """Twenty trials of a trainer that computes nothing."""
    words = ("+sweep=smoke", "trainer=noop", "precision=fp32", "sweep.include=[]", "data.source=synthetic")
    command = (sys.executable, "-m", "orchestrator", *words, "tracking=none", f"seed=range({_JOBS})")
    ledger = folder / "outputs" / "smoke" / "records.jsonl"

    def done() -> list[str]:
        lines = ledger.read_text().splitlines(keepends=True) if ledger.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        return [record["trial_id"] for record in records if record["result"]]

    return resumed("orchestrator", command, folder, done=done, variables={})


def theirs(tool: str, python: str, folder: Path) -> Resumed:
    """Twenty jobs of a second and a half."""
    log = folder / "done"
    (folder / "job.py").write_text(_JOB)
    (folder / "app.py").write_text(_HYDRA if tool == "hydra-ray-launcher" else _TUNE)
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as ray_folder:
        words: tuple[str, ...] = ()
        if tool == "hydra-ray-launcher":
            own = ("address=local", "include_dashboard=false", f"_temp_dir={ray_folder}")
            settings = (f"+hydra.launcher.ray.init.{option}" for option in own)
            words = ("-m", f"+x=range(0,{_JOBS})", "hydra/launcher=ray", *settings)
        variables = {
            "DONE": str(log),
            "HERE": str(folder),
            "JOBS": str(_JOBS),
            "PYTHONPATH": str(folder),
            "RAY_FOLDER": ray_folder,
        }
        return resumed(
            tool,
            (python, "app.py", *words),
            folder,
            done=lambda: log.read_text().split() if log.exists() else [],
            variables=variables,
        )


def _started(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as told:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            stdout=told,
            stderr=told,
            stdin=subprocess.DEVNULL,
        )


def _wait_until(holds: Callable[[], bool], driver: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _LONGEST_SECONDS
    while not holds():
        if driver.poll() is not None or time.monotonic() > until:
            sys.exit(f"the command ended too soon: exit code {driver.poll()}")
        time.sleep(0.05)


def _peers_python(folder: Path) -> str:
    """Create an environment with the peers, which takes a minute or two, and return its Python."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *_PEERS], check=True)
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON list instead of a table")
    parser.add_argument("--peers", help="a Python that has the peers; without it an environment is made")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="resume-") as made:
        folder = Path(made)
        python = asked.peers or _peers_python(folder / "peers")
        found = []
        for tool in ("orchestrator", "hydra-ray-launcher", "Ray Tune, Tuner.restore"):
            place = folder / tool.partition(",")[0].replace(" ", "-")
            place.mkdir()
            found.append(ours(place) if tool == "orchestrator" else theirs(tool, python, place))
    if asked.json:
        print(json.dumps([asdict(result) for result in found]))
        return
    print(f"{'tool':<26}finished before  executed again  of those finished before  finished in the end")
    for result in found:
        print(
            f"{result.tool:<26}{result.finished_before:>15}  {result.executed:>14}  "
            f"{result.executed_twice:>24}  "
            f"{result.finished:>19}"
        )


if __name__ == "__main__":
    main()
