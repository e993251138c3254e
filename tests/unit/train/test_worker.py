"""A worker's side of a trial that cannot begin: what it says, what it logs, how it leaves."""

import socket
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from noop_trials import jobs
from user_workload import SPEC, searched, write

from orchestrator.core.codec import to_plain
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train import worker
from orchestrator.train.process.channel import Channel
from orchestrator.train.worker_setup import build_timing
from workloads.origins import Origin


@pytest.fixture
def job(tmp_path):
    return jobs(tmp_path, workers=1)[0]


def outcome(job) -> tuple[int, dict]:
    """Run the job in this process; return its exit code and its only message."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send(to_plain(job))
        return worker.main(theirs), Channel(ours).receive()


def changed(job, **changes):
    return replace(job, trial=replace(job.trial, **changes))


def in_seconds(job) -> bool:
    timing = build_timing(job)
    return (timing.min_warmup_seconds, timing.min_block_seconds) == (2.0, 0.5)


def test_least_seconds_are_for_accelerators_and_the_same_on_every_rank(job):
    job = changed(job, steps=100, timing=TimingSpec())
    gpu = replace(job, kind="gpu")
    assert not in_seconds(job)
    assert in_seconds(gpu)
    assert in_seconds(replace(job, kind="tpu"))
    assert in_seconds(replace(job, mixes_kinds=True))
    assert in_seconds(replace(gpu, mixes_kinds=True))
    assert not in_seconds(replace(gpu, rehearsal=True))
    assert not in_seconds(changed(gpu, timing=TimingSpec(target=0.9)))


def test_an_error_is_a_message_and_its_traceback_is_in_the_log(job, caplog):
    code, said = outcome(replace(job, data_path="/no/such/file"))
    assert code == 1
    assert (said["event"], said["kind"]) == ("failed", "error")
    assert said["message"] == "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/file'"
    assert "Traceback (most recent call last):" in caplog.text


def test_an_unknown_option_of_a_workload_is_shown_with_the_known_ones(job):
    _, said = outcome(changed(job, workload_options={"filter": 3}))
    assert said["message"].startswith(
        "ValueError: unknown option of workload 'mnist_cnn', 'filter'; did you mean"
    )


def test_memory_that_cannot_be_had_is_classified(job, tmp_path):
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive, archive.open("x_train.npy", "w") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(file, header)
    _, said = outcome(replace(job, data_path=str(tmp_path / "huge.npz")))
    assert said["kind"] == "oom"
    assert "Unable to allocate 909. TiB" in said["message"]


def test_the_cause_is_one_line_of_bounded_length(job):
    _, said = outcome(replace(job, data_path="/no/such/" + "folder/" * 500))
    assert len(said["message"]) == 500
    assert "\n" not in said["message"]


@pytest.mark.parametrize("error", ["SystemExit(7)", "KeyboardInterrupt('now')", "BaseException('no luck')"])
def test_what_ends_a_process_is_an_error_of_the_trial_with_the_line_of_the_code(job, tmp_path, error):
    code = SPEC.replace("def make(options):\n", f"def make(options):\n    raise {error}\n")
    write(tmp_path, {"mine/spec.py": code})
    with searched(tmp_path):
        mine = replace(job, origin=Origin(package="mine", folder=str(tmp_path / "mine")))
        exit_code, said = outcome(changed(mine, workload="mine", workload_options={}))
    name, message = error.rstrip(")").replace("'", "").split("(")
    assert (exit_code, said["event"], said["kind"]) == (1, "failed", "error")
    assert said["message"].endswith(f"'mine': {tmp_path}/mine/spec.py, line 11: {name}: {message}")
