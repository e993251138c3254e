"""torch_xla trials on a fake TPU of one host, from the request to the record."""

from pathlib import Path

import pytest
from builders import placement, trial_spec
from noop_trials import context, planted, python_with
from queues import queue_for
from shipped_devices import shipped_catalogue
from trainer_runs import WORKLOADS, python_of
from trials import Unwatched

from orchestrator.core.device import Accelerators, Node
from orchestrator.core.inventory import of_host
from orchestrator.core.result import TrialRecord
from orchestrator.core.settings import Deadlines
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.execute.inline import InlineExecutor
from workloads.data.sources import resolve


def record_on(device: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: object) -> TrialRecord:
    """Run a trial of mnist_cnn on a whole TPU of one host that PJRT's CPU devices stand for."""
    if not python_of("torch_xla").exists():
        pytest.skip(f"{python_of('torch_xla')} is absent; get it with: make xla")
    tpu = shipped_catalogue().devices[device]
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", str(tpu.slice_type))
    data = resolve("workloads.data.mnist:MNIST", "synthetic", cache=folder, download=False)
    code = planted(f"import fake_tpu; fake_tpu.plant({tpu.replicas})")
    sweep_context = context(
        folder,
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=120.0, run_seconds=120.0),
        data_paths={"synthetic:1": str(data.path)},
        pythons={"torch_xla": python_with(folder / "faked", code, python=python_of("torch_xla"))},
        devices={device: tpu},
    )
    trial = trial_spec(
        trainer="torch_xla",
        workload_options=WORKLOADS["mnist_cnn"],
        device=device,
        host_cpu=None,
        steps=40,
        timing=TimingSpec(steps_per_block=2, min_blocks=6, max_blocks=6),
        process_model="per_host",
        **changes,
    )
    request = placement(
        trial,
        kind="tpu",
        replicas=tpu.replicas,
        devices=1,
        chips=tpu.chips,
        start_method="spawn",
        trains=True,
    )
    accelerators = Accelerators(kind="tpu", chips=tpu.chips, ids=(str(tpu.slice_type),))
    node = Node(name="localhost", cpus=2, cpu_model="Some CPU", devices={device: accelerators})
    records: list[TrialRecord] = []
    inventory = of_host(node)
    queue = queue_for([request], sweep_context, inventory)
    InlineExecutor(inventory).run_queue(queue, sweep_context, Unwatched(), on_record=records.append)
    (record,) = records
    return record


@pytest.mark.more
@pytest.mark.slow_cases("tpu_v5e_1", "tpu_v5e_4")
@pytest.mark.parametrize("device", ["tpu_v5e_1", "tpu_v5e_4", "tpu_v3_8"])
def test_a_trial_on_every_chip_of_a_host_has_a_result(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_on(device, tmp_path, monkeypatch)
    assert record.failure is None, record.failure
    assert record.result is not None
    (facts,) = record.result.devices
    tpu = shipped_catalogue().devices[device]
    assert (facts.kind, facts.count) == ("tpu", tpu.replicas)
    assert facts.name in tpu.driver_names
    assert facts.peak_memory_bytes is None  # not counted under SPMD, nor by PJRT's CPU client
