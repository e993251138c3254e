"""`causal_lm`: any Hugging Face causal language model, full or with adapters, on files or drawn tokens."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from repository import ROOT

from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.capture.torch_tensors import count
from orchestrator.train.trainers.native.torch_job import copy_arrays, put_back
from workloads.causal_lm import libraries, models, torch_job
from workloads.causal_lm.options import Options
from workloads.causal_lm.texts import read_samples
from workloads.causal_lm.torch_job import build, collate, compute_loss
from workloads.jobs import JobError, TorchJob
from workloads.native.data_hash import hash_files
from workloads.native.torch_data import TorchBatches
from workloads.native.torch_step import load_weights
from workloads.registry import find_origin

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 256,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "tie_word_embeddings": False,
}


def test_the_page_s_config_of_an_8b_model_has_the_published_number_of_weights(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorials/fine_tune.md").read_text()
    (block,) = re.findall(r"^```bash\n(mkdir -p llama3_8b\n.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    subprocess.run(["bash", "-ec", block], cwd=tmp_path, check=True)
    config = models.read_config(str(tmp_path / "llama3_8b"))
    empty = models.build_empty_model(config, dtype=torch.bfloat16)
    assert sum(weight.numel() for weight in empty.parameters()) == 8_030_261_248
    assert models.find_length(config, 8192, model="llama3_8b") == 8192


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Folder of a model of 30,000 weights, without weights."""
    return write_model(tmp_path / "tiny")


def write_model(folder: Path, **changes: object) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    return str(folder)


def load(**options: Any) -> tuple[TorchJob, TorchBatches]:
    """Build a job with its weights, and its batches of 4 samples."""
    batches = TorchBatches(lambda: build(Options(**options)), global_batch_size=4, seed=0)
    job = batches.load()
    batches.start(rank=0, world_size=1, first=0, last=99)
    return job, batches


def take(batches: TorchBatches, steps: int) -> Iterator[Any]:
    """Take the batches of so many steps."""
    for _ in range(steps):
        yield from batches.take()


def train(job: TorchJob, batches: Iterable[Any]) -> list[float]:
    losses = []
    for batch in batches:
        job.optimizer.zero_grad()
        loss = job.loss(job.model, batch)
        loss.backward()
        job.optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
def test_the_loss_of_a_batch_falls_and_what_is_frozen_stays(model: str, method: str) -> None:
    job, batches = load(model=model, method=method, learning_rate=1e-2)
    before = {name: weight.detach().clone() for name, weight in job.model.named_parameters()}
    [batch] = batches.take()
    losses = train(job, [batch] * 20)
    assert losses[-1] < 0.95 * losses[0]
    for name, weight in job.model.named_parameters():
        assert torch.equal(weight, before[name]) is not weight.requires_grad, name
    assert job.evaluate(job.model)["held_out_loss"] > 0


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_a_checkpoint_of_adapters_has_no_frozen_weights_and_training_goes_on_as_if_never_left(
    model: str, method: str
) -> None:
    how = {"model": model, "method": method, "learning_rate": 1e-2}
    whole, batches = load(**how)
    train(whole, take(batches, 3))
    kept = copy_arrays(whole, {})
    names = {name for name in kept if name.startswith("weight.")}
    assert names
    assert all("lora_" in name or "inv_freq" in name for name in names)
    after = train(whole, take(batches, 2))

    resumed, batches = load(**how)
    batches.start(rank=0, world_size=1, first=3, last=99)
    put_back(kept, resumed)
    assert train(resumed, take(batches, 2)) == after


def count_bytes(model: str, **options: Any) -> Mapping[str, int]:
    request = CaptureRequest(
        workload="causal_lm",
        workload_options={"model": model, **options},
        precision="fp32",
        global_batch_size=2,
        origin=find_origin("causal_lm"),
    )
    return count(request)


def test_frozen_weights_have_no_gradients_and_no_optimizer_state_in_the_count(tmp_path: Path) -> None:
    model = write_model(tmp_path / "wide", hidden_size=256, intermediate_size=1024)
    full, lora = (
        count_bytes(model, method=method, lora_rank=2, sequence_length=4) for method in ("full", "lora")
    )
    weights = sum(weight.nbytes for weight in build(Options(model=model)).model.parameters())
    assert full["gradient_bytes"] == weights
    assert lora["gradient_bytes"] < 0.05 * weights
    assert full["tensor_bytes"] > 3.9 * weights
    assert weights < lora["tensor_bytes"] < 1.3 * weights


def test_weights_of_four_bits_take_an_eighth_in_the_count(tmp_path: Path) -> None:
    wide = write_model(tmp_path / "wide", hidden_size=512, intermediate_size=2048, vocab_size=16)
    lora, qlora = (
        count_bytes(wide, method=method, lora_rank=1, sequence_length=4) for method in ("lora", "qlora")
    )
    packed = 2 * (512 * 512 * 3 + 3 * 512 * 2048)
    unpacked_layer = 512 * 2048 * 4
    saved = lora["tensor_bytes"] - qlora["tensor_bytes"]
    assert qlora["gradient_bytes"] == lora["gradient_bytes"]
    assert saved == pytest.approx(packed * (4 - 4.127 / 8) - unpacked_layer, rel=0.05)


def test_the_loss_over_a_large_vocabulary_is_counted(tmp_path: Path) -> None:
    small, large = (
        count_bytes(
            write_model(tmp_path / str(size), vocab_size=size, tie_word_embeddings=True), method="lora"
        )
        for size in (256, 8192)
    )
    logits = 2 * 32 * (8192 - 256) * 4
    table = (8192 - 256) * 32 * 4
    assert large["tensor_bytes"] - small["tensor_bytes"] > table + 2 * logits


def test_padding_changes_no_loss(model: str) -> None:
    job, _ = load(model=model)
    short, long = torch.arange(5), torch.arange(12)
    apart = [compute_loss(job.model, collate([sample])).item() for sample in (short, long)]
    together = compute_loss(job.model, collate([short, long])).item()
    assert together == pytest.approx(sum(apart) / 2, rel=1e-5)


def test_an_edited_config_is_another_model(model: str) -> None:
    path = Path(model, "config.json")
    before = hash_files(models.list_files(model))
    path.write_text(json.dumps({**CONFIG, "rms_norm_eps": 1e-5}))
    assert hash_files(models.list_files(model)) != before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "abcdefgh" * 10),
        ("a.jsonl", '{"text": "' + "abcdefgh" * 10 + '"}\n'),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "' + "abcdefgh" * 10 + '"}]}\n'),
    ],
)
def test_texts_and_chats_are_packed_into_samples_of_one_length(
    model: str, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / name).write_text(content)
    options = Options(model=model, data=str(tmp_path / "texts"))
    samples = read_samples(options, length=8, vocabulary=256)
    assert {len(sample) for sample in samples.training} == {8}
    assert samples.tokens_per_sample == 8
    assert samples.unchecked == ("tokens are the bytes of the text, for the model's folder has no tokenizer",)


def test_without_packing_a_text_is_a_sample_and_its_own_tokens_count(model: str, tmp_path: Path) -> None:
    rows = [{"text": "ab"}, {"text": "abcd"}, {"text": "abcdefghijkl"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = Options(model=model, data=str(tmp_path / "a.jsonl"), packing=False)
    samples = read_samples(options, length=8, vocabulary=256)
    assert [len(sample) for sample in samples.training] == [2, 4]
    assert samples.tokens_per_sample == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": ""}, "workload.model is missing"),
        ({"model": "no/where"}, "workload.model=no/where is no folder, is not in the local cache"),
        ({"method": "half"}, "workload.method=half is unknown; choose full, lora, qlora"),
        ({"dtype": "int8"}, "workload.dtype=int8 is unknown"),
        ({"method": "lora", "lora_rank": 0}, "workload.lora_rank=0 must be at least 1"),
        ({"method": "lora", "lora_targets": ("nix",)}, "workload.lora_targets=nix match no layer; possible:"),
        ({"sequence_length": 33}, "workload.sequence_length=33 is not possible; choose 2 to 32"),
        ({"data": "/nowhere"}, "workload.data=/nowhere is no file or folder of"),
    ],
)
def test_bad_input_is_one_line(
    model: str, options: Mapping[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(JobError) as caught:
        build(Options(**{"model": model, **options}))
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_no_causal_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(JobError, match=r"empty has no config\.json"):
        models.read_config(str(tmp_path / "empty"))
    unknown = write_model(tmp_path / "unknown", model_type="nonsense")
    with pytest.raises(JobError, match=r"cannot read its config\.json: .*nonsense"):
        models.read_config(unknown)
    with pytest.raises(JobError, match="no causal language model"):
        models.read_config(write_model(tmp_path / "vision", model_type="vit"))


def test_an_absent_library_is_named_with_its_extra(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(libraries.importlib, "import_module", refuse)
    with pytest.raises(JobError, match=r"causal_lm needs transformers, .* pip install .*\[finetune\]"):
        build(Options(model=model))


def test_a_loaded_model_with_weights_of_other_names_is_refused() -> None:
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    other = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Identity(), torch.nn.Linear(2, 2))
    job = TorchJob(
        model=model,
        loss=lambda model, batch: model(batch).sum(),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data=[torch.ones(2)],
        load_model=lambda: other,
    )
    with pytest.raises(JobError, match="load_model makes another model than the job's"):
        load_weights(job)


GPT2 = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_layer": 2,
    "n_head": 4,
    "n_embd": 32,
    "n_positions": 32,
    "tie_word_embeddings": True,
}


def store_weights(folder: str) -> torch.nn.Module:
    """Write the weights of a model into its folder, and return the model."""
    stored: torch.nn.Module = libraries.import_library("transformers").AutoModelForCausalLM.from_config(
        models.read_config(folder), dtype=torch.float32
    )
    stored.save_pretrained(folder)
    return stored


@pytest.mark.parametrize(
    ("method", "config"),
    [("full", CONFIG), ("lora", CONFIG), ("qlora", {**CONFIG, "tie_word_embeddings": True}), ("full", GPT2)],
)
def test_weights_that_are_read_by_block_are_those_of_a_whole_load(
    tmp_path: Path, method: str, config: Mapping[str, object]
) -> None:
    model = write_model(tmp_path / "stored", **config)
    store_weights(model)
    by_block, _ = load(model=model, method=method)
    assert by_block.load_model is None
    whole = torch_job._load(Options(model=model, method=method))
    tensors = dict(whole.named_parameters()) | dict(whole.named_buffers())
    found = dict(by_block.model.named_parameters()) | dict(by_block.model.named_buffers())
    assert found.keys() == tensors.keys()
    for name in found:
        assert "lora_A" in name or torch.equal(found[name], tensors[name]), name


def test_drawn_weights_have_the_deviations_of_the_library(tmp_path: Path) -> None:
    model = write_model(tmp_path / "drawn", **GPT2)
    stored = store_weights(write_model(tmp_path / "stored", **GPT2))
    drawn, _ = load(model=model)
    for (name, ours), theirs in zip(drawn.model.named_parameters(), stored.parameters(), strict=True):
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.2), name


def test_weights_with_other_names_are_loaded_as_a_whole(tmp_path: Path) -> None:
    model = write_model(tmp_path / "stored")
    store_weights(model)
    (tmp_path / "stored/model.safetensors").rename(tmp_path / "stored/pytorch_model.bin")
    assert build(Options(model=model)).load_model is not None


def test_yielded_weights_that_the_model_does_not_have_are_refused() -> None:
    with torch.device("meta"):
        model = torch.nn.Linear(2, 2)

    def make_job(*weights: tuple[str, torch.Tensor]) -> TorchJob:
        return TorchJob(
            model=model,
            loss=lambda model, batch: model(batch).sum(),
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data=[torch.ones(2)],
            iterate_weights=lambda: weights,
        )

    with pytest.raises(JobError, match=r"yields weight \[3, 2\], which the model does not have"):
        load_weights(make_job(("weight", torch.ones(3, 2))))
    with pytest.raises(JobError, match="leaves out bias"):
        load_weights(make_job(("weight", torch.ones(2, 2))))
