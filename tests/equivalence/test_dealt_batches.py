"""Batches dealt out in unequal shares train what they train on one device, whatever each share is."""

from pathlib import Path

import numpy as np
import pytest
import torch
from trainer_runs import BATCH, STEPS
from uneven_batch_runs import DROPS, IN_FLOAT64, PHASES, SHARES, STEPS_IN_FLOAT64, TRAININGS, outcomes

from orchestrator.core.codec import from_plain
from orchestrator.core.result import DeviceFacts
from orchestrator.extensions.kernel_split.training.unequal_ddp_trainer import build_probe
from orchestrator.train.trainers.torch_process import convert_to_tensors
from workloads.data import batches
from workloads.data.sources import resolve
from workloads.registry import workload

pytestmark = pytest.mark.slow

DEALT = [name for name in SHARES if name != "alone"]
UNEQUAL = [name for name, (_, trainer, *_) in TRAININGS.items() if trainer == "unequal_ddp"]
ROUNDED = 3e-3  # as in test_trainers


def apart(name: str, reference: str) -> np.ndarray:
    """[array] By how much the first rank's weights differ, relative to those of the reference."""
    ours, theirs = (outcomes()[value][0]["state"] for value in (name, reference))
    assert ours.keys() == theirs.keys()
    return np.array(
        [
            np.linalg.norm(np.subtract(ours[key], array)) / np.linalg.norm(array)
            for key, array in theirs.items()
        ]
    )


def compute_losses(name: str, *, rank: int = 0) -> list[float]:
    return [loss for step in outcomes()[name][rank]["losses"] for loss in step.values()]


@pytest.mark.parametrize("name", DEALT)
@pytest.mark.parametrize("task", IN_FLOAT64)
def test_any_shares_have_the_weights_of_a_training_on_one_device(task: str, name: str) -> None:
    assert apart(f"{task}, {name}", f"{task}, alone").max() < 1e-10
    assert compute_losses(f"{task}, {name}") == pytest.approx(compute_losses(f"{task}, alone"), rel=1e-10)
    assert len(set(compute_losses(f"{task}, alone"))) > STEPS_IN_FLOAT64 // 2


@pytest.mark.parametrize("name", DEALT)
def test_a_training_of_several_phases_has_them_but_for_rounding(name: str) -> None:
    assert compute_losses(f"{PHASES}, {name}") == pytest.approx(
        compute_losses(f"{PHASES}, alone"), rel=ROUNDED
    )
    assert apart(f"{PHASES}, {name}", f"{PHASES}, alone").max() < ROUNDED


@pytest.mark.parametrize("name", DEALT)
@pytest.mark.parametrize("task", [*IN_FLOAT64, PHASES])
def test_ranks_agree_bit_for_bit_and_count_what_each_was_fed(task: str, name: str) -> None:
    ranks = outcomes()[f"{task}, {name}"]
    steps = STEPS_IN_FLOAT64 if task in IN_FLOAT64 else STEPS
    assert [rank["samples"] for rank in ranks] == [steps * share for share in SHARES[name]]
    for rank in ranks:
        assert (rank["state"], rank["losses"]) == (ranks[0]["state"], ranks[0]["losses"])


@pytest.mark.parametrize(
    "name", [name for name in UNEQUAL if TRAININGS[name][0] == "mnist_cnn" and TRAININGS[name][2] == "fp32"]
)
def test_any_number_of_workers_trains_as_torch_ddp_does_alone(name: str) -> None:
    assert compute_losses(name) == pytest.approx(compute_losses("torch_ddp"), rel=1e-5)
    assert apart(name, "torch_ddp").max() < 1e-5


def test_what_becomes_of_freed_memory_changes_no_bit() -> None:
    (kept,), (trimmed,) = (outcomes()[name] for name in ("torch_ddp, heap kept", "torch_ddp"))
    assert (kept["losses"], kept["state"]) == (trimmed["losses"], trimmed["state"])


def test_bf16_rounds_little_more_than_under_torch_ddp() -> None:
    assert compute_losses("two workers, bf16") == pytest.approx(compute_losses("torch_ddp, bf16"), rel=1e-2)
    ours, theirs = (apart(name, "torch_ddp") for name in ("two workers, bf16", "torch_ddp, bf16"))
    assert ours.mean() < 4 * theirs.mean()


def test_even_shares_are_torch_ddp_bit_for_bit_what_dropout_draws_too() -> None:
    for ours, theirs in zip(outcomes()["dropout, even"], outcomes()["dropout, torch_ddp"], strict=True):
        assert ours["losses"] == theirs["losses"]
        assert ours["state"] == theirs["state"]
        assert (ours["quality"], ours["samples"]) == (theirs["quality"], theirs["samples"])


@pytest.mark.parametrize("name", UNEQUAL)
def test_every_rank_reports_its_share_and_speed_and_a_checkpoint_counts_its_samples(name: str) -> None:
    _, _, precision, workers, _ = TRAININGS[name]
    ranks = outcomes()[name]
    facts = [from_plain(DeviceFacts, rank["facts"]) for rank in ranks]
    assert {(fact.kind, fact.count, fact.precision) for fact in facts} == {("cpu", 1, precision)}
    shares = [fact.batch_share for fact in facts]
    assert sum(share.samples for share in shares) == BATCH
    assert {(share.of_samples, share.probe_samples) for share in shares} == {(BATCH, BATCH // workers)}
    assert all(share.samples_per_second > 0 for share in shares)
    counted = [STEPS_IN_FLOAT64 * share.samples for share in shares]
    assert [(rank["samples"], rank["restored"]) for rank in ranks] == list(zip(counted, counted, strict=True))


def test_the_rest_of_a_batch_that_does_not_divide_goes_to_the_first_ranks() -> None:
    facts = [from_plain(DeviceFacts, rank["facts"]) for rank in outcomes()["three workers, even"]]
    assert [fact.batch_share.samples for fact in facts] == [22, 21, 21]


def test_a_probe_leaves_no_trace_in_what_is_drawn_later(tmp_path: Path) -> None:
    spec = workload("mnist_gan", DROPS)
    path = resolve(spec.data.data_set, "synthetic", cache=tmp_path, download=False).path
    data = batches.load(path, data=spec.data, global_batch_size=8, seed=0, noise=spec.noise)
    before, met = torch.get_rng_state(), []
    probe = build_probe(
        spec,
        convert_to_tensors(data.held_out(0, 4)),
        autocast=torch.autocast("cpu", enabled=False),
        meet=lambda: met.append(True),
        synchronize=lambda: None,
    )
    assert (probe.samples, met) == (4, [True])
    assert probe.seconds > 0
    assert torch.equal(torch.get_rng_state(), before)
