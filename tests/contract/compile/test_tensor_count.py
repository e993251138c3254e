"""Tensors of real steps, counted without data, against steps that are really taken on this CPU."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from memory_peaks import CONFIG
from own_jobs import torch_job
from repository import ROOT

from orchestrator.compile.child import Limits
from orchestrator.compile.step import StepProgram
from orchestrator.compile.tensors import GpuTensorCounter
from orchestrator.config.loader import devices_named
from orchestrator.core.memory_fit import NoFit, TensorCount
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.train.capture.request import CaptureRequest
from workloads.origins import Origin
from workloads.registry import find_origin, workload_names

MIB = 2**20
DEVICES = devices_named(ROOT)
LARGE = {"image_size": 224, "num_classes": 1000}

REAL_STEPS = """
import torch
from torch.profiler import ProfilerActivity, profile
from workloads.registry import workload
from workloads.with_torch.training import Losses, Networks, build_optimizer

torch.set_num_threads(1)
spec = workload("resnet18", {"image_size": 224, "num_classes": 1000})
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
    networks, phase = Networks(spec, 0), spec.phases[-1]
    (parameters,) = networks.train_in(phase).values()
    compute_losses = Losses(networks, phase)
    optimizer = build_optimizer(phase.optimizers["model"], parameters)
    for _ in range(2):
        batch = {"x": torch.rand(8, 224, 224, 3), "y": torch.zeros(8, dtype=torch.int64)}
        losses = compute_losses(batch)
        optimizer.zero_grad()
        torch.autograd.backward([*losses.values()])
        optimizer.step()
events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
live = peak = 0
for event in sorted(events, key=lambda event: event.start_ns()):
    live += event.nbytes()
    peak = max(peak, live)
print("peak", peak)
"""
"""Prints the most bytes that PyTorch's allocator had given out at once in two real steps."""


SHARDED_STEPS = """
import os
import sys
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
from workloads.with_torch.module_shards import shard
from workloads.registry import workload
from workloads.with_torch.training import Losses, Networks, build_optimizer

rank = int(os.fork() == 0)
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=2)
spec = workload("gpt2", {"size": "small", "sequence_length": 64})
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
    networks, phase = Networks(spec, 0), spec.phases[-1]
    for _, network in networks.named():
        shard(network, network.make_blocks(), torch.device("cpu"), count=2)
    (parameters,) = networks.train_in(phase).values()
    compute_losses = Losses(networks, phase)
    optimizer = build_optimizer(phase.optimizers["model"], parameters)
    for _ in range(2):
        batch = {"x": torch.zeros(2, 64, dtype=torch.int32), "y": torch.zeros(2, 64, dtype=torch.int64)}
        losses = compute_losses(batch)
        optimizer.zero_grad()
        torch.autograd.backward([*losses.values()])
        optimizer.step()
events = [event for event in profiled.profiler.kineto_results.events() if event.name() == "[memory]"]
live = peak = 0
for event in sorted(events, key=lambda event: event.start_ns()):
    live += event.nbytes()
    peak = max(peak, live)
if not rank:
    print("peak", peak)
    os.wait()
dist.destroy_process_group()
"""
"""Prints the same of one of two processes that hold shards."""


def step(workload: str = "resnet18", **changes: object) -> StepProgram:
    pytest.importorskip("torch")
    request = CaptureRequest(
        workload=workload,
        workload_options=LARGE,
        precision="fp32",
        global_batch_size=32,
        origin=find_origin(workload) if workload in workload_names() else None,
    )
    return StepProgram(
        trainer="torch_ddp",
        options={},
        environment=TrainerEnvironment(python=sys.executable, versions={}, missing=None),
        request=replace(request, **changes),
        device=DEVICES["v100"],
        num_workers=1,
    )


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    with closing(build_counter(tmp_path_factory.mktemp("counts"))) as counter:
        yield counter


def build_counter(folder: Path) -> GpuTensorCounter:
    limits = Limits(seconds=120, memory_bytes=4 * 2**30)
    return GpuTensorCounter(folder=folder, limits=limits, code_sha256="code", compiles=True)


def count(counter: GpuTensorCounter, asked: StepProgram) -> TensorCount:
    fit = counter.find_fit(asked)
    assert isinstance(fit, TensorCount), fit
    return fit


def find_peak(script: str, *words: str) -> int:
    ran = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    (peak,) = (int(line.split()[1]) for line in ran.stdout.splitlines() if line.startswith("peak "))
    return peak


@pytest.mark.more
def test_the_count_is_that_of_the_allocator_in_a_real_step(counter):
    """Operations keep some tensors of their own for a moment, which no count of their results sees."""
    peak = find_peak(REAL_STEPS)
    assert 0.94 < count(counter, step(global_batch_size=8)).tensor_bytes / peak <= 1.0


def test_micro_batches_take_the_memory_of_one_and_the_gradients_beside_it(counter):
    gpt2 = {"workload_options": {"size": "tiny", "sequence_length": 64}}
    whole = count(counter, step("gpt2", **gpt2, global_batch_size=64))
    alone = count(counter, step("gpt2", **gpt2, global_batch_size=8))
    divided = [
        count(
            counter,
            step("gpt2", **gpt2, global_batch_size=size, memory_settings=MemorySettings(micro_batch_size=8)),
        )
        for size in (32, 64)
    ]
    most = alone.tensor_bytes + divided[0].bucket_bytes + 2 * MIB
    assert alone.tensor_bytes <= divided[0].tensor_bytes <= most
    assert divided[1].tensor_bytes - divided[0].tensor_bytes < MIB  # the further samples alone
    assert divided[1].tensor_bytes < whole.tensor_bytes / 3


def test_checkpointed_blocks_take_less_and_selective_ones_something_between(counter):
    options = {"size": "tiny", "sequence_length": 64}
    found = {
        mode: count(
            counter,
            step(
                "gpt2",
                workload_options=options,
                global_batch_size=64,
                memory_settings=MemorySettings(activation_checkpointing=mode),
            ),
        ).tensor_bytes
        for mode in ("none", "selective", "full")
    }
    assert found["full"] < found["selective"] < found["none"]


def count_shards(counter: GpuTensorCounter, num_workers: int, **options: object) -> TensorCount:
    asked = step(
        "gpt2",
        workload_options={"sequence_length": 64, **options},
        global_batch_size=2 * num_workers,
        memory_settings=MemorySettings(sharding="full"),
    )
    return count(counter, replace(asked, num_workers=num_workers))


def test_shards_are_counted_by_their_part_and_what_is_gathered(counter):
    whole, two, many = (count_shards(counter, workers, size="tiny") for workers in (1, 2, 64))
    assert whole.bucket_bytes == two.bucket_bytes == 0
    assert (
        whole.tensor_bytes
        == count(
            counter,
            step("gpt2", workload_options={"sequence_length": 64, "size": "tiny"}, global_batch_size=2),
        ).tensor_bytes
    )
    assert many.tensor_bytes < two.tensor_bytes < whole.tensor_bytes


@pytest.mark.slow
def test_the_count_of_shards_is_near_that_of_the_allocator_in_two_processes(counter, tmp_path):
    peak = find_peak(SHARDED_STEPS, str(tmp_path / "store"))
    assert count_shards(counter, 2, size="small").tensor_bytes / peak == pytest.approx(1, abs=0.15)


@pytest.mark.more
@pytest.mark.slow_cases("mobilenet_v2", "imdb_bilstm", "mnist_dbn", "xception")
@pytest.mark.parametrize("name", ["imdb_bilstm", "mnist_dbn", "mnist_gan", "mobilenet_v2", "xception"])
def test_every_kind_of_network_can_be_counted(counter, name):
    assert count(counter, step(name, workload_options={})).tensor_bytes > MIB


@pytest.mark.more
def test_a_resnet50_of_128_images_fits_a_v100_since_outputs_are_freed(counter):
    """16.89 GiB when every layer's output lived until the forward pass ended."""
    fit = count(counter, step("resnet50", global_batch_size=128))
    assert fit.tensor_bytes / 2**30 == pytest.approx(9.35, abs=0.05)
    assert fit.fits
    assert not fit.is_tight


@pytest.mark.slow
def test_too_large_a_batch_does_not_fit_and_a_smaller_one_is_named(counter):
    fit = count(counter, step("resnet50", global_batch_size=512))
    assert not fit.fits
    assert fit.batch_that_fits == 128  # 256 images take 18.4 GiB


@pytest.mark.more
def test_two_workers_halve_the_batch_and_keep_buckets_of_gradients(counter):
    alone = count(counter, step(global_batch_size=16))
    together = count(counter, replace(step(global_batch_size=32), num_workers=2))
    assert together.tensor_bytes == alone.tensor_bytes
    assert together.bucket_bytes == pytest.approx(4 * 11_692_520, rel=1e-6)  # resnet18's weights
    assert alone.bucket_bytes == 0


@pytest.mark.slow
def test_half_precision_takes_less(counter):
    assert (
        count(counter, step(precision="fp16")).tensor_bytes
        < 0.7 * count(counter, step(precision="fp32")).tensor_bytes
    )


@pytest.mark.more
def test_an_answer_is_kept(counter, monkeypatch):
    first = count(counter, step())
    assert counter.knows(step())
    for name in ("start_trainer", "ask_trainer"):
        monkeypatch.setattr(
            f"orchestrator.compile.tensors.{name}", lambda *_, **__: pytest.fail("a process was asked")
        )
    assert count(counter, step()) == first


@pytest.mark.more
def test_the_code_of_a_users_job_changes_no_later_count(tmp_path):
    wider = "setattr(torch, 'builds', getattr(torch, 'builds', 0) + 1) or 8000 * torch.builds"
    model = f"(lambda width: nn.Sequential(nn.Linear(4, width), nn.Linear(width, 2)))({wider})"
    origin = Origin(package="own", folder=str(torch_job(tmp_path / "own", model=model)))
    found = []
    for name, sizes in {"alone": (4,), "later": (8, 4)}.items():
        with closing(build_counter(tmp_path / name)) as counter:
            for size in sizes:
                asked = step("own", workload_options={}, origin=origin, global_batch_size=size)
                last = count(counter, asked).tensor_bytes
        found.append(last)
    assert found[0] == found[1] > 0


@pytest.mark.more
def test_a_count_goes_on_after_its_process_was_killed(counter):
    first = count(counter, step(global_batch_size=3))
    assert counter._child is not None
    os.kill(counter._child._process.pid, signal.SIGKILL)
    second = counter.find_fit(step(global_batch_size=5))
    if isinstance(second, NoFit):  # it was killed while it was asked
        second = count(counter, step(global_batch_size=5))
    assert second.tensor_bytes > first.tensor_bytes


@pytest.mark.more
def test_an_unknown_workload_is_one_line(counter):
    fit = counter.find_fit(step("no_such_workload"))
    assert isinstance(fit, NoFit)
    assert fit.reason.startswith("the step of torch_ddp cannot be traced: ")


@pytest.mark.more
@pytest.mark.slow_cases("qlora", "shape1-full", "shape0-lora", "shape0-full-full")
@pytest.mark.parametrize(
    ("method", "checkpointing", "shards", "micro_batch"),
    [("full", "none", 1, 0), ("full", "full", 4, 2), ("lora", "selective", 4, 0), ("qlora", "full", 1, 2)],
)
@pytest.mark.parametrize("shape", [{}, {"vocab_size": 64, "hidden_size": 128, "num_hidden_layers": 9}])
def test_the_count_of_a_few_equal_blocks_is_that_of_all(
    tmp_path, method, checkpointing, shards, micro_batch, shape
):
    options = {"method": method, "dtype": "bfloat16"}
    memory = MemorySettings(activation_checkpointing=checkpointing, micro_batch_size=micro_batch)
    require_equal_counts(tmp_path, shape, options, global_batch_size=4, memory_settings=memory, shards=shards)


@pytest.mark.more
def test_casts_of_weights_that_grow_with_the_blocks_are_in_the_count_of_a_few(tmp_path):
    shape = {"vocab_size": 12_000, "hidden_size": 256, "intermediate_size": 1_024, "num_hidden_layers": 24}
    options = {"dtype": "float32", "sequence_length": 64}
    memory = MemorySettings(activation_checkpointing="full", micro_batch_size=1)
    require_equal_counts(tmp_path, shape, options, global_batch_size=2, memory_settings=memory)


def require_equal_counts(
    folder: Path, shape: Mapping[str, int], options: Mapping[str, object], **asked: object
) -> None:
    pytest.importorskip("peft")
    from orchestrator.train.capture.torch_tensors import StepCount, count_few_blocks
    from workloads.native.torch_depth import find_equal_list

    (folder / "config.json").write_text(json.dumps({**CONFIG, **shape}))
    request = CaptureRequest(
        workload="causal_lm",
        workload_options={"model": str(folder), **options},
        precision="bf16",
        origin=find_origin("causal_lm"),
        **asked,
    )
    few, whole = StepCount(request), dict(StepCount(request)())
    blocks = find_equal_list(few.step.module, few.step.list_blocks())
    assert blocks is not None
    counts = dict(count_few_blocks(few, blocks) or {})
    assert counts.pop("gradients") == whole.pop("gradients")
    assert max(counts.values()) == max(whole.values())
