"""Published rates of transformers: what is predicted from them, and what is refused."""

from dataclasses import replace

import pytest
from shipped_devices import shipped_catalogue

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.extensions.predictions.step_breakdown import find_step_breakdown
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.flops import block_flops
from workloads.layers import Dense, Embedding, Recurrent
from workloads.network import Draft
from workloads.registry import workload
from workloads.sequence_layers import Attention

MODELS = default_models()
CATALOGUE = shipped_catalogue()


def test_an_unpublished_transformer_is_predicted_roughly_with_its_source():
    step = build_published_estimate(query("llama_style", "a100_80", size="160m"), MODELS).step
    assert isinstance(step, Estimate)
    assert step.source == "other networks on this device in 16 bit (NVIDIA, Lambda, MosaicML and 6 more)"


def test_a_transformer_on_an_unmeasured_cpu_is_refused():
    step = build_published_estimate(query("gpt2", "cpu", size="small"), MODELS).step
    assert isinstance(step, Refusal)
    assert step.reason.startswith("no CPU of this kind was measured")


def test_more_workers_than_one_host_has_are_refused_without_their_network():
    on_one_host, over_hosts = (
        build_published_estimate(query("gpt2", "h100", size="small", num_workers=count), MODELS).step
        for count in (8, 16)
    )
    assert isinstance(on_one_host, Estimate)
    assert isinstance(over_hosts, Refusal)
    reason = "the network between hosts is unknown; cluster.network_gbps has the Gb/s of one host"
    assert over_hosts.reason == reason
    of_tpus = query("gpt2", "tpu_v5e_8", size="small", num_workers=16)
    refusal = build_published_estimate(of_tpus, MODELS).step
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "rates are of at most 8 workers, not 16"
    assert refusal.to_measure == "a transformer there in bf16 with 16 workers"


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("mi300x", "no published step is of an AMD GPU, as mi300x is one"),
        ("trainium2", "trainium2 trains with AWS's Neuron SDK alone, which no trainer here uses"),
        ("gaudi3", "gaudi3 trains with Intel's Gaudi software alone, which no trainer here uses"),
    ],
)
def test_an_accelerator_of_another_maker_is_refused_with_the_reason(device, reason):
    step = build_published_estimate(query("gpt2", device, size="small"), MODELS).step
    assert isinstance(step, Refusal)
    assert step.reason == reason


def test_a_blackwell_gpu_is_predicted_roughly_from_its_peaks():
    step = build_published_estimate(query("gpt2", "b200", size="small"), MODELS).step
    assert isinstance(step, Estimate)
    assert step.source.startswith("rough: gpt2 on other devices")


def test_a_recurrent_network_with_attention_is_no_transformer():
    draft = Draft(input_shape=(10,))
    draft.chain(Embedding(vocabulary=50, units=6), Recurrent(cell="lstm", units=6), Dense(units=18))
    draft.chain(Attention(heads=2, head_units=3), Dense(units=50))
    asked = query("gpt2", "h100", size="tiny")
    network = replace(asked.spec, networks={"model": draft.done()})
    assert asked.family == "transformer"
    assert replace(asked, spec=network).family is None


def test_the_time_of_micro_batches_is_their_sum_with_one_exchange():
    models = MODELS
    whole = replace(query("gpt2", "h100", size="small", num_workers=2), global_batch_size=32)
    divided = replace(whole, memory_settings=MemorySettings(micro_batch_size=4))
    one = replace(whole, global_batch_size=8).parts(models.parts)
    parts = divided.parts(models.parts)
    assert parts.host == pytest.approx(4 * one.host)
    assert 3 * one.device < parts.device < 4 * one.device  # the weights are updated once
    step = build_published_estimate(divided, models).step
    assert step.likely > build_published_estimate(whole, models).step.likely
    assert "in no published step" not in step.source
    assert step.past != ""
    assert divided.roofline.exchange_seconds == whole.roofline.exchange_seconds
    assert divided.roofline.compute_seconds == pytest.approx(whole.roofline.compute_seconds)


def test_blocks_that_are_computed_again_take_another_forward_pass():
    whole = replace(query("llama_style", "h100", size="1.1b"), global_batch_size=4)
    full, selective = (
        replace(whole, memory_settings=MemorySettings(activation_checkpointing=mode))
        for mode in ("full", "selective")
    )
    forward = block_flops(whole.spec.networks["model"])[0] * 4
    assert full.demand.flops - whole.demand.flops == pytest.approx(forward)
    assert 0.3 < full.demand.recomputed_flops / whole.demand.flops < 1 / 3
    assert whole.demand.flops < selective.demand.flops < full.demand.flops
    seconds = [build_published_estimate(one, MODELS).step.likely for one in (whole, selective, full)]
    assert seconds == sorted(seconds)
    assert 1.2 < seconds[2] / seconds[0] < 1.4
    assert full.own_labels == whole.own_labels
    step = build_published_estimate(full, MODELS).step
    assert "in no published step" not in step.source
    assert step.past != ""
    other = build_published_estimate(selective, MODELS).step
    assert other.source.endswith("blocks computed again, in no published step")
    assert other.past == ""
    assert full.roofline.recomputed_seconds == pytest.approx(
        full.roofline.compute_seconds - whole.roofline.compute_seconds
    )


def test_shards_gather_weights_twice_and_scatter_gradients_once_in_every_pass():
    whole = replace(query("llama_style", "h100", size="1.1b", num_workers=8), global_batch_size=32)
    sharded, divided = (
        replace(whole, memory_settings=MemorySettings(sharding="full", micro_batch_size=size))
        for size in (0, 2)
    )
    weights, link = whole.demand.gradient_bytes, whole.device.link_bytes_per_second
    assert sharded.roofline.exchange_seconds == pytest.approx(7 / 8 * 3 * weights / link)
    assert divided.roofline.exchange_seconds == pytest.approx(2 * sharded.roofline.exchange_seconds)
    of_update = 7  # gradient read; weight and two slots read and written
    saved = whole.demand.weight_bytes - sharded.demand.weight_bytes
    assert saved == pytest.approx(7 / 8 * of_update * weights)
    found = find_step_breakdown(sharded, MODELS)
    assert found.gather == pytest.approx(2 * found.exchange)
    assert found.gather + found.exchange == pytest.approx(sharded.roofline.exchange_seconds)
    assert find_step_breakdown(whole, MODELS).gather == 0
    steps = [build_published_estimate(one, MODELS).step for one in (whole, sharded)]
    assert steps[1].high / steps[1].low > steps[0].high / steps[0].low
    assert "in no published step" not in steps[1].source
    assert steps[1].past != ""


def test_hybrid_shards_gather_within_a_host_and_sum_their_gradients_between_hosts():
    whole = replace(query("llama_style", "h100", size="1.1b", num_workers=8), global_batch_size=32)
    hybrid = replace(whole, memory_settings=MemorySettings(sharding="hybrid"), num_hosts=2)
    weights, link = whole.demand.gradient_bytes, whole.device.link_bytes_per_second
    exchanged = 3 / 4 * 3 * weights + 2 * (1 / 2) * weights / 4
    assert hybrid.shards == 4
    assert hybrid.roofline.exchange_seconds == pytest.approx(exchanged / link)
    refusal = build_published_estimate(hybrid, MODELS).step
    assert isinstance(refusal, Refusal)
    assert refusal.reason.startswith("the network between hosts is unknown; cluster.network_gbps")
    over_network = replace(hybrid, network_gbps=link * 8 / 2 / 1e9 / 4)  # a quarter of a link, of four
    within, between = 3 / 4 * 3 * weights, 4 * 4 * 2 * (1 / 2) * weights / 4
    assert over_network.roofline.exchange_seconds == pytest.approx((within + between) / link)


def test_a_single_replica_has_nothing_to_gather():
    whole = query("llama_style", "h100", size="1.1b")
    sharded = replace(whole, memory_settings=MemorySettings(sharding="full"))
    assert sharded.demand == whole.demand
    assert build_published_estimate(sharded, MODELS).step == build_published_estimate(whole, MODELS).step


def query(name, device, *, size, num_workers=1):
    return StepQuery(
        spec=workload(name, {"size": size}),
        device=CATALOGUE.devices[device],
        precision="bf16",
        num_workers=num_workers,
        global_batch_size=16 * num_workers,
    )
