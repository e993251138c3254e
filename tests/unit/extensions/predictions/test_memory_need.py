"""The least memory of a step: below what frameworks take, and its parts by hand."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from repository import ROOT
from step_options import build_options

from orchestrator.config.loader import devices_named
from orchestrator.core.memory_fit import LEAST_CONTEXT_BYTES, NOT_COUNTED, TensorCount
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.extensions.predictions.memory_need import MemoryNeed, count_memory_need
from workloads.registry import workload

GIB = 2**30
MEASURED = [ROOT / "benchmarks/measured" / name for name in ("h100_steps.csv", "h100_published_sizes.csv")]


@pytest.fixture(scope="module")
def v100():
    return devices_named(Path("/"))["v100"]


def need(
    device,
    name,
    batch,
    *,
    precision="fp32",
    replicas=1,
    num_hosts=1,
    micro_batch_size=0,
    activation_checkpointing="none",
    sharding="none",
    **options,
):
    settings = MemorySettings(
        micro_batch_size=micro_batch_size,
        activation_checkpointing=activation_checkpointing,
        sharding=sharding,
    )
    return count_memory_need(
        workload(name, options),
        device=device,
        precision=precision,
        replicas=replicas,
        shards=settings.count_shards(replicas, num_hosts),
        global_batch_size=batch,
        memory_settings=settings,
    )


def test_it_is_below_the_count_of_all_tensors_and_above_half_of_it(v100):
    found = need(v100, "resnet18", 8, image_size=224, num_classes=1000)
    counted = 313.0e6  # of all tensors of a step of torch_ddp: docs/how_to/compiled.md
    assert counted / 2 < found.least_bytes < counted


def test_it_is_below_the_peak_that_an_h100_had(v100):
    read = (row for file in MEASURED for row in csv.DictReader(file.read_text().splitlines()))
    rows = [row for row in read if row["peak_memory_bytes"]]
    assert len(rows) > 40
    for row in rows:
        batch, options = int(row["global_batch_size"]), build_options(row.get("options", ""))
        found = need(v100, row["workload"], batch, precision=row["precision"], **options)
        assert found.least_bytes <= float(row["peak_memory_bytes"]), row


def test_half_precision_halves_the_activations_alone(v100):
    full, half = (need(v100, "vgg16", 64, precision=precision) for precision in ("fp32", "fp16"))
    assert half.activation_bytes == full.activation_bytes / 2
    assert half.weight_bytes == full.weight_bytes == full.gradient_bytes


def test_the_largest_batch_fits_and_one_more_does_not(v100):
    options = {"image_size": 224, "num_classes": 1000}
    largest = need(v100, "resnet50", 1024, replicas=4, **options).largest_batch
    assert largest % 4 == 0
    assert need(v100, "resnet50", largest, replicas=4, **options).fits
    assert not need(v100, "resnet50", largest + 4, replicas=4, **options).fits


def test_the_largest_micro_batch_fits_and_the_next_divisor_does_not(v100):
    found = need(v100, "gpt2", 1440, replicas=4, size="small")
    assert not found.fits
    size = found.largest_micro_batch
    assert 0 < size < 180
    assert 360 % size == 0
    larger = next(other for other in range(size + 1, 361) if 360 % other == 0)
    assert need(v100, "gpt2", 1440, replicas=4, size="small", micro_batch_size=size).fits
    assert not need(v100, "gpt2", 1440, replicas=4, size="small", micro_batch_size=larger).fits


def test_a_checkpointed_transformer_keeps_the_inputs_of_its_blocks_and_its_logits(v100):
    kept, selective, full = (
        need(v100, "gpt2", 4, size="small", activation_checkpointing=mode).activation_bytes
        for mode in ("none", "selective", "full")
    )
    embedded, steps, vocabulary = 768, 1024, 50_257
    logits_with_gradient = 8 * 4 * steps * vocabulary
    inputs_and_head = 4 * 4 * steps * (12 * embedded + 2 * embedded) + logits_with_gradient
    assert full == inputs_and_head
    assert full < selective < kept
    assert full == need(v100, "gpt2", 4, size="small", activation_checkpointing="full").activation_bytes
    plain = [need(v100, "mnist_cnn", 64, activation_checkpointing=mode) for mode in ("none", "full")]
    assert plain[0] == plain[1]


def test_a_checkpointed_network_holds_one_block_beside_all_inputs(v100):
    """An image has a small output: most is held in the backward pass of the last block."""
    found = need(v100, "vit_b16", 1, image_size=224, size="b16", activation_checkpointing="full")
    of_units = found.activation_bytes / (4 * 197 * 768)
    before_blocks, inputs_of_blocks, in_last_block, output = 3, 12, 11, 1
    assert of_units == pytest.approx(before_blocks + inputs_of_blocks + in_last_block + output, abs=0.02)


def test_of_shards_a_replica_holds_its_part_and_gathers_the_largest_block_and_the_rest(v100):
    whole = need(v100, "gpt2", 16, replicas=4, size="small")
    sharded = need(v100, "gpt2", 16, replicas=4, size="small", sharding="full")
    for name in ("weight_bytes", "gradient_bytes", "slot_bytes"):
        assert getattr(sharded, name) == getattr(whole, name) // 4
    assert sharded.activation_bytes == whole.activation_bytes
    block, rest = 12 * 768**2 + 13 * 768, (50_257 + 1024 + 2) * 768
    assert sharded.gathered_bytes == 4 * (block + rest)
    assert whole.gathered_bytes == 0
    assert need(v100, "gpt2", 4, size="small", sharding="full") == need(v100, "gpt2", 4, size="small")
    largest = sharded.largest_batch
    assert need(v100, "gpt2", largest, replicas=4, size="small", sharding="full").fits
    assert not need(v100, "gpt2", largest + 4, replicas=4, size="small", sharding="full").fits


def test_hybrid_shards_take_the_memory_of_the_shards_of_one_host(v100):
    host = need(v100, "gpt2", 16, replicas=4, size="small", sharding="full")
    hosts = need(v100, "gpt2", 32, replicas=8, num_hosts=2, size="small", sharding="hybrid")
    assert replace(hosts, replicas=4) == host


def test_memory_grows_with_the_micro_batch(v100):
    sizes = (1, 2, 4, 8, 16, 32)
    bytes_needed = [need(v100, "gpt2", 64, size="small", micro_batch_size=size).least_bytes for size in sizes]
    assert bytes_needed == sorted(bytes_needed)
    assert len(set(bytes_needed)) == len(sizes)


def test_no_micro_batch_is_found_where_one_sample_does_not_fit_beside_the_gradients(v100):
    sample = need(v100, "gpt2", 1, size="small")
    held = sample.weight_bytes + sample.slot_bytes + sample.gradient_bytes
    small = replace(v100, memory_bytes=float(held + sample.sample_bytes - 1))
    assert not need(small, "gpt2", 64, size="small", micro_batch_size=1).fits
    assert need(small, "gpt2", 64, size="small").largest_micro_batch == 0


def test_adam_has_two_slots_and_a_generator_counts_both_of_its_networks(v100):
    found = need(v100, "mnist_gan", 64)
    assert found.slot_bytes == 2 * found.gradient_bytes


def test_contrastive_divergence_keeps_no_activations_for_a_backward_pass(v100):
    spec = workload("mnist_dbn", {})
    first = replace(spec, phases=spec.phases[:1])
    found = count_memory_need(first, device=v100, precision="fp32", replicas=1, global_batch_size=64)
    assert (found.activation_bytes, found.gradient_bytes, found.largest_batch) == (0, 0, None)


def test_the_most_bytes_are_above_every_peak_of_an_h100_but_those_with_searched_workspaces(v100):
    read = (row for file in MEASURED for row in csv.DictReader(file.read_text().splitlines()))
    rows = [row for row in read if float(row["peak_memory_bytes"] or 0) > GIB]
    compared = 0
    for row in rows:
        options = build_options(row.get("options", ""))
        batch = int(row["global_batch_size"])
        found = need(v100, row["workload"], batch, precision=row["precision"], **options)
        has_workspace = row["workload"] == "resnet50" and row["precision"] in ("fp32", "tf32")
        compared += not has_workspace
        assert has_workspace or float(row["peak_memory_bytes"]) <= found.most_bytes, row
    assert compared >= 12


LORA = {"weight_bytes": 16 * GIB, "gradient_bytes": GIB // 4, "slot_bytes": GIB // 2, "activation_bytes": 0}


def need_of_adapters(capacity, *, moved, counted=None):
    return MemoryNeed(
        **LORA,
        sample_bytes=0,
        replicas=1,
        share=1,
        passes=1,
        capacity_bytes=capacity * GIB,
        moved_bytes=moved * GIB,
        added_bytes=LEAST_CONTEXT_BYTES,
        counted=counted,
    )


def build_count(tensors, capacity):
    return TensorCount(
        tensor_bytes=round(tensors * GIB), bucket_bytes=0, staged_bytes=0, capacity_bytes=capacity * GIB
    )


def test_a_job_with_unknown_activations_is_sure_to_fit_only_with_room_for_what_it_moves():
    """LoRA of an 8B model: 16.75 GiB at least, and 32.71 GiB counted, where 50 GiB are moved."""
    small, large = (need_of_adapters(capacity, moved=50, counted=NOT_COUNTED) for capacity in (24, 80))
    assert (small.fits, small.doubt) == (True, "not counted")
    assert (large.fits, large.doubt) == (True, "")
    assert need_of_adapters(24, moved=50).doubt == "tight", "there is no way to count it"
    assert "16.8 GiB, a has 24.0 GiB (predicted by counting); `plan` counts it" in small.describe_doubt("a")


@pytest.mark.parametrize(
    ("tensors", "fits", "doubt"), [(32.71, False, ""), (23, True, "tight"), (18, True, "")]
)
def test_a_count_decides_over_the_bounds(tensors, fits, doubt):
    found = need_of_adapters(24, moved=50, counted=build_count(tensors, 24))
    assert (found.fits, found.doubt) == (fits, doubt)
    assert ("need 32.71 GiB, a has 24.00 GiB" in found.describe_misfit("a")) == (not fits)
