"""Convolutions that are split over processes train what they train whole, whatever each process holds."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from kernel_split import halved, main
from split_rest import rest_seconds
from split_runs import CASES, EVEN, NETWORKS, STEPS, TRAININGS, outcomes

from orchestrator.core.codec import from_plain
from orchestrator.core.result import DeviceFacts
from workloads.registry import workload

SPLIT = [name for name, (trainer, *_) in TRAININGS.items() if trainer == "kernel_split"]


@pytest.mark.parametrize("name", CASES)
def test_every_rank_has_the_weights_of_a_training_on_one_device(name: str) -> None:
    ranks = outcomes()[name]
    assert len(ranks) == len(CASES[name].speeds)
    assert all(rank["apart"] < 1e-10 for rank in ranks)
    assert ranks[0]["moved"] > 0.01
    assert sum(rank["kernels"][1] for rank in ranks) == CASES[name].convolution.get("out_channels", 12)


def test_a_share_may_be_nothing_the_masters_too() -> None:
    assert outcomes()["nothing for the slow"][1]["kernels"] == [0, 0]
    assert outcomes()["nothing for the master"][0]["kernels"] == [0, 0]
    assert outcomes()["more workers than kernels"][3]["kernels"] == [1, 0]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_split_network_has_the_weights_of_a_whole_one(name: str) -> None:
    master, worker = outcomes()[name]
    assert master["apart"] < 1e-10
    assert 0 < worker["arrays"] < master["arrays"]


def test_gradients_are_those_of_finite_differences() -> None:
    assert all(rank["passed"] for rank in outcomes()["gradcheck"])


def weights_of(name: str) -> dict[str, np.ndarray]:
    return {key: np.array(array) for key, array in outcomes()[name][0]["state"].items()}


@pytest.mark.parametrize("name", SPLIT)
def test_any_number_of_workers_trains_as_torch_ddp_does_alone(name: str) -> None:
    is_rounded = TRAININGS[name][1] == "bf16"
    alone = "torch_ddp, bf16" if is_rounded else "torch_ddp"
    of_losses, of_weights = (1e-2, 0.1) if is_rounded else (1e-5, 1e-5)
    assert outcomes()[name][0]["losses"] == pytest.approx(outcomes()[alone][0]["losses"], rel=of_losses)
    ours, theirs = weights_of(name), weights_of(alone)
    assert ours.keys() == theirs.keys()
    for key, array in theirs.items():
        assert np.linalg.norm(ours[key] - array) <= of_weights * np.linalg.norm(array), key


@pytest.mark.parametrize("name", SPLIT)
def test_all_ranks_tell_one_loss_and_one_quality_and_count_their_shares_of_the_samples(name: str) -> None:
    first, *others = outcomes()[name]
    assert len(set(first["losses"])) > STEPS // 2
    for rank in others:
        assert (rank["losses"], rank["quality"]) == (first["losses"], first["quality"])
        assert rank["samples"] == first["samples"]
    assert first["samples"] * (1 + len(others)) == STEPS * 64


@pytest.mark.parametrize("name", SPLIT)
def test_every_rank_says_what_it_holds_how_fast_it_is_and_in_which_precision(name: str) -> None:
    _, precision, workers, options = TRAININGS[name]
    facts = [from_plain(DeviceFacts, rank["facts"]) for rank in outcomes()[name]]
    assert {(each.kind, each.count, each.precision) for each in facts} == {("cpu", 1, precision)}
    for of_layer in zip(*(each.kernel_shares for each in facts), strict=True):
        assert len({each.layer for each in of_layer}) == 1
        assert sum(each.kernels for each in of_layer) == of_layer[0].of_kernels
        assert all(each.flops_per_second > 0 for each in of_layer)
        if options == EVEN:
            assert max(each.kernels for each in of_layer) - min(each.kernels for each in of_layer) <= 1
    assert len(facts) == workers


def wait_until(process: psutil.Process, *, is_stopped: bool) -> None:
    until = time.monotonic() + 20.0
    while (process.status() == psutil.STATUS_STOPPED) != is_stopped:
        assert time.monotonic() < until


def test_a_worker_that_the_benchmark_halves_is_stopped_goes_on_and_is_left_alone(tmp_path: Path) -> None:
    code = "import time\nwhile True: time.sleep(0.001)"
    with (tmp_path / "rank1.log").open("wb") as log, halved("rank1.log"):
        child = subprocess.Popen([sys.executable, "-c", code], stdout=log)
        process = psutil.Process(child.pid)
        for is_stopped in (True, False, True, False):
            wait_until(process, is_stopped=is_stopped)
    assert process.status() != psutil.STATUS_STOPPED
    child.kill()
    child.wait()


def test_the_rest_of_a_step_is_timed_without_its_convolutions() -> None:
    spec = workload("cifar10_cnn", {"kernels": (4, 6), "dense_units": 8})
    assert rest_seconds(spec, batch=4) > 0


@pytest.mark.parametrize("word", ["500", "0:5", "5:x"])
def test_kernels_of_the_benchmark_are_those_of_two_layers(word: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--kernels", word])
    assert ended.value.code == 2
    assert f"--kernels: '{word}' must be the kernels of two layers, as in 50:500" in capsys.readouterr().err
