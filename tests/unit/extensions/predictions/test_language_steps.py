"""Published steps of large language models: what is predicted from them, and what is refused."""

import csv
import json
import math
from dataclasses import replace
from functools import partial
from statistics import fmean, median

import pytest
from effect_fitting import score
from language_steps import SIZES_BY_MODEL, adapt, language_steps
from repository import ROOT
from shipped_devices import shipped_catalogue

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.crossed_effects import CrossedEffects
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.llama_style.spec import build_network
from workloads.native.torch_cost import count_cost
from workloads.registry import workload
from workloads.traffic import count_values_moved

MODELS = default_models()
CATALOGUE = shipped_catalogue()
STEPS = list(language_steps())
SHARDED = MemorySettings(sharding="full", activation_checkpointing="full")
LANGUAGE = ("llama_style", "causal_lm")


def ask(device: str, *, num_workers: int, sequence_length: int = 8192, size: str = "8b") -> StepQuery:
    return StepQuery(
        spec=workload("llama_style", {"size": size, "sequence_length": sequence_length}),
        device=CATALOGUE.devices[device],
        precision="bf16",
        num_workers=num_workers,
        global_batch_size=num_workers,
        memory_settings=SHARDED,
    )


def ask_adapters(device: str, size: str, *, sequence_length: int = 2048) -> StepQuery:
    spec = adapt(SIZES_BY_MODEL[size], sequence_length)
    return replace(ask(device, num_workers=1), spec=spec)


def answer(query: StepQuery) -> Estimate | Refusal:
    return build_published_estimate(query, MODELS).step


def test_every_published_step_uses_between_three_tenths_and_the_whole_of_the_peak():
    for step in STEPS:
        peak = CATALOGUE.devices[step.device].peak_flops_per_second["bf16"]
        query = replace(
            ask(step.device, num_workers=step.num_workers),
            spec=step.spec,
            global_batch_size=step.global_batch_size,
            memory_settings=step.memory_settings,
        )
        performed = query.passes * query.demand.flops / step.seconds / step.num_workers
        assert 0.3 < performed / peak < 1, step.laboratory


def test_laboratories_that_are_held_out_lie_in_their_intervals():
    """Steps of a laboratory are predicted from those of all others; the deviations saw all of them."""
    errors: dict[str, list[tuple[float, float]]] = {}
    for laboratory in dict.fromkeys(step.laboratory for step in STEPS):
        others = [step for step in MODELS.steps if step.labels.laboratory != laboratory]
        effects = CrossedEffects(others, MODELS.deviations)
        errors[laboratory] = [
            score(step, effects)
            for step in MODELS.steps
            if step.labels.laboratory == laboratory and step.labels.network.startswith(LANGUAGE)
        ]
    assert len(errors) == 11
    every = [one for scores in errors.values() for one in scores]
    assert len(every) == len(STEPS)
    held = [abs(error) <= MODELS.quantile * deviation for error, deviation in every]
    assert fmean(held) >= 0.9
    assert fmean(abs(error) <= math.log(1.35) for error, _ in every) >= 0.6
    assert median(math.exp(MODELS.quantile * deviation) for _, deviation in every) < 2.3


@pytest.mark.parametrize("device", ["h100", "a100_80", "h200"])
def test_eight_billion_parameters_over_eight_devices_are_predicted(device):
    step = answer(ask(device, num_workers=8))
    assert isinstance(step, Estimate)
    assert step.high / step.likely < 2.1
    assert step.source.startswith("llama_style on this device in 16 bit (")
    assert "no published step" not in step.source
    assert step.past.startswith("checked on ")
    tokens = 8 * 8192 / step.likely
    most = 8 * CATALOGUE.devices[device].peak_flops_per_second["bf16"] / 6 / 8e9
    assert 0.25 * most < tokens < 0.7 * most


def test_longer_samples_than_published_ones_are_refused():
    step = answer(ask("h100", num_workers=8, sequence_length=16_384))
    assert isinstance(step, Refusal)
    assert step.reason == "samples have at most 8,192 tokens in published steps, not 16,384"


def test_adapters_are_predicted_beside_weights_of_published_sizes_alone():
    llama3_405b = replace(
        SIZES_BY_MODEL["llama3_8b"], layers=126, heads=128, units=16_384, hidden=53_248, vocabulary=128_256
    )
    known = answer(ask_adapters("h100", "llama2_70b"))
    larger = answer(replace(ask("h100", num_workers=1), spec=adapt(llama3_405b, 2048)))
    assert isinstance(known, Estimate)
    assert known.source.startswith("causal_lm on this device in 16 bit (")
    assert isinstance(larger, Refusal)
    assert "measured were" in larger.reason


def test_weights_of_four_bits_take_time_to_unpack_and_are_predicted():
    plain = ask_adapters("a100_80", "llama3_8b")
    packed = replace(plain, spec=adapt(SIZES_BY_MODEL["llama3_8b"], 2048, is_packed=True))
    steps = answer(plain), answer(packed)
    assert steps[0].likely < steps[1].likely < 1.3 * steps[0].likely
    shards = replace(ask("a100_80", num_workers=2), spec=packed.spec)
    assert shards.demand.gathered_bytes < 0.4 * replace(shards, spec=plain.spec).demand.gathered_bytes


def test_a_pass_reads_frozen_weights_at_the_bandwidth_of_the_memory():
    one = replace(ask_adapters("a100_80", "llama3_8b"), global_batch_size=8)
    eight = replace(one, memory_settings=replace(SHARDED, micro_batch_size=1))
    assert (one.passes, eight.passes) == (1, 8)
    longer = eight.parts(MODELS.parts).device - one.parts(MODELS.parts).device
    reading = 7 * one.demand.weight_bytes / one.peaks.memory_bytes_per_second
    assert reading < longer < 1.2 * reading


def test_adapters_take_less_time_than_all_weights():
    whole = ask("a100_80", num_workers=1, sequence_length=2048)
    steps = answer(ask_adapters("a100_80", "llama3_8b")), answer(whole)
    assert steps[0].likely < steps[1].likely


def test_an_update_is_counted_once_in_all_passes():
    once = replace(ask("h100", num_workers=1, size="1b"), global_batch_size=8)
    divided = replace(once, memory_settings=replace(SHARDED, micro_batch_size=2))
    assert divided.passes == 4
    update = 7 * once.demand.gradient_bytes  # gradient read; weight and two slots read and written
    read = once.demand.weight_bytes - update
    assert divided.demand.weight_bytes == pytest.approx(read + update / 4)


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_adapters_count_as_the_job_of_a_hugging_face_model_does(tmp_path, method):
    """The shape is one block of Llama 3 8B with a small vocabulary."""
    pytest.importorskip("peft")
    from workloads.causal_lm.options import Options  # needs transformers
    from workloads.causal_lm.torch_job import build

    size = replace(SIZES_BY_MODEL["llama3_8b"], layers=2, units=512, hidden=1792, heads=8, vocabulary=1024)
    size = replace(size, kv_heads=2)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": size.vocabulary,
        "hidden_size": size.units,
        "intermediate_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "max_position_embeddings": 256,
        "tie_word_embeddings": False,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    options = Options(model=str(tmp_path), method=method, sequence_length=256, dtype="bfloat16")
    counted = count_cost(build(options), partial(build, options))
    declared = adapt(size, 256, is_packed=method == "qlora").cost
    assert counted.value_bytes_per_sample == declared.value_bytes_per_sample
    assert counted.value_bytes_per_sample == 4 * count_values_moved(build_network(size, 256))
    assert counted.flops_per_sample == pytest.approx(declared.flops_per_sample, rel=0.06)
    assert counted.trained_bytes == pytest.approx(declared.trained_bytes)
    assert counted.held_bytes == pytest.approx(declared.held_bytes, rel=0.01)
    assert counted.weight_bytes == pytest.approx(declared.weight_bytes, rel=0.15)
    assert counted.blocks.weight_bytes == pytest.approx(declared.blocks.weight_bytes, rel=0.15)
    assert counted.layers == declared.layers


def test_no_row_of_the_table_is_there_twice():
    rows = list(csv.reader((ROOT / "tools" / "language_steps.csv").read_text().splitlines()))
    assert len({tuple(row) for row in rows}) == len(rows) == len(STEPS) + 1
