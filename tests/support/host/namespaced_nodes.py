"""Machines on this one: nodes of a Ray cluster with addresses, folders, processes and a Python of their own.

They live in namespaces of Linux. Their Python has Ray and the frameworks, and they see nothing of this
project's code, of the driver's folders and of its temporary files.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import sysconfig
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import orchestrator
import workloads
from orchestrator.core.pool import Pool
from orchestrator.execute.on_ray.pool_nodes import labels_of_pool

_SPACES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
_OUR_CODE = [Path(package.__path__[0]) for package in (orchestrator, workloads)]
_START_SECONDS = 180.0  # of a busy host


@dataclass(frozen=True, slots=True)
class Network:
    """The head's address, and name -> address of each machine."""

    head: str
    machines: Mapping[str, str]


def missing() -> str | None:
    """Explain why such machines are unavailable here; None where they are available."""
    for command in (("ip", "netns", "list"), (*_SPACES, "true")):
        if shutil.which(command[0]) is None:
            return f"{command[0]} is not installed"
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(command)}: {done.stderr.strip()}"
    try:
        with _network(1):
            return None
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"


@contextlib.contextmanager
def far_nodes(
    pool: Pool, patch: pytest.MonkeyPatch, *, hidden: Sequence[Path], count: int, variables: Mapping[str, str]
) -> Iterator[Any]:
    """A head that runs no trial, and so many machines with eight cores on its network.

    Args:
        hidden: folders that are empty there.
        variables: of the machines' environment.
    """
    from ray.cluster_utils import Cluster

    token = os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once in a process
    with contextlib.ExitStack() as held:
        here = Path(held.enter_context(_folder("/tmp")))
        net = held.enter_context(_network(count))
        patch.setenv("RAY_TMPDIR", str(here))
        head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": net.head}
        running = Cluster(initialize_head=True, head_node_args=head)
        held.callback(running.shutdown)
        python = _bare_python(Path(held.enter_context(_folder("/var/tmp"))))
        told = {**variables, "RAY_AUTH_TOKEN": token, "RAY_TMPDIR": str(here)}
        labels = ",".join(f"{key}={value}" for key, value in labels_of_pool(pool).items())
        for name, address in net.machines.items():
            start = (
                *(str(python), "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=8"),
                *(f"--address={running.address}", f"--node-ip-address={address}"),
                f"--labels={labels}",
            )
            held.enter_context(_machine(name, start, hidden=[here, *_OUR_CODE, *hidden], variables=told))
        _wait_for(running, count)
        yield running


def _folder(parent: str) -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)


@contextlib.contextmanager
def _network(count: int) -> Iterator[Network]:
    """A bridge of this host, and a network namespace for each machine with a cable to it."""
    mark = secrets.token_hex(3)
    bridge, names = f"br{mark}", [f"far-{mark}-{index}" for index in range(count)]
    first_three = f"10.213.{secrets.randbelow(250)}"
    with contextlib.ExitStack() as held:
        _ip("link", "add", bridge, "type", "bridge")
        held.callback(_ip, "link", "del", bridge)
        _ip("addr", "add", f"{first_three}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        machines = {}
        for index, name in enumerate(names):
            machines[name] = f"{first_three}.{index + 2}"
            _ip("netns", "add", name)
            held.callback(_ip, "netns", "del", name)
            cable = f"v{mark}{index}"
            _ip("link", "add", cable, "master", bridge, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", cable, "up")
            _ip("-n", name, "addr", "add", f"{machines[name]}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield Network(head=f"{first_three}.1", machines=machines)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _bare_python(folder: Path) -> Path:
    """An interpreter that finds all that is installed here, less what is linked to a folder."""
    venv.create(folder, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(packages, "installed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin/python"
    question = [python, "-P", "-c", "import orchestrator.core"]
    seen = subprocess.run(question, cwd="/", env={}, capture_output=True, check=False)
    if seen.returncode == 0:
        pytest.skip("this project is installed here as a copy, which machines would see")
    return python


@contextlib.contextmanager
def _machine(
    name: str, start: Sequence[str], *, hidden: Sequence[Path], variables: Mapping[str, str]
) -> Iterator[None]:
    """A node in its namespaces, which all of its processes leave together."""
    covered = "".join(f"mount -t tmpfs none {folder} && " for folder in hidden)
    home = hidden[0]
    script = f'{covered} mkdir -p {home}/home && cd {home}/home && exec "$@"'
    process = subprocess.Popen(
        ["ip", "netns", "exec", name, *_SPACES, "sh", "-c", script, "sh", *start],
        env={"PATH": os.environ["PATH"], "HOME": f"{home}/home", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _wait_for(running: Any, count: int) -> None:
    """Wait until the head has registered all machines."""
    until = time.monotonic() + _START_SECONDS
    while sum(item["Alive"] for item in running.global_state.node_table()) <= count:
        assert time.monotonic() < until, "a machine did not join"
        time.sleep(0.2)
