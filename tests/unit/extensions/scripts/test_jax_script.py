"""Scripts in JAX, whose steps return before they are computed: all work is waited for."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback

LOOPS = """
import json, sys, time
import jax, jax.numpy as jnp
import orchestrator_callback as callback


class Parts:
    first = {"order": "part", "steps": 1}

    def __init__(self):
        self.said = []

    def next(self, said):
        self.said.append(said)
        return {"order": "part", "steps": 5} if len(self.said) < 5 else {"order": "stop"}


@jax.jit
def train(weights, x):
    for _ in range(10):
        weights = jnp.tanh(weights @ weights / len(weights))
    return weights + x.mean()


def load(seconds):
    for _ in range(100):
        time.sleep(seconds)
        yield jnp.ones((64, 3))


def measure(waits, keeps, size=300, seconds=0.0):
    parts = Parts()
    callback._Alone = lambda: parts
    callback._REPORTERS.clear()
    weights = jnp.ones((size, size))
    for x in callback.steps(load(seconds)):
        result = train(weights, x)
        if keeps:
            weights = result
        if waits:
            result.block_until_ready()
    return parts.said[1:]


assert callback._jax() is None, "no device is asked for before the script asks"
"""
ROUNDS = """
measure(True, True)  # compiles
loops = ((True, True), (False, True), (False, False))
print(json.dumps([[measure(*loop) for loop in loops] for _ in range(3)]))
"""
LOADING = """
measure(True, True, size=400)  # compiles
print(json.dumps([measure(waits, True, size=400, seconds=0.002) for waits in (True, False)]))
"""


def run(code: str) -> Any:
    """Run code behind `LOOPS`, and return what it prints."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    done = subprocess.run(
        [sys.executable, "-c", LOOPS + code],
        env={
            "PYTHONPATH": str(Path(callback.__file__).parent),
            "JAX_PLATFORMS": "cpu",
            "PATH": "",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_step_takes_as_long_with_and_without_waiting_for_it() -> None:
    rounds = run(ROUNDS)
    waited, asynchronous, dropped = (
        min(part["seconds"] for loops in rounds for part in loops[index]) for index in range(3)
    )
    assert 0.5 < asynchronous / waited < 2
    assert 0.5 < dropped / waited < 2
    part = rounds[0][0][0]
    assert (part["samples"], part["kind"], part["num_workers"]) == (5 * 64, "cpu", 1)


def test_reading_a_batch_while_the_step_before_is_computed_is_no_wait() -> None:
    waited, overlapped = (min(part["data_wait_seconds"] for part in parts) for parts in run(LOADING))
    assert waited >= 5 * 0.002
    assert overlapped < 0.5 * waited  # only a part's first batch is read while nothing is computed


@dataclass(frozen=True)
class Device:
    """A device as JAX shows it."""

    platform: str
    id: int = 0
    process_index: int = 0
    device_kind: str = "NVIDIA H100 80GB HBM3"

    def memory_stats(self) -> dict[str, int]:
        return {"peak_bytes_in_use": 2**30}


def jax_of(*held: Device, local: Device, precision: str | None = None) -> SimpleNamespace:
    """JAX with an array on each device that is held."""
    arrays = [SimpleNamespace(devices=lambda device=device: {device}) for device in held]
    return SimpleNamespace(
        live_arrays=lambda: arrays,
        local_devices=lambda: [local],
        process_index=lambda: 0,
        config=SimpleNamespace(jax_default_matmul_precision=precision),
    )


HOST, GPU, TPU = Device("cpu"), Device("gpu"), Device("tpu", device_kind="TPU v5 lite")


def test_a_script_that_holds_arrays_on_the_host_alone_does_not_train_on_its_gpu() -> None:
    assert callback._jax_facts(jax_of(HOST, local=GPU)) == {"kind": "cpu"}


@pytest.mark.parametrize(("precision", "is_rounded"), [(None, True), ("highest", False)])
def test_the_gpu_that_holds_arrays_is_shown_with_its_memory_and_rounding(
    precision: str | None, is_rounded: bool
) -> None:
    other = Device("gpu", id=7, process_index=1, device_kind="of another worker")
    facts = callback._jax_facts(jax_of(HOST, other, GPU, local=GPU, precision=precision))
    assert facts == {
        "kind": "gpu",
        "name": "NVIDIA H100 80GB HBM3",
        "peak_memory_bytes": 2**30,
        "is_rounded": is_rounded,
    }


def test_a_tpu_is_named_by_the_worker() -> None:
    facts = callback._jax_facts(jax_of(TPU, local=TPU))
    assert (facts["kind"], facts["name"]) == ("tpu", None)
