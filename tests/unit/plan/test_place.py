"""Placement of a trial: measured where its device is, else rehearsed, skipped or refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_builders import A100, T4, TPU, device, held, node, point, tensorflow_like, torch_like

from orchestrator.core.errors import PlacementError
from orchestrator.core.inventory import of_host
from orchestrator.core.placement import Skipped
from orchestrator.core.trial_spec import TimingSpec, trial_id
from orchestrator.plan.place import PlacementRequest, in_order, place
from orchestrator.plan.slots import find_slots
from orchestrator.plan.trial_specs import build_trial
from orchestrator.train.registry import trainer_info


def placed(asked_point, *, trainer=None, start_method="auto", here=None, missing_device="rehearse"):
    inventory = of_host(here or node())
    trainer = trainer or torch_like()
    data_ids = {("workloads.data.mnist:MNIST", "auto"): "synthetic:1"}
    host_cpu = inventory.host.host_cpu if asked_point.device.kind == "cpu" else None
    trial = build_trial(asked_point, 0, trainer=trainer, data_ids=data_ids, host_cpu=host_cpu, num_hosts=1)
    asked = PlacementRequest(
        trial=trial,
        trial_id=trial_id(trial),
        point=asked_point,
        trainer=trainer,
        slots=find_slots(asked_point, trainer, inventory=inventory),
        start_method=start_method,
    )
    return place(asked, inventory=inventory, missing_device=missing_device)


def test_a_cpu_trial_holds_all_cores_of_its_host():
    found = placed(point())
    assert (found.provenance, found.kind, found.cpus, found.threads, found.devices) == (
        "measured",
        "cpu",
        4,
        4,
        0,
    )


def test_least_seconds_change_the_trial_of_an_accelerator_and_not_that_of_a_cpu():
    timings = [TimingSpec(max_blocks=6), TimingSpec(max_blocks=6, min_block_seconds=0.1)]
    on_cpu = {placed(point(timing=timing)).trial_id for timing in timings}
    on_gpu = {placed(point(timing=timing, device=T4)).trial_id for timing in timings}
    assert (len(on_cpu), len(on_gpu)) == (1, 2)


def test_worker_processes_share_the_cores_and_one_process_has_them_all():
    processes = placed(point(num_workers=2))
    assert (processes.num_processes, processes.replicas, processes.threads) == (2, 2, 2)
    one = placed(point(num_workers=2), trainer=torch_like(process_model=lambda *_: "per_host"))
    assert (one.num_processes, one.replicas, one.threads) == (1, 2, 4)


def test_more_processes_than_cores_is_placed_with_a_warning():
    found = placed(point(num_workers=8))
    assert found.threads == 1
    assert found.warnings == ("8 worker processes share 4 cores",)


def test_a_placement_marks_a_trainer_without_training():
    idle = torch_like(trains=False)
    assert [placed(point(device=value), trainer=idle).trains for value in (device(), T4)] == [False, False]
    assert placed(point()).trains


def test_a_gpu_trial_holds_its_devices_and_their_share_of_the_cores():
    here = node(cpus=16, devices={"t4": held(4)})
    found = placed(point(device=T4, num_workers=2), here=here)
    assert (found.kind, found.devices, found.cpus, found.num_processes, found.threads) == ("gpu", 2, 8, 2, 4)
    assert found.start_method == "spawn"  # a fork was shown to train on CPUs only


def test_a_slice_of_four_chips_holds_all_cores_of_its_host_and_counts_as_four():
    here = node(cpus=96, devices={"tpu_v3_8": held(1, kind="tpu", chips=4)})
    found = placed(point(device=TPU, precision="bf16"), trainer=tensorflow_like(), here=here)
    assert (found.kind, found.devices, found.chips, found.replicas, found.cpus) == ("tpu", 1, 4, 8, 96)


def test_a_device_is_here_when_there_are_as_many_as_asked_for():
    here = node(devices={"t4": held(1)})
    assert placed(point(device=T4), here=here).provenance == "measured"
    assert placed(point(device=T4, num_workers=2), here=here).provenance == "rehearsed"


def test_a_rehearsal_lists_all_its_substitutions():
    found = placed(point(device=T4, precision="fp16", num_workers=2))
    assert (found.provenance, found.kind, found.precision, found.cpus, found.threads) == (
        "rehearsed",
        "cpu",
        "bf16",
        1,
        1,
    )
    assert found.substitutions == ("cpu for t4", "bf16 without loss scaling for fp16", "gloo for nccl")


def test_a_rehearsal_in_fp8_emulates_it_and_lists_that():
    h100 = device("h100", kind="gpu", native_precisions=("bf16", "fp8"))
    found = placed(point(device=h100, precision="fp8"), trainer=trainer_info("torch_ddp"))
    assert (found.provenance, found.kind, found.precision) == ("rehearsed", "cpu", "fp8")
    assert found.substitutions == ("cpu for h100", "fp8 emulated by wider products for fp8")


def test_a_rehearsal_in_one_process_claims_no_substitute_for_what_it_has_not():
    assert placed(point(device=T4)).substitutions == ("cpu for t4",)


def test_a_tpu_is_rehearsed_in_two_replicas_of_one_process_as_its_own_code_path_has_it():
    found = placed(point(device=TPU, precision="tpu_default"), trainer=tensorflow_like())
    assert (found.replicas, found.num_processes, found.precision) == (2, 1, "fp32")
    assert found.substitutions == (
        "cpu for tpu_v3_8",
        "fp32 for tpu_default",
        "2 replicas for 8",
        "MirroredStrategy for TPUStrategy",
    )


def test_an_odd_batch_is_rehearsed_in_one_replica():
    found = placed(point(device=T4, num_workers=3, global_batch_size=63))
    assert found.replicas == 1
    assert found.substitutions == ("cpu for t4", "1 replica for 3")


def test_an_odd_batch_that_is_dealt_out_is_rehearsed_in_two():
    assert placed(point(device=T4, num_workers=3, global_batch_size=63, deals_batches=True)).replicas == 2


@given(st.integers(1, 16), st.integers(1, 64))
def test_a_rehearsals_replicas_divide_the_batch_and_are_no_more_than_asked_for(num_workers, share):
    found = placed(point(device=A100, num_workers=num_workers, global_batch_size=num_workers * share))
    assert found.trial.global_batch_size % found.replicas == 0
    assert found.replicas <= min(num_workers, 2)


@pytest.mark.parametrize(
    ("start_method", "expected"), [("auto", "fork"), ("fork", "fork"), ("spawn", "spawn")]
)
def test_the_user_may_choose_how_workers_start(start_method, expected):
    assert placed(point(), start_method=start_method).start_method == expected


def test_a_trainer_without_cpu_support_is_not_rehearsed():
    found = placed(point(device=TPU), trainer=torch_like(name="torch_tpu", precisions={"tpu": ("fp32",)}))
    assert isinstance(found, Skipped)
    assert found.reason == (
        "1 x tpu_v3_8 is not here: here has no accelerator; torch_tpu has no rehearsal, for it knows no CPU"
    )


def test_a_device_that_a_trainer_was_never_run_on_is_a_warning():
    here = node(devices={"t4": held(1)})
    assert placed(point(device=T4), here=here, trainer=torch_like(run_on=("cpu",))).warnings == (
        "torch_ddp was never run on a GPU by those who wrote it",
    )
    assert placed(point(device=T4), here=here, trainer=torch_like(run_on=("cpu", "gpu"))).warnings == ()
    two = node(devices={"t4": held(2)})
    several = point(device=T4, num_workers=2)
    assert placed(several, here=two, trainer=torch_like(run_on=("cpu", "gpu"))).warnings == (
        "torch_ddp was never run on several GPUs by those who wrote it",
    )
    assert placed(point(device=T4)).warnings == ()  # rehearsed on a CPU


def test_a_missing_device_is_skipped_with_what_is_here():
    found = placed(point(device=T4), missing_device="skip", here=node(devices={"l4": held(2)}))
    assert isinstance(found, Skipped)
    assert (found.point, found.reason) == (
        "mnist_cnn t4 torch_ddp fp32",
        "1 x t4 is not here: here has 2 x l4",
    )


def test_a_missing_device_can_refuse_the_whole_command():
    with pytest.raises(PlacementError) as raised:
        placed(point(device=T4), missing_device="fail")
    assert str(raised.value) == (
        "1 x t4 is not here: here has no accelerator; cluster.missing_device may be rehearse or skip"
    )


def test_measured_trials_come_before_rehearsals_and_keep_their_order():
    first, second = placed(point()), placed(point(seed=1))
    rehearsal = placed(point(device=T4))
    assert in_order([rehearsal, first, replace(rehearsal, cpus=2), second])[:2] == (first, second)
