"""Jobs of one's own in `predict`: predicted from their counts with a wide interval, or refused."""

import json
from pathlib import Path

import pytest
from cli_process import ask

from orchestrator.cli import main
from workloads.apart import Room

pytest.importorskip("torch", reason="torch is not installed")

JOBS = f"workload_path={Path(__file__).parents[3] / 'docs' / 'examples' / 'jobs'}"


def predictions(capsys, *words):
    assert main(["predict", "--json", JOBS, "workload_seconds=600", *words]) == 0
    return json.loads(capsys.readouterr().out)["predictions"]


@pytest.mark.more
def test_a_job_of_ones_own_is_predicted_from_its_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ("workload=tiny_bert", "trainer=torch_ddp", "device=t4", "global_batch_size=64,256")
    small, large = predictions(capsys, *words)
    assert small["provenance"] == large["provenance"] == "predicted"
    for one in (small, large):
        step = one["step_seconds"]
        assert 2.5 < step["high"] / step["median"] < 8.0, "nothing alike was published"
        assert "from counts alone, as nothing alike was published" in one["source"]
    assert small["step_seconds"]["median"] < large["step_seconds"]["median"]


def test_a_language_model_has_rates_prices_and_a_job_in_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ("workload=gpt2", "device=h100", "precision=bf16", "report.samples=1000")
    assert main(["predict", *words]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Your job (1,000 samples, 1,024,000 tokens) on h100 in bf16, batch 64: ")
    assert "tokens/s" in out
    (found,) = predictions(capsys, *words)
    step, tokens = found["step_seconds"], 64 * 1024
    assert found["tokens_per_sample"] == 1024
    assert found["tokens_per_second"]["median"] == pytest.approx(tokens / step["median"])
    assert found["tokens_per_second"]["low"] == pytest.approx(tokens / step["high"])
    assert found["usd_per_million_tokens"]["median"] == pytest.approx(
        found["usd_per_million_samples"]["median"] / 1024
    )
    assert found["job"]["tokens"] == 1_024_000
    (image,) = predictions(capsys, "workload=resnet50", "device=h100", "precision=bf16")
    assert image["tokens_per_sample"] is image["usd_per_million_tokens"] is None


@pytest.mark.more
def test_measurements_of_a_job_of_ones_own_decide_its_predictions_and_the_advice(
    tmp_path, monkeypatch, capsys
):
    words = ("workload=digits", "trainer=torch_ddp", "device=cpu", "steps=100")
    measured = ask("+sweep=single", JOBS, *words, "executor=inline", "tracking=none", cwd=tmp_path)
    assert measured.code == 0, measured.out
    monkeypatch.chdir(tmp_path)
    (found,) = predictions(capsys, *words)
    assert found["source"].startswith("own records of this very step: 1 of sweep single-digits")
    assert main(["predict", "advise", "--json", JOBS, "+sweep=single", *words]) == 0
    (advice,) = json.loads(capsys.readouterr().out)
    assert advice["num_trials"] == 1


@pytest.mark.more
def test_a_job_with_less_work_than_all_that_was_measured_is_refused_with_the_reason(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (found,) = predictions(capsys, "workload=digits", "trainer=torch_ddp", "device=t4")
    assert found["provenance"] == "refused"
    assert "measured were" in found["refusal"]["reason"]


def test_the_first_line_of_a_job_of_known_epochs_is_its_time_and_cost(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ("workload=mnist_cnn", "device=t4,h100", "data.source=standin", "report.epochs=5")
    assert main(["predict", *words]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("Your job (5 epochs) on h100 in fp32, batch 64: ")
    assert " (predicted, without set-up and boot). Cheapest, t4 in fp32, batch 64: " in first
    assert main(["predict", "--json", *words]) == 0
    for one in json.loads(capsys.readouterr().out)["predictions"]:
        job, step = one["job"], one["step_seconds"]["median"]
        assert job["samples"] == 5 * 60_000
        assert job["seconds"]["median"] == pytest.approx(step * 5 * 60_000 / one["global_batch_size"])
        assert job["usd"]["median"] == pytest.approx(one["usd_per_million_samples"]["median"] * 0.3)


@pytest.mark.more
def test_a_job_is_described_once_for_all_devices_batches_and_hints(tmp_path, monkeypatch, capsys):
    pytest.importorskip("peft")
    shape = {"vocab_size": 400_000, "hidden_size": 16_384, "num_hidden_layers": 2, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", **shape})
    )
    monkeypatch.chdir(tmp_path)
    described = []
    answer_to = Room.answer_to

    def note(room, question, **limits):
        if question["ask"] == "spec":
            described.append(question["options"].get("method", "full"))
        return answer_to(room, question, **limits)

    monkeypatch.setattr(Room, "answer_to", note)
    words = ("+sweep=finetune_llm", f"workload.model={tmp_path}", "device=h100,a100_80")
    found = predictions(capsys, *words, "global_batch_size=1,2", "workload.method=full")
    assert {one["refusal"]["to_measure"] for one in found} == {
        "workload.method=lora",
        "num_workers=2 sharding=full",
    }
    assert (len(found), described) == (4, ["full", "lora"])
