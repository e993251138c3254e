"""Convolutions that are split over processes train what they train whole, whatever each process holds."""

import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from kernel_split import IDEAL, REBALANCED, STAYS, Outcome, conclusion_of, main, row_of
from shaped_network import reason_against, shaped
from split_layers import CASES, NETWORKS, OPTIMIZERS, STEPS, parts_by
from split_runs import EVEN, MOVED, TRAININGS, outcomes
from split_trial import halved
from uneven_network import uneven_network

from orchestrator.core.codec import from_plain
from orchestrator.core.result import DeviceFacts
from orchestrator.extensions.kernel_split.training.messages import RankChannel
from orchestrator.extensions.kernel_split.training.networks import SplitNetworks, split_layers
from orchestrator.extensions.kernel_split.training.step_timer import StepTimer
from orchestrator.train.trainers.torch_state import copy_arrays, put_back
from workloads.registry import workload
from workloads.with_torch.training import Networks

pytestmark = pytest.mark.slow

SPLIT = [name for name, (trainer, *_) in TRAININGS.items() if trainer == "kernel_split"]


@pytest.mark.parametrize("name", CASES)
def test_every_rank_has_the_weights_of_a_training_on_one_device(name: str) -> None:
    ranks = outcomes()[name]
    assert len(ranks) == len(CASES[name].speeds)
    assert all(rank["apart"] < 1e-10 for rank in ranks)
    assert ranks[0]["moved"] > 0.01
    assert sum(rank["kernels"][1] for rank in ranks) == CASES[name].convolution.get("out_channels", 12)


def test_a_share_may_be_empty_even_that_of_the_master() -> None:
    assert outcomes()["nothing for the slow"][1]["kernels"] == [0, 0]
    assert outcomes()["nothing for the master"][0]["kernels"] == [0, 0]
    assert outcomes()["more workers than kernels"][3]["kernels"] == [1, 0]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_split_network_has_the_weights_and_slots_of_a_whole_one(name: str, optimizer: str) -> None:
    master, worker = outcomes()[f"{name}, {optimizer}"]
    assert master["apart"] < 1e-10
    assert 0 < worker["arrays"] < master["arrays"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_split_network_has_the_weights_of_a_whole_one_after_kernels_move(name: str, optimizer: str) -> None:
    assert outcomes()[f"{name}, {optimizer}, moved"][0]["apart"] < 1e-10


def test_gradients_are_those_of_finite_differences() -> None:
    assert all(rank["passed"] for rank in outcomes()["gradcheck"])


def list_weights(name: str) -> dict[str, np.ndarray]:
    return {key: np.array(array) for key, array in outcomes()[name][0]["state"].items()}


def apart(name: str, reference: str) -> np.ndarray:
    """[array] By how much weights differ, relative to those of the reference."""
    ours, theirs = list_weights(name), list_weights(reference)
    assert ours.keys() == theirs.keys()
    return np.array(
        [np.linalg.norm(ours[key] - array) / np.linalg.norm(array) for key, array in theirs.items()]
    )


@pytest.mark.parametrize("name", [name for name in SPLIT if TRAININGS[name][1] == "fp32"])
def test_any_number_of_workers_trains_as_torch_ddp_does_alone(name: str) -> None:
    assert outcomes()[name][0]["losses"] == pytest.approx(outcomes()["torch_ddp"][0]["losses"], rel=1e-5)
    assert apart(name, "torch_ddp").max() < 1e-5


def test_bf16_rounds_little_more_than_under_torch_ddp() -> None:
    split, ddp = outcomes()["two workers, bf16"][0], outcomes()["torch_ddp, bf16"][0]
    assert split["losses"] == pytest.approx(ddp["losses"], rel=1e-2)
    ours, theirs = (apart(name, "torch_ddp") for name in ("two workers, bf16", "torch_ddp, bf16"))
    assert (
        ours.mean() < 4 * theirs.mean()
    )  # 1.6 times was seen: parts of a gradient are rounded before their sum


@pytest.mark.parametrize("name", SPLIT)
def test_all_ranks_report_one_loss_and_quality_and_their_share_of_the_samples(name: str) -> None:
    first, *others = outcomes()[name]
    assert len(set(first["losses"])) > STEPS // 2
    for rank in others:
        assert (rank["losses"], rank["quality"]) == (first["losses"], first["quality"])
        assert rank["samples"] == first["samples"]
    assert first["samples"] * (1 + len(others)) == STEPS * 64


@pytest.mark.parametrize("name", SPLIT)
def test_every_rank_shows_what_it_holds_how_fast_it_is_and_in_which_precision(name: str) -> None:
    _, precision, workers, options = TRAININGS[name]
    facts = [from_plain(DeviceFacts, rank["facts"]) for rank in outcomes()[name]]
    assert {(fact.kind, fact.count, fact.precision) for fact in facts} == {("cpu", 1, precision)}
    assert {fact.kernel_moves for fact in facts} == {()}  # nobody asked for any
    for of_layer in zip(*(fact.kernel_shares for fact in facts), strict=True):
        assert len({item.layer for item in of_layer}) == 1
        assert sum(item.kernels for item in of_layer) == of_layer[0].of_kernels
        assert all(item.flops_per_second > 0 for item in of_layer)
        if options == EVEN:
            assert max(item.kernels for item in of_layer) - min(item.kernels for item in of_layer) <= 1
    assert len(facts) == workers


@pytest.mark.parametrize("name", SPLIT)
def test_the_master_reports_the_rest_of_a_step_and_every_other_rank_its_link(name: str) -> None:
    master, *others = [from_plain(DeviceFacts, rank["facts"]) for rank in outcomes()[name]]
    assert master.kernel_link is None
    assert master.kernel_rest_seconds > 0
    for other in others:
        assert other.kernel_rest_seconds is None
        assert other.kernel_link.bytes_per_second > 0
        assert other.kernel_link.latency_seconds > 0


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_with_moved_kernels_equals_that_of_one_device_and_its_checkpoint_is_whole(
    optimizer: str,
) -> None:
    ours, theirs = (outcomes()[f"{name}, {optimizer}"][0]["checkpoint"] for name in MOVED)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if not name.startswith("draws."):
            array, reference = np.array(ours[name]), np.array(theirs[name])
            assert array.shape == reference.shape
            assert np.linalg.norm(array - reference) <= 1e-5 * np.linalg.norm(reference), name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_rank_shows_what_it_held_before_and_after_each_move(optimizer: str) -> None:
    master, worker = [from_plain(DeviceFacts, rank["facts"]) for rank in outcomes()[f"moved, {optimizer}"]]
    assert [move.step for move in master.kernel_moves] == [move.step for move in worker.kernel_moves]
    for value in (master, worker):
        last = tuple(share.kernels for share in value.kernel_shares)
        assert [move.after for move in value.kernel_moves] == [
            *(move.before for move in value.kernel_moves[1:]),
            last,
        ]
    assert master.kernel_moves[0].before == (4, 7)
    of_worker = [sum(move.after) for move in worker.kernel_moves]
    assert of_worker.index(0) < of_worker.index(max(of_worker))  # it lost all, and was given some again


def kept_by(networks: Networks) -> tuple[torch.optim.Optimizer, dict[str, np.ndarray]]:
    """An optimizer that has taken a step by chance gradients, and all that a checkpoint holds of both."""
    optimizer = torch.optim.Adam(networks.parameters())
    for parameter in networks.parameters():
        parameter.grad = torch.rand_like(parameter)
    optimizer.step()
    return optimizer, copy_arrays(networks, [optimizer])


@pytest.mark.parametrize("speeds", [(1.0, 1.0, 1.0), (3.0, 1.0, 1.0), (1e-6, 1.0, 1.0)])
def test_a_whole_checkpoint_is_put_back_under_any_shares(speeds: tuple[float, ...]) -> None:
    spec = replace(workload("cifar10_cnn", {}), networks={"model": uneven_network()})
    _, whole = kept_by(Networks(spec, 1))
    pieces = []
    for rank in range(len(speeds)):
        networks = Networks(spec, 2)
        places = split_layers(networks)
        parts = [parts_by(speeds, place.whole) for place in places]
        wire = RankChannel(torch.device("cpu"), world_size=len(speeds))
        watch = StepTimer(wire.device, num_layers=len(places))
        end = SplitNetworks(networks, places, parts, rank=rank, wire=wire, watch=watch)
        optimizer, _ = kept_by(networks)
        put_back(end.cut(whole), networks, [optimizer])
        pieces.append(copy_arrays(networks, [optimizer]))
    for name, array in whole.items():
        held = [piece[name] for piece in pieces]
        lengths = zip(array.shape, *(item.shape for item in held), strict=True)
        shared = [axis for axis, (length, *each) in enumerate(lengths) if set(each) != {length}]
        again = np.concatenate(held, shared[0]) if shared else held[0]
        np.testing.assert_array_equal(again, array, err_msg=name)


def wait_until(process: psutil.Process, *, is_stopped: bool) -> None:
    until = time.monotonic() + 20.0
    while (process.status() == psutil.STATUS_STOPPED) != is_stopped:
        assert time.monotonic() < until
        time.sleep(1e-3)


def test_a_worker_that_the_benchmark_halves_is_stopped_goes_on_and_is_left_alone(tmp_path: Path) -> None:
    code = "import time\nwhile True: time.sleep(0.001)"
    with (tmp_path / "rank1.log").open("wb") as log, ExitStack() as ends:
        with halved("rank1.log"):
            child = ends.enter_context(subprocess.Popen([sys.executable, "-c", code], stdout=log))
            ends.callback(child.kill)
            process = psutil.Process(child.pid)
            for is_stopped in (True, False, True, False):
                wait_until(process, is_stopped=is_stopped)
        assert process.status() != psutil.STATUS_STOPPED


@pytest.mark.parametrize("word", ["500", "0:5", "5:x"])
def test_kernels_of_the_benchmark_are_those_of_two_layers(word: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--kernels", word])
    assert ended.value.code == 2
    assert f"--kernels: '{word}' must be the kernels of two layers, as in 50:500" in capsys.readouterr().err


def outcome(way: str, seconds: float, *, speed_up: float | None = None) -> Outcome:
    return Outcome(
        kernels="50:500",
        way=way,
        shares=((25, 25), (300, 200)),
        moved_after=() if speed_up else (12, 22),
        step_seconds=seconds,
        speed_up=speed_up or 1.25,
        predicted=speed_up,
        bound=speed_up,
        convolution_seconds=0.5,
    )


def test_a_row_of_the_benchmark_has_no_prediction_where_speeds_change() -> None:
    rest = "25:25, 300:200 | {} | 0.75 | {} | 0.5 |"
    assert row_of(outcome("even", 0.75, speed_up=1.5)).endswith(rest.format("-", "1.50 | 1.50 | 1.50"))
    assert row_of(outcome(STAYS, 0.75)).endswith(rest.format("12, 22", "1.25 | - | -"))


@pytest.mark.parametrize(
    ("stays", "said"),
    [(1.0, "50:500: re-balancing recovered 75%"), (0.5, "50:500: the slow worker cost nothing")],
)
def test_what_re_balancing_recovers_is_of_what_the_ideal_gains(stays: float, said: str) -> None:
    found = [outcome(IDEAL, 0.6), outcome(STAYS, stays), outcome(REBALANCED, 0.7)]
    assert conclusion_of(found) == said


def test_a_command_has_a_network_of_the_rate_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := reason_against():
        pytest.skip(reason)
    command = shaped(["tc", "qdisc", "show", "dev", "lo"], mbit_per_second=100)
    assert "rate 100Mbit" in subprocess.run(command, check=True, capture_output=True, text=True).stdout
    monkeypatch.setenv("PATH", "/nowhere")
    assert "No such file or directory: 'unshare'" in (reason_against() or "")
