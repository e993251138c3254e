"""What is kept of the compiler's answers, which devices have a target, and how a plan uses the answers."""

import json
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from plan_builders import T4, TPU, planned, point
from repository import ROOT

from orchestrator.analysis.tables.plan import memory_lines, plan_table
from orchestrator.compile.cache import hash_key
from orchestrator.compile.child import Limits
from orchestrator.compile.step import (
    StepProgram,
    with_lighter_settings,
    with_smaller_batch,
    with_smaller_micro_batch,
)
from orchestrator.compile.tensors import GpuTensorCounter
from orchestrator.config.loader import devices_named
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.core.memory_fit import (
    CONTEXT_BYTES,
    EXCHANGE_BYTES,
    NOT_COUNTED,
    MemoryFit,
    NoFit,
    TensorCount,
)
from orchestrator.core.placement import Plan
from orchestrator.core.settings import Compiling
from orchestrator.core.trainer import TrainerEnvironment
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.extensions.tpu_compiler.compiler_output import reported_bytes
from orchestrator.extensions.tpu_compiler.memory import TpuMemoryCompiler
from orchestrator.extensions.tpu_compiler.program_cache import CapturedProgram, ProgramCache
from orchestrator.extensions.tpu_compiler.targets import LIBTPU_VERSION, find_target
from orchestrator.extensions.tpu_compiler.tpu_programs import TpuPrograms
from orchestrator.plan.memory import memory_key
from orchestrator.train.capture.request import CaptureRequest

GIB = 2**30
FITS = MemoryFit(needed_bytes=3 * GIB, granted_bytes=16 * GIB, compiler="libtpu 0")
MISFIT = MemoryFit(needed_bytes=28 * GIB, granted_bytes=16 * GIB, compiler="libtpu 0", batch_that_fits=32)
ON_TPU = point(trainer="tensorflow", device=TPU, precision="bf16")
REQUEST = CaptureRequest(
    workload="lenet5", workload_options={"num_classes": 10}, precision="bf16", global_batch_size=128
)
STEP = StepProgram(
    trainer="torch_xla",
    options={},
    environment=TrainerEnvironment(python="python", versions={}, missing=None),
    request=REQUEST,
    device=TPU,
    num_workers=1,
)


def with_fit(fit: MemoryFit | NoFit, **changes: object) -> Plan:
    asked = replace(ON_TPU, **changes)
    (placed,) = planned(ON_TPU).placements
    return planned(asked, memory_fits={memory_key(placed.trial): fit})


def test_a_point_that_does_not_fit_is_skipped_with_both_sizes_and_a_batch_that_fits():
    plan = with_fit(MISFIT)
    assert plan.placements == ()
    assert [skipped.reason for skipped in plan.skipped] == [
        "a step needs 28.00 GiB, tpu_v3_8 grants a replica 16.00 GiB; global_batch_size=32 fits "
        "(compiled, libtpu 0)"
    ]


def test_a_point_that_fits_shows_it_in_its_row():
    (row,) = plan_table(with_fit(FITS)).rows
    assert (
        "a step takes 3.00 GiB of the 16.00 GiB that tpu_v3_8 grants a replica (compiled, libtpu 0)" in row[2]
    )


@pytest.mark.parametrize(
    "changes", [{"global_batch_size": 128}, {"precision": "tpu_default"}, {"workload": "lenet5"}]
)
def test_a_verdict_holds_for_its_own_step_alone(changes):
    plan = with_fit(MISFIT, **changes)
    assert len(plan.placements) == 1
    assert plan.memory == {}


@pytest.mark.parametrize("changes", [{"seed": 3}, {"steps": 240}])
def test_seed_and_length_change_no_memory(changes):
    assert with_fit(MISFIT, **changes).placements == ()


def test_an_unknown_memory_stops_no_trial_and_is_counted_by_its_reason():
    plan = with_fit(NoFit(reason="there is no TPU compiler"))
    assert len(plan.placements) == 1
    assert memory_lines(plan.memory.values()) == ("memory of 1 step not checked: there is no TPU compiler",)
    assert memory_lines(with_fit(FITS).memory.values()) == ()
    assert memory_lines([NOT_COUNTED, NOT_COUNTED]) == (
        "memory of 2 steps not checked: cluster.missing_device=skip leaves out devices that are not here; "
        "rehearse checks them too",
    )


def test_a_plan_with_verdicts_is_read_back():
    for fit in (FITS, NoFit(reason="no compiler")):
        plan = with_fit(fit)
        assert codec.from_json(Plan, codec.to_json(plan)).memory == plan.memory
    stored = json.loads(codec.to_json(with_fit(FITS)))
    del stored["memory"]  # as an earlier version wrote it
    assert codec.from_plain(Plan, stored).memory == {}


def test_a_step_of_exactly_the_granted_memory_fits():
    assert replace(FITS, needed_bytes=FITS.granted_bytes).fits
    assert not replace(FITS, needed_bytes=FITS.granted_bytes + 1).fits


def test_every_tpu_of_the_configuration_has_a_target_with_a_partition_for_each_replica(tmp_path):
    devices = devices_named(tmp_path)
    tpus = {name: device for name, device in devices.items() if device.kind == "tpu"}
    assert len(tpus) >= 8
    for device in tpus.values():
        target = find_target(device)
        assert target is not None
        assert target.partitions == device.replicas
    assert find_target(tpus["tpu_v4_8"]).chip_config == "megacore"  # type: ignore[union-attr]
    assert find_target(tpus["tpu_v5e_8"]).topology == "v5e:2x4"  # type: ignore[union-attr]
    assert {name for name, device in devices.items() if find_target(device)} == set(tpus)


def test_the_total_is_read_from_a_whole_report_alone():
    report = "Memory Space: default (color=0)\nTotal bytes: 8564736 (8.17MiB)\n  cumulative_size; size;\n"
    assert reported_bytes(report) == 8_564_736
    assert reported_bytes(report[:50]) is None  # the file is written while it is read
    assert reported_bytes("") is None


def test_answers_are_kept_by_everything_that_they_depend_on(tmp_path):
    cache = ProgramCache(tmp_path / "compiled")
    assert cache.fit("a") is None
    cache.keep_fit("a", FITS)
    captured = CapturedProgram(module=b"module", batch_parameters=(0, 3), host_seconds=0.1)
    cache.keep_program("b", captured)
    assert cache.fit("a") == FITS
    assert cache.program("b") == captured
    keys = {
        hash_key("capture", "torch_xla", {"torch": "2.9"}, REQUEST, "code"),
        hash_key("capture", "torch_xla", {"torch": "2.9"}, REQUEST, "other code"),
        hash_key("capture", "torch_xla", {"torch": "2.8"}, REQUEST, "code"),
        hash_key("capture", "torch_xla", {"torch": "2.9"}, replace(REQUEST, global_batch_size=64), "code"),
    }
    assert len(keys) == 4


def test_a_spoiled_answer_is_asked_for_again(tmp_path):
    cache = ProgramCache(tmp_path)
    cache.keep_fit("a", FITS)
    (tmp_path / "a.memory.json").write_text("{")
    assert cache.fit("a") is None
    captured = CapturedProgram(module=b"module", batch_parameters=(0,), host_seconds=None)
    for spoiled in ("nonsense", "[0]", '{"batch_parameters": [0]}'):
        cache.keep_program("b", captured)
        assert cache.program("b") == captured
        (tmp_path / "b.capture.json").write_text(spoiled)
        assert cache.program("b") is None


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path):
    (tmp_path / "file").write_text("")
    cache = ProgramCache(tmp_path / "file")
    cache.keep_fit("a", FITS)
    assert cache.fit("a") is None


def compiler(folder: Path, *, python: str = "/no/python", compiles: bool = True) -> TpuMemoryCompiler:
    limits = Limits(seconds=10, memory_bytes=GIB)
    programs = TpuPrograms(python=python, folder=folder, limits=limits, code_sha256="code", captures=compiles)
    return TpuMemoryCompiler(programs, compiles=compiles)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (STEP, "there is no TPU compiler; get it with: make tpu-compile"),
        (replace(STEP, trainer="torch_tpu"), "programs of torch_tpu cannot be captured"),
        (replace(STEP, num_workers=2), "programs over several slices are not compiled"),
        (
            replace(STEP, device=replace(TPU, slice_type="v9-8")),
            "the TPU compiler has no target for tpu_v3_8",
        ),
    ],
)
def test_a_step_that_cannot_be_compiled_shows_why(tmp_path, step, reason):
    assert compiler(tmp_path).find_fit(step) == NoFit(reason=reason)


@pytest.mark.parametrize("name", ["seconds", "memory_gib"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_must_be_positive_and_finite(name, value):
    with pytest.raises(ConfigError, match=f"compile.{name}="):
        Compiling(**{name: value})


def counted(tensors: float, *, capacity: float = 16, buckets: float = 0) -> TensorCount:
    return TensorCount(
        tensor_bytes=round(tensors * GIB),
        bucket_bytes=round(buckets * GIB),
        staged_bytes=GIB // 2,
        capacity_bytes=round(capacity * GIB),
    )


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (
            counted(9.31),
            "fits: the tensors of a step take 9.31 GiB of the 16.00 GiB of v100",
        ),
        (
            counted(14),
            "tight: the tensors of a step take 14.00 GiB of the 16.00 GiB of v100",
        ),
        (
            counted(12.5, buckets=2),
            "tight: the tensors of a step take 14.50 GiB of the 16.00 GiB of v100",
        ),
        (
            counted(16.7),  # BERT took 0.954 times its count on an H100
            "tight: the tensors of a step take 16.70 GiB of the 16.00 GiB of v100",
        ),
        (counted(16.8), "the tensors of a step need 16.80 GiB, v100 has 16.00 GiB"),  # beside the context
        (counted(17.1), "the tensors of a step need 17.10 GiB, v100 has 16.00 GiB"),
        (
            counted(15, buckets=2.1),
            "the tensors of a step need 17.10 GiB, v100 has 16.00 GiB",
        ),
        (
            replace(counted(17.1), batch_that_fits=64),
            "the tensors of a step need 17.10 GiB, v100 has 16.00 GiB; global_batch_size=64 fits",
        ),
    ],
)
def test_a_gpu_fits_is_tight_or_does_not_fit(count, words):
    told, _, used = count.words("v100").partition("; with CUDA and what PyTorch's allocator keeps it shows ")
    assert told == f"{words} (predicted by counting)"
    assert count.fits == ("need" not in words)
    assert bool(used) == count.fits


def test_what_a_gpu_shows_is_more_than_its_tensors_and_has_an_interval():
    used = counted(10).used_bytes
    assert 10 * GIB + CONTEXT_BYTES <= used.low < used.median < used.high
    assert "it shows 12.70 GiB [10.50 GiB, 15.75 GiB] (predicted from published steps)" in counted(10).words(
        "v100"
    )
    several = replace(counted(10), exchange_bytes=EXCHANGE_BYTES).used_bytes
    assert several.median - used.median == EXCHANGE_BYTES


def test_tensors_that_take_all_but_the_context_are_tight():
    """15.04 GiB that the driver leaves, less 1 GiB of batches and context, over 1.15."""
    assert not counted(12.2).is_tight
    assert counted(12.3).is_tight


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"trainer": "tensorflow"}, "tensors of tensorflow on GPUs are not counted"),
        ({"options": {"compile": "on"}}, "torch.compile fuses operations, and its tensors are not counted"),
        ({"device": replace(T4, memory_bytes=None)}, "the memory of t4 is unknown: memory_bytes in its file"),
        ({"environment": TrainerEnvironment(python="p", versions={}, missing="no torch")}, "no torch"),
    ],
)
def test_tensors_that_cannot_be_counted_give_the_reason(tmp_path, changes, reason):
    counter = GpuTensorCounter(
        folder=tmp_path, limits=Limits(seconds=1, memory_bytes=GIB), code_sha256="code", compiles=True
    )
    on_gpu = replace(STEP, trainer="torch_ddp", device=replace(T4, memory_bytes=16.0 * GIB))
    asked = replace(on_gpu, **changes)
    assert counter.find_fit(asked) == NoFit(reason=reason)
    assert counter.knows(asked)


def test_every_gpu_of_the_configuration_has_its_memory(tmp_path):
    gpus = {name: device for name, device in devices_named(tmp_path).items() if device.kind == "gpu"}
    assert len(gpus) >= 15
    for name, device in gpus.items():
        assert device.memory_bytes is not None, name
        assert 16 * GIB <= device.memory_bytes <= 288 * GIB


def test_the_extra_pins_the_version_with_known_limits():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["tpu-compile"] == [f"libtpu=={LIBTPU_VERSION}"]


def test_another_version_of_the_compiler_is_not_asked(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 0.0.21\n")
    python.chmod(0o755)
    assert compiler(tmp_path, python=str(python)).find_fit(STEP) == NoFit(
        reason="the TPU compiler is libtpu 0.0.21, not 0.0.52; get it with: make tpu-compile"
    )


def test_without_room_for_temporary_files_the_reason_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/no/folder")
    counter = GpuTensorCounter(
        folder=tmp_path, limits=Limits(seconds=1, memory_bytes=GIB), code_sha256="code", compiles=True
    )
    fit = counter.find_fit(replace(STEP, trainer="torch_ddp", device=replace(T4, memory_bytes=16.0 * GIB)))
    assert isinstance(fit, NoFit)
    assert "No such file or directory: '/no/folder/" in fit.reason


def limited_to(batch: int, asked: list[int]):
    def find_fit(step: StepProgram) -> MemoryFit:
        asked.append(step.request.global_batch_size)
        return replace(FITS, needed_bytes=asked[-1], granted_bytes=batch)

    return find_fit


@pytest.mark.parametrize(
    ("limit", "finds_largest", "found"),
    [(1500, False, 1024), (1500, True, 1496), (1023, True, 1016), (7, True, None), (8, True, 8)],
)
def test_a_smaller_batch_is_a_half_or_the_largest_to_a_32nd(limit, finds_largest, found):
    asked: list[int] = []
    step = replace(STEP, request=replace(REQUEST, global_batch_size=2048), device=replace(TPU, replicas=8))
    fit = with_smaller_batch(step, limited_to(limit, asked), finds_largest=finds_largest)
    assert isinstance(fit, MemoryFit)
    assert not fit.fits
    batch = fit.batch_that_fits
    if found is None or not finds_largest:
        assert batch == found
    else:
        assert batch is not None
        assert found - found // 32 <= batch <= found
        assert batch % 8 == 0
    assert len(asked) == len(set(asked))
    assert len(asked) < 16


@pytest.mark.parametrize("finds_largest", [False, True])
def test_no_batch_is_proposed_that_is_tight(finds_largest):
    """By counting, 8 GiB for 64 samples: 16.5 GiB at 132 may fit, and is no advice."""
    step = replace(STEP, request=replace(STEP.request, global_batch_size=256))

    def find_fit(asked):
        return counted(asked.request.global_batch_size / 8)

    fit = with_smaller_batch(step, find_fit, finds_largest=finds_largest)
    assert fit.batch_that_fits is not None
    assert counted(fit.batch_that_fits / 8).is_sure_to_fit
    assert find_fit(replace(step, request=replace(STEP.request, global_batch_size=132))).fits
    assert not counted(132 / 8).is_sure_to_fit


@pytest.mark.parametrize(
    ("capacity", "sizes", "found"),
    [
        (16, {}, (64, 32)),
        (16, {"global_batch_size": 512, "num_workers": 2}, (128, 32)),
        (7, {}, (32, None)),
        (16, {"micro_batch_size": 128}, (None, 32)),
    ],
)
def test_a_micro_batch_is_proposed_that_fits_beside_the_gradients(capacity, sizes, found):
    """A sample takes 1/8 GiB, gradients 5 GiB; one sample beside them fits no device of 7 GiB."""

    def find_fit(asked: StepProgram) -> TensorCount:
        share = asked.request.global_batch_size // asked.replicas
        passes = asked.request.memory_settings.count_passes(share)
        return counted(share / passes / 8 + (5 if passes > 1 else 0), capacity=capacity)

    settings = MemorySettings(micro_batch_size=sizes.get("micro_batch_size", 0))
    request = replace(
        REQUEST, global_batch_size=sizes.get("global_batch_size", 256), memory_settings=settings
    )
    step = replace(
        STEP, trainer="torch_ddp", device=T4, num_workers=sizes.get("num_workers", 1), request=request
    )
    smaller = with_smaller_batch(step, find_fit, finds_largest=False)
    assert isinstance(smaller, TensorCount)
    fit = with_smaller_micro_batch(step, smaller, find_fit)
    assert (fit.batch_that_fits, fit.micro_batch_that_fits) == found
    batch, size = found
    words = [f"global_batch_size={batch}"] * bool(batch) + [f"micro_batch_size={size}"] * bool(size)
    assert f"; {' or '.join(words)} fits" in fit.words("t4")


def test_a_batch_with_an_odd_share_of_each_of_several_workers_is_made_smaller() -> None:
    """Three samples each take 18 GiB, one takes 6; in micro batches 2 GiB of gradients stay beside it."""

    def find_fit(asked: StepProgram) -> TensorCount:
        share = asked.request.global_batch_size // asked.replicas
        passes = asked.request.memory_settings.count_passes(share)
        return counted(6 * share / passes + (2 if passes > 1 else 0))

    request = replace(REQUEST, global_batch_size=6)
    step = replace(STEP, trainer="torch_ddp", device=T4, num_workers=2, request=request)
    fit = with_smaller_batch(step, find_fit, finds_largest=False)
    assert isinstance(fit, TensorCount)
    fit = with_smaller_micro_batch(step, fit, find_fit)
    assert (fit.batch_that_fits, fit.micro_batch_that_fits) == (2, 1)


def test_one_more_worker_is_proposed_before_a_lighter_method() -> None:
    def find_fit(asked: StepProgram) -> TensorCount:
        return counted(8 if "method" in asked.request.workload_options else 48 / asked.num_workers)

    request = replace(REQUEST, global_batch_size=12)
    lighter = (
        ("num_workers=3", request, 3),
        ("num_workers=4", request, 4),
        ("workload.method=lora", replace(request, workload_options={"method": "lora"}), 2),
    )
    step = replace(
        STEP, trainer="torch_ddp", device=T4, num_workers=2, request=request, list_lighter=lambda: lighter
    )
    fit = with_lighter_settings(step, counted(24), find_fit)
    assert fit.settings_that_fit == "num_workers=4"


@pytest.mark.parametrize(
    ("capacity", "can_divide", "found", "most_counts"),
    [
        (60, True, "activation_checkpointing=full", 2),
        (30, True, "activation_checkpointing=full micro_batch_size=2", 4),
        (30, False, "workload.method=lora", 2),
        (12, True, "workload.method=lora micro_batch_size=4", 4),
        (3, True, "", 5),
    ],
)
def test_lighter_settings_are_proposed_that_fit_and_cost_least_time(capacity, can_divide, found, most_counts):
    """A sample takes 8 GiB, a checkpointed one 4, with adapters 2; gradients take 8 GiB, of adapters none."""
    asked: list[CaptureRequest] = []

    def find_fit(step: StepProgram) -> TensorCount:
        asked.append(step.request)
        settings, is_lora = step.request.memory_settings, "method" in step.request.workload_options
        passes = settings.count_passes(8)
        sample = 2 if is_lora else 4 if settings.activation_checkpointing == "full" else 8
        return counted(sample * 8 / passes + (8 if passes > 1 and not is_lora else 0), capacity=capacity)

    request = replace(REQUEST, global_batch_size=8)
    lighter = (
        (
            "activation_checkpointing=full",
            replace(request, memory_settings=MemorySettings(activation_checkpointing="full")),
            1,
        ),
        ("workload.method=lora", replace(request, workload_options={"method": "lora"}), 1),
    )
    step = replace(
        STEP,
        trainer="torch_ddp",
        device=T4,
        request=request,
        can_divide=can_divide,
        list_lighter=lambda: lighter,
    )
    fit = with_lighter_settings(step, counted(64, capacity=capacity), find_fit)
    assert fit.settings_that_fit == found
    assert fit.words("t4").endswith(f"; {found} fits (predicted by counting)") is bool(found)
    assert len(asked) <= 2 * most_counts
