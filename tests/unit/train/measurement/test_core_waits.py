"""Waits for a core: counters of threads, and a real process that takes half of a core from a timed block."""

import os
import subprocess
import sys
import time

import pytest
from builders import placement, record, train_result
from queue_trainer import ONE_PHASE, QueueTrainer

from orchestrator.analysis.measurements.noise import describe_noise
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.measurement.core_waits import read_core_waits, seconds_waited
from orchestrator.train.measurement.counters import no_meter
from orchestrator.train.measurement.loop import time_steps

STEP_SECONDS, STEPS_PER_BLOCK, NUM_BLOCKS, STARTS_AT = 0.01, 10, 8, 1 + 1 + 2 * 10
NEIGHBOUR = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True:\n    pass"


@pytest.fixture
def proc(tmp_path):
    """Write the counters of two threads of a process, as Linux shows them."""

    def write(*waits, running=7):
        for thread, nanoseconds in enumerate(waits, start=41):
            task = tmp_path / "40" / "task" / str(thread)
            task.mkdir(parents=True, exist_ok=True)
            (task / "schedstat").write_text(f"{running} {nanoseconds} 3\n")
        return read_core_waits(40, proc=tmp_path)

    return write


def test_waits_of_all_threads_count_of_new_ones_too(proc):
    before = proc(1_000_000_000, 5)
    assert seconds_waited(before, proc(1_500_000_000, 250_000_005, 125_000_000)) == 0.875


def test_waits_that_the_kernel_does_not_count_are_unknown(proc, tmp_path):
    assert read_core_waits(40, proc=tmp_path / "none") == {}
    assert seconds_waited(proc(0, 0, running=0), proc(0, 0, running=0)) is None


@pytest.fixture
def core():
    """Keep this thread on one core."""
    cores = os.sched_getaffinity(0)
    chosen = min(cores)
    os.sched_setaffinity(0, {chosen})
    yield chosen
    os.sched_setaffinity(0, cores)


def test_a_process_that_starts_in_block_3_on_the_trials_core_makes_the_trial_noisy(core):
    if not read_core_waits():
        pytest.skip("this kernel does not count waits for a core")
    neighbours = []

    class Busy(QueueTrainer):
        def step(self, index):
            super().step(index)
            if index == STARTS_AT:
                neighbours.append(subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(core)]))
            until = time.thread_time() + STEP_SECONDS
            while time.thread_time() < until:
                pass

    timing = TimingSpec(
        warmup_steps=1,
        max_warmup_steps=1,
        steps_per_block=STEPS_PER_BLOCK,
        min_blocks=NUM_BLOCKS,
        max_blocks=NUM_BLOCKS,
    ).without_seconds()
    try:
        times = time_steps(
            Busy(),
            ONE_PHASE,
            timing,
            steps=2 + STEPS_PER_BLOCK * NUM_BLOCKS,
            meet=lambda vote: vote,
            clock=time.perf_counter,
            meter=no_meter,
        )
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    for seconds, waited in list(zip(times.block_seconds, times.core_wait_seconds, strict=True))[3:]:
        assert waited > 0.3 * seconds
    assert sum(times.block_cpu_seconds) == pytest.approx(times.cpu_seconds)
    result = train_result(
        block_seconds=(times.block_seconds,),
        cpu_seconds=(times.cpu_seconds,),
        block_cpu_seconds=(times.block_cpu_seconds,),
        core_wait_seconds=(times.core_wait_seconds,),
        busy_core_seconds=(times.busy_core_seconds,),
        load_average=(0.08, 0.08),
    )
    assert "waiting for a core" in describe_noise(record(placement=placement(cpus=1), result=result))
