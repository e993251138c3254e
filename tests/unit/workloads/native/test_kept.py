"""Descriptions of a bundled job, kept for the next command, and never used for another job."""

import json
import os
from pathlib import Path

import pytest

from workloads.apart import Room
from workloads.native import kept
from workloads.origins import Origin
from workloads.registry import find_origin, forget, workload

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def find_place(**options: object) -> Path | None:
    return kept.find_place("causal_lm", find_origin("causal_lm"), options)


def test_a_place_is_the_same_until_a_file_or_an_option_changes(model, monkeypatch):
    first = find_place(model=str(model))
    assert first is not None
    assert first == find_place(model=str(model))
    assert first != find_place(model=str(model), method="lora")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert first != find_place(model=str(model))
    monkeypatch.delenv("PYTHONPATH")
    config = model / "config.json"
    stat = config.stat()
    config.write_text(json.dumps({**CONFIG, "vocab_size": 65}))
    os.utime(config, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert first != find_place(model=str(model)), "a file of the same size and age"


def test_a_new_file_of_the_data_is_another_place(model, tmp_path):
    (data := tmp_path / "data").mkdir()
    (data / "a.txt").write_text("one")
    first = find_place(model=str(model), data=str(data))
    (data / "b.txt").write_text("two")
    second = find_place(model=str(model), data=str(data))
    assert second is not None
    assert second != first


def test_a_job_of_a_hub_or_of_own_code_has_no_place(model, tmp_path):
    assert find_place(model="gpt2") is None, "a name on a hub"
    assert find_place(model=str(model), data=str(tmp_path / "absent")) is None
    assert find_place(model=str(model), no_such_option=1) is None
    own = Origin(package="mine", folder=str(tmp_path / "mine"))
    assert kept.find_place("mine", own, {}) is None


def test_a_broken_file_is_as_good_as_none(tmp_path):
    (place := tmp_path / "one.json").write_text("{")
    assert kept.read(place) is None
    assert kept.read(tmp_path / "absent.json") is None


@pytest.mark.more
def test_a_job_is_described_once_until_its_model_changes(model, monkeypatch):
    pytest.importorskip("transformers")
    asked = []
    answer_to = Room.answer_to

    def note(room, question, **limits):
        asked.append(question["ask"])
        return answer_to(room, question, **limits)

    monkeypatch.setattr(Room, "answer_to", note)

    def describe():
        forget()
        return workload("causal_lm", {"model": str(model)})

    try:
        assert describe() == describe()
        assert asked == ["spec"]
        (model / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": 3}))
        changed = describe()
        assert asked == ["spec", "spec"]
        assert changed == describe()
    finally:
        forget()
