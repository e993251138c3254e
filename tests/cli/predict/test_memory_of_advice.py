"""No advice begins with a device that a step may not fit: a count decides, else room for all of it."""

import json
import shlex

import pytest

from orchestrator.cli import main

pytest.importorskip("transformers", reason="transformers is not installed")

MIB = 2**20
DEVICE = """\
defaults: [t4, _self_]
name: {name}
memory_bytes: {memory_bytes}
"""
MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 2000,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "tie_word_embeddings": False,
}
SMALL = 6200
"""MiB of a device: the least bytes are 34 MiB, all tensors 8,060, and half of the batch has room."""

WORDS = (
    *("workload=causal_lm", "workload.model=model", "trainer=torch_ddp", "precision=fp32", "steps=100"),
    *("global_batch_size=2048", "report.goal=cheapest", "prices.own={small: 0.1, large: 1}", "tracking=none"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    for name, mib in (("small", SMALL), ("large", 16 * 1024)):
        file = tmp_path / f"conf/device/{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(DEVICE.format(name=name, memory_bytes=mib * MIB))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(MODEL))
    return tmp_path


def ask(capsys, *words):
    assert main([*words, *WORDS]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_count_of_plan_decides_and_without_one_a_device_with_room_comes_first(folder, capsys):
    (before,) = ask(capsys, "predict", "advise", "--json", "device=small,large")
    assert before["winner"] == "large, fp32"
    (left,) = before["left_out"]
    assert (left["setting"], left["reason"]) == (
        "small, fp32",
        "its memory is not counted, and the least may not be all",
    )
    count = shlex.split(before["next_step"]["command"])
    assert count[3] == "plan"
    assert before["next_step"]["usd"] is None

    assert main(count[3:]) == 0
    refused = " ".join(capsys.readouterr().out.split())
    assert "small has 6.05 GiB; global_batch_size=1024 or micro_batch_size=1024 fits" in refused
    (after,) = ask(capsys, "predict", "advise", "--json", "device=small,large")
    assert after["winner"] == "large, fp32"
    (left,) = after["left_out"]
    assert left["reason"].startswith("the tensors of a step need ")
    assert left["reason"] in refused
    assert "plan" not in shlex.split(after["next_step"]["command"])
    (shown,) = ask(capsys, "predict", "--json", "device=small")["predictions"]
    assert shown["refusal"]["reason"] == left["reason"]
    assert shown["memory"]["fits"] is False
