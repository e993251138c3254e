"""Every file in `conf/` is composed and converted."""

import json
from functools import cache

import pytest
from repository import ROOT

from orchestrator.config.composer import Composer
from orchestrator.config.loader import load
from orchestrator.config.points import build_named, load_device
from orchestrator.config.schema import POINT_GROUPS, SETTINGS_GROUPS
from orchestrator.config.values import convert_to_plain, load_defaults
from orchestrator.train.environment import tpu_name
from orchestrator.train.precision import PRECISIONS
from orchestrator.train.registry import trainers
from workloads.registry import workload

CONF = ROOT / "conf"
OPTIONS = {
    group: sorted(path.stem for path in (CONF / group).glob("*.yaml"))
    for group in (*POINT_GROUPS, *SETTINGS_GROUPS)
}
SWEEPS = sorted(path.stem for path in (CONF / "sweep").glob("*.yaml"))
PAIRS = [(group, option) for group, options in OPTIONS.items() for option in options]


@pytest.fixture(scope="module")
def nodes():
    return Composer(CONF.parent).nodes(OPTIONS)


def test_every_folder_of_conf_is_a_group():
    assert {path.name for path in CONF.iterdir() if path.is_dir()} == {*OPTIONS, "sweep", "pools"}


@pytest.mark.more_except("alexnet", "bert_base")
@pytest.mark.parametrize(("group", "option"), PAIRS)
def test_a_file_is_complete_and_named_like_what_it_is(nodes, group, option):
    plain = convert_to_plain(nodes[group, option], group=group)
    assert plain.get("name", option) == option


@pytest.mark.parametrize("option", OPTIONS["device"])
def test_a_device_file_gives_a_device_with_its_source(nodes, option):
    found = load_device(convert_to_plain(nodes["device", option], group="device"), file_name=option)
    assert found.source
    assert bool(found.driver_names) == (found.kind in ("gpu", "tpu"))
    assert (found.no_trainer is None) == (found.kind != "accelerator")
    assert bool(found.slice_type) == (found.kind == "tpu")
    assert all(1e10 < value < 1e17 for value in found.peak_flops_per_second.values())
    assert (found.tdp_watts is None) == (found.kind != "gpu")
    assert found.kind == "cpu" or 1e11 < found.memory_bytes_per_second < 1e14
    assert found.cpus.keys() == found.instances.keys()
    assert found.ray_type is not None or found.kind == "cpu" or not found.instances
    assert (found.runtime is None) == (found.kind != "tpu" or option == "tpu_v7x_8")


@pytest.mark.parametrize(
    ("option", "chips", "replicas", "bf16"),
    [
        ("t4", 1, 1, None),
        ("h200", 1, 1, 989.4e12),
        ("tpu_v3_8", 4, 8, 492e12),
        ("tpu_v4_8", 4, 4, 1100e12),
        ("tpu_v5e_8", 8, 8, 1576e12),
        ("tpu_v7x_8", 4, 8, 9228e12),
    ],
)
def test_replicas_are_cores_on_old_tpus_and_chips_elsewhere(nodes, option, chips, replicas, bf16):
    found = load_device(convert_to_plain(nodes["device", option], group="device"), file_name=option)
    assert (found.chips, found.replicas, found.peak_flops_per_second.get("bf16")) == (chips, replicas, bf16)


@pytest.mark.parametrize("option", [item for item in OPTIONS["device"] if item.startswith("tpu")])
def test_the_number_in_a_slices_type_counts_its_chips_or_two_cores_of_each(nodes, option):
    found = load_device(convert_to_plain(nodes["device", option], group="device"), file_name=option)
    generation, _, number = found.slice_type.partition("-")
    cores = 1 if generation in ("v5litepod", "v6e") else 2
    assert int(number) == found.chips * cores
    assert tpu_name(found.slice_type) in found.driver_names


def test_every_trainer_and_every_precision_has_a_file():
    assert set(OPTIONS["trainer"]) == set(trainers())
    assert set(OPTIONS["precision"]) == set(PRECISIONS)


@pytest.mark.parametrize("option", OPTIONS["workload"])
def test_a_workload_file_gives_a_workload(nodes, option, language_model):
    config = nodes["workload", option]
    named = build_named(convert_to_plain(config, group="workload"), defaults=load_defaults(config))
    without_default = {"script": {"command": "true"}, "causal_lm": {"model": str(language_model)}}
    assert workload(named.name, named.options | without_default.get(option, {})).name == named.name


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """A folder with the smallest model that `workload=causal_lm` takes."""
    folder = tmp_path_factory.mktemp("model")
    sizes = {"vocab_size": 256, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 16}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **sizes, **heads}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@cache
def loaded(sweep, *words):
    return load([f"+sweep={sweep}", *words], working_directory=CONF.parent).sweep


@pytest.mark.more_except("finetune_devices", "gpt2_devices")
@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_sweep_is_loaded_under_its_own_name(sweep, language_model):
    found = loaded(sweep, *([f"workload.model={language_model}"] if sweep == "finetune_llm" else []))
    assert found.name == {"single": "single-mnist_cnn"}.get(sweep, sweep)  # its file gives it none
    assert len({point.name for point in found.points}) == len(found.points)


def test_the_question_itself_is_asked_of_five_devices_three_trainers_and_three_precisions():
    """Points that can never run, as torch_xla on a GPU, are left out by the sweep itself."""
    found = loaded("tpu_vs_gpu")
    assert {point.trainer for point in found.points} == {"tensorflow", "torch_ddp", "torch_xla"}
    assert {point.precision for point in found.points} == {"fp32", "bf16", "fp16"}
    assert {point.device.name for point in found.points} == {"cpu", "t4", "v100", "tpu_v3_8", "tpu_v5e_8"}
