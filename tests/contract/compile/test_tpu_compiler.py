"""Real programs of both frameworks, compiled by Google's compiler for TPUs that are not here."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from repository import ROOT
from tpu_compiler import libtpu_python
from trainer_runs import python_of

from orchestrator.compile import step as steps
from orchestrator.compile.child import Limits
from orchestrator.compile.step import StepProgram
from orchestrator.config.loader import devices_named
from orchestrator.core.estimate import NOT_ASKED, CompiledStep, NotCompiled
from orchestrator.core.memory_fit import MemoryFit, NoFit
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.extensions.tpu_compiler import tpu_programs
from orchestrator.extensions.tpu_compiler.memory import TpuMemoryCompiler
from orchestrator.extensions.tpu_compiler.step_time import TpuStepCompiler
from orchestrator.extensions.tpu_compiler.tpu_programs import TpuPrograms
from orchestrator.train.capture.request import CaptureRequest

MIB = 2**20
DEVICES = devices_named(ROOT)


def step(trainer: str = "torch_xla", device: str = "tpu_v3_8", **changes: object) -> StepProgram:
    python = python_of(trainer).absolute()
    if not python.exists():
        pytest.skip(f"{python} is absent; get it with: make xla")
    request = CaptureRequest(workload="lenet5", workload_options={}, precision="bf16", global_batch_size=1024)
    return StepProgram(
        trainer=trainer,
        options={},
        environment=TrainerEnvironment(python=str(python), versions={}, missing=None),
        request=replace(request, **changes),
        device=DEVICES[device],
        num_workers=1,
    )


def programs(folder: Path, *, seconds: float = 120, gib: float = 6, captures: bool = True) -> TpuPrograms:
    return TpuPrograms(
        python=libtpu_python(),
        folder=folder,
        limits=Limits(seconds=seconds, memory_bytes=round(gib * 2**30)),
        code_sha256="code",
        captures=captures,
    )


def compiler(
    folder: Path, *, seconds: float = 120, gib: float = 6, compiles: bool = True
) -> TpuMemoryCompiler:
    return TpuMemoryCompiler(programs(folder, seconds=seconds, gib=gib, captures=compiles), compiles=compiles)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("compiled")


@pytest.mark.slow_cases("tensorflow")
@pytest.mark.parametrize("trainer", ["torch_xla", "tensorflow"])
@pytest.mark.more
def test_a_small_step_takes_some_megabytes_of_a_core(cache, trainer):
    fit = compiler(cache).find_fit(step(trainer))
    assert isinstance(fit, MemoryFit), fit
    assert 4 * MIB < fit.needed_bytes < 16 * MIB  # 128 images of 32 x 32 a core
    assert fit.granted_bytes == round(15.48 * 2**30)
    assert fit.compiler.startswith("libtpu 0.")


def test_a_slice_of_eight_cores_divides_the_batch(cache):
    asked = compiler(cache)
    one = asked.find_fit(step(device="tpu_v5e_1"))
    eight = asked.find_fit(step(device="tpu_v5e_8"))
    assert isinstance(one, MemoryFit)
    assert isinstance(eight, MemoryFit)
    assert 3 < one.needed_bytes / eight.needed_bytes < 9


@pytest.mark.slow_cases("tpu_v5p_8", "tpu_v7x_8", "tpu_v2_8")
@pytest.mark.parametrize("device", ["tpu_v2_8", "tpu_v4_8", "tpu_v5p_8", "tpu_v6e_1", "tpu_v7x_8"])
def test_every_generation_compiles(cache, device):
    fit = compiler(cache).find_fit(step(device=device))
    assert isinstance(fit, MemoryFit), fit
    assert fit.fits


@pytest.mark.slow
def test_both_sides_of_a_real_limit_and_the_next_smaller_batch(cache):
    """VGG-11 at 224 pixels on one v5e; the compiler itself refuses what is said not to fit."""
    options = {"image_size": 224, "num_classes": 1000}
    large = step(device="tpu_v5e_1", workload="vgg11", workload_options=options, global_batch_size=4096)
    fit = compiler(cache).find_fit(large)
    assert isinstance(fit, MemoryFit), fit
    assert not fit.fits
    assert fit.batch_that_fits
    small = replace(large, request=replace(large.request, global_batch_size=fit.batch_that_fits))
    assert compiler(cache).find_fit(small).fits  # type: ignore[union-attr]  # a NoFit fails here


def test_an_answer_is_kept_and_needs_no_process(cache, monkeypatch):
    first = compiler(cache).find_fit(step())
    asked = compiler(cache)
    assert asked.knows(step())
    for module in (tpu_programs, steps):
        monkeypatch.setattr(module, "ChildProcess", lambda *_, **__: pytest.fail("a process was started"))
    assert asked.find_fit(step()) == first


def test_without_compiling_only_earlier_answers_count(cache, tmp_path):
    known = compiler(cache).find_fit(step())
    assert compiler(cache, compiles=False).find_fit(step()) == known
    assert compiler(tmp_path, compiles=False).find_fit(step()) == NoFit(reason="not compiled yet")


@pytest.mark.more
def test_a_network_that_xla_cannot_take_is_one_line(tmp_path):
    fit = compiler(tmp_path).find_fit(step(workload="no_such_workload"))
    assert isinstance(fit, NoFit)
    assert fit.reason.startswith("the step of torch_xla cannot be traced: ")
    assert "no_such_workload" in fit.reason
    assert "\n" not in fit.reason


def test_a_deadline_and_a_memory_limit_are_classified_and_no_file_is_kept(tmp_path):
    late = compiler(tmp_path, seconds=0.2).find_fit(step())
    assert late == NoFit(reason="it took longer than 0.2 s; compile.seconds=0.4 gives it more")
    small = compiler(tmp_path, gib=0.05).find_fit(step())
    assert isinstance(small, NoFit)
    assert "of this host's memory" in small.reason
    assert list(tmp_path.iterdir()) == []


def test_a_compile_ends_with_the_process_that_asked_for_it(tmp_path):
    child = ROOT / "orchestrator/extensions/tpu_compiler/pjrt_child.py"
    asker = (
        "import json, subprocess, sys, time\n"
        f"command = [{libtpu_python()!r}, '-I', {str(child)!r}]\n"
        "child = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", asker], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.more
def test_it_leaves_no_file_behind_and_asks_no_metadata_server(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    assert isinstance(compiler(tmp_path / "compiled").find_fit(step()), MemoryFit)
    assert list((tmp_path / "temporary").iterdir()) == []


def timer(folder: Path, *, compiles: bool = True, seconds: float = 120) -> TpuStepCompiler:
    return TpuStepCompiler(programs(folder, seconds=seconds), compiles=compiles)


@pytest.mark.more
def test_a_small_step_waits_for_the_host_and_its_time_is_kept(cache, monkeypatch):
    compiled = timer(cache).predict_step(step(global_batch_size=1024))
    assert isinstance(compiled, CompiledStep), compiled
    assert 0.15e-3 < compiled.device_seconds < 0.35e-3  # 128 images a core: 0.23 ms without the sums
    assert 0 < compiled.unpriced_seconds < 0.1e-3
    assert 0 < compiled.link_seconds < 0.1e-3
    assert compiled.host_seconds is not None
    assert compiled.seconds == max(compiled.on_device_seconds, compiled.host_seconds)
    asked = timer(cache, compiles=False)
    assert asked.knows(step())
    for module in (tpu_programs, steps):
        monkeypatch.setattr(module, "ChildProcess", lambda *_, **__: pytest.fail("a process was started"))
    assert asked.predict_step(step()) == compiled


@pytest.mark.slow
def test_a_step_costs_more_cycles_with_more_samples_and_fewer_seconds_on_a_newer_tpu(tmp_path):
    cnn = step(workload="cifar10_cnn", device="tpu_v5e_1", global_batch_size=256)
    small, large, newer = (
        timer(tmp_path).predict_step(one)
        for one in (
            cnn,
            replace(cnn, request=replace(cnn.request, global_batch_size=512)),
            replace(cnn, device=DEVICES["tpu_v5p_8"]),
        )
    )
    assert isinstance(small, CompiledStep)
    assert isinstance(large, CompiledStep)
    assert isinstance(newer, CompiledStep)
    assert 1.5 < large.device_seconds / small.device_seconds < 2.5
    assert newer.on_device_seconds < small.on_device_seconds


@pytest.mark.slow
def test_a_loop_counts_once_for_every_trip(tmp_path):
    """Twice the tokens take about twice the cycles: the recurrent layers are loops over the tokens."""
    short, long = (
        timer(tmp_path).predict_step(
            step(workload="imdb_bilstm", workload_options={"sequence_length": length}, global_batch_size=512)
        )
        for length in (40, 80)
    )
    assert isinstance(short, CompiledStep)
    assert isinstance(long, CompiledStep)
    assert 1.6 < long.device_seconds / short.device_seconds < 2.4


@pytest.mark.slow
def test_a_short_step_of_tensorflow_has_no_time_because_its_host_is_not_known(cache):
    compiled = timer(cache).predict_step(step("tensorflow"))
    assert compiled == NotCompiled(
        reason="the host's part of tensorflow is not known, and the device's is below 5 ms"
    )


def test_a_time_that_was_not_asked_for_and_one_that_takes_too_long(cache):
    untimed = step(device="tpu_v4_8")
    assert isinstance(compiler(cache).find_fit(untimed), MemoryFit)
    assert timer(cache, compiles=False).predict_step(untimed) == NOT_ASKED
    late = timer(cache, seconds=0.2).predict_step(untimed)
    assert late == NotCompiled(reason="it took longer than 0.2 s; compile.seconds=0.4 gives it more")
    assert timer(cache, compiles=False).predict_step(untimed) == NOT_ASKED


def test_a_generation_without_a_known_unit_of_cycles_is_refused(cache):
    compiled = timer(cache).predict_step(step(device="tpu_v6e_1"))
    assert compiled == NotCompiled(reason="the unit of the TPU compiler's cycles is not known for tpu_v6e_1")


def planning(folder: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    """Return the command of a plan for a v5e of its own cache, and its variables."""
    variables = {
        **os.environ,
        "ORCHESTRATOR_LIBTPU_PYTHON": libtpu_python(),
        "ORCHESTRATOR_XLA_PYTHON": str(python_of("torch_xla").absolute()),
        "ORCHESTRATOR_CACHE": str(folder / "cache"),
        "PYTHONPATH": str(ROOT),
    }
    step()  # skips without torch_xla
    always = ("+sweep=single", "trainer=torch_xla", "device=tpu_v5e_1", "precision=bf16", "tracking=none")
    command = [sys.executable, "-m", "orchestrator", "plan", "--json", *always, "data.source=synthetic"]
    return [*command, *words], variables


@pytest.mark.slow
def test_an_interrupted_plan_ends_at_once_and_goes_on_where_it_was(tmp_path):
    command, variables = planning(
        tmp_path, "workload=cifar10_cnn", "global_batch_size=2048,4096", "compile=full"
    )
    with subprocess.Popen(
        command, env=variables, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 300
        while not [*tmp_path.glob("cache/compiled/*.cost.json")]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, errors = process.communicate(timeout=30)
        assert time.monotonic() - start < 10
        assert process.returncode != 0
        assert "Traceback" not in errors
    (first,) = tmp_path.glob("cache/compiled/*.cost.json")
    kept = first.stat().st_mtime_ns
    again = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert first.stat().st_mtime_ns == kept
    forecasts = json.loads(again.stdout)["forecasts"]
    assert [forecast["step"]["provenance"] for forecast in forecasts] == ["compiled", "compiled"]
    assert len([*tmp_path.glob("cache/compiled/*.cost.json")]) == 2


@pytest.mark.slow
def test_a_plan_skips_what_does_not_fit_and_shows_what_does(tmp_path):
    command, variables = planning(
        tmp_path, "workload=vgg11", "workload.image_size=224", "global_batch_size=8192,64"
    )
    told = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=True)
    plan = json.loads(told.stdout)
    (skipped,) = plan["skipped"]
    assert "tpu_v5e_1 grants a replica 15.75 GiB; global_batch_size=" in skipped["reason"]
    (placed,) = plan["placements"]
    assert plan["memory"][placed["trial_id"]]["needed_bytes"] < 15 * 2**30
