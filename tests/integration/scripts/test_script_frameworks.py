"""Scripts in well-known frameworks: evaluations, pauses and accumulated gradients are in no step."""

import importlib.util
from pathlib import Path

import pytest
from cli_process import ask
from script_runs import EVALUATE, PATIENT, PLAIN, SHORT, records_in, require_without_evaluations, run

NANO = (
    EVALUATE
    + """
import sys, torch
from torch import nn
from torch.nn import functional as F
from orchestrator_callback import pause, report, steps

batch_size, block_size, n_embd = 8, 16, 32
for word in sys.argv[1:]:
    key, value = word.lstrip("-").split("=")
    globals()[key] = int(value)
data = torch.randint(50, (10_000,))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.Linear(n_embd, 3 * n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        q, k, v = self.attention(x).split(n_embd, 2)
        x = x + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.mlp(x)


model = nn.Sequential(nn.Embedding(50, n_embd), Block(), nn.Linear(n_embd, 50))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
accumulation = 2


def get_batch():
    places = torch.randint(len(data) - block_size - 1, (batch_size // accumulation,))
    x = torch.stack([data[i : i + block_size] for i in places])
    return x, torch.stack([data[i + 1 : i + block_size + 1] for i in places])


@torch.no_grad()
def estimate_loss():
    evaluate()
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()


x, y = get_batch()
began = time.monotonic()
for iteration in steps(samples=batch_size):
    if iteration % 25 == 0:
        with pause(): estimate_loss()
    for _ in range(accumulation):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        x, y = get_batch()
        (loss / accumulation).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    report(loss=loss)
tell()
"""
)

HUGGING_FACE = (
    EVALUATE
    + """
import sys, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from orchestrator_callback import StepCallback


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return {"input_ids": torch.randint(10, (8,)), "labels": torch.tensor(index % 2)}


config = BertConfig(vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
                    intermediate_size=8, max_position_embeddings=8)
arguments = TrainingArguments("trained", per_device_train_batch_size=int(sys.argv[1]) // 2,
                              num_train_epochs=50, report_to=[], use_cpu=True, logging_steps=5,
                              save_strategy="no", gradient_accumulation_steps=2, eval_strategy="steps",
                              eval_steps=25)
model = BertForSequenceClassification(config)
began = time.monotonic()
Trainer(model, arguments, train_dataset=Texts(), eval_dataset=torch.utils.data.Subset(Texts(), range(8)),
        compute_metrics=evaluate, callbacks=[StepCallback()]).train()
tell()
"""
)

LIGHTNING = (
    EVALUATE
    + """
import sys, torch, lightning
from torch import nn
from orchestrator_callback import StepCallback


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(20, 2)

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def validation_step(self, batch, index):
        evaluate()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


data = torch.utils.data.TensorDataset(torch.randn(1000, 20), torch.randint(2, (1000,)))
trainer = lightning.Trainer(max_epochs=50, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, accumulate_grad_batches=2, callbacks=[StepCallback()])
loader = torch.utils.data.DataLoader(data, int(sys.argv[1]) // 2)
began = time.monotonic()
trainer.fit(Module(), loader, torch.utils.data.DataLoader(torch.utils.data.Subset(data, range(5)), 5))
tell()
"""
)

KERAS = (
    EVALUATE
    + """
import sys, keras, numpy
from orchestrator_callback import StepCallback


class Slow(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        evaluate()


x, y = numpy.random.rand(1000, 20), numpy.random.randint(2, size=1000)
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
began = time.monotonic()
model.fit(x, y, batch_size=int(sys.argv[1]), epochs=50, verbose=0, validation_data=(x[:9], y[:9]),
          callbacks=[StepCallback(), Slow()])
tell()
"""
)

ACCELERATE = """
import sys, torch
from accelerate import Accelerator
from torch import nn
from orchestrator_callback import report, steps

accelerator = Accelerator(cpu=True)
model = nn.Linear(20, 2)
data = torch.utils.data.TensorDataset(torch.randn(1000, 20), torch.randint(2, (1000,)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = torch.utils.data.DataLoader(data, int(sys.argv[1]))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _ in range(50):
    for x, y in steps(loader, samples=lambda batch: len(batch[0])):
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        report(loss=loss)
"""


@pytest.mark.more
@pytest.mark.slow_cases("accelerate", "nano", "lightning", "keras")
@pytest.mark.parametrize("name", ["nano", "hugging_face", "lightning", "accelerate", "keras"])
def test_scripts_of_well_known_shapes_are_measured(name: str, tmp_path: Path) -> None:
    package = {"nano": "torch", "hugging_face": "transformers"}.get(name, name)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (tmp_path / "train.py").write_text(globals()[name.upper()])
    argument = "--batch_size={batch_size_per_worker}" if name == "nano" else "{batch_size_per_worker}"
    told = run(
        tmp_path, f"env OMP_NUM_THREADS=1 python train.py {argument}", "global_batch_size=50", *PATIENT
    )
    assert (told.code, told.err) == (0, ""), told.out
    [record] = records_in(tmp_path)
    assert record["result"]["samples"] == 100 * 50
    assert record["result"]["losses"][-1][1] < 5
    assert record["result"]["devices"][0]["precision"] == "fp32"
    if name != "accelerate":
        require_without_evaluations(record["result"], tmp_path)


@pytest.mark.more
def test_a_script_of_one_worker_has_neither_our_settings_nor_ranks_of_a_scheduler(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os\nfor i in steps(range(900), samples=64): pass\n"
        "names = ('KERAS', 'SLURM', 'RANK', 'WORLD', 'MASTER', 'LOCAL_')\n"
        "open('seen', 'w').write(' '.join(sorted(key for key in os.environ if key.startswith(names))))"
    )
    words = (*SHORT, *PATIENT, "script.command=python train.py")
    told = ask(*words, cwd=tmp_path, variables={"SLURM_NTASKS": "2", "SLURM_JOB_ID": "7", "RANK": "1"})
    assert told.code == 0, told.out
    assert (tmp_path / "seen").read_text() == ""
    [record] = records_in(tmp_path)
    assert "what hangs on a scheduler: SLURM_* are left out" in record["result"]["unchecked"]


@pytest.mark.slow
def test_one_callback_fits_a_framework_beside_the_others(tmp_path: Path) -> None:
    others = [name for name in ("transformers", "lightning") if importlib.util.find_spec(name)]
    (tmp_path / "train.py").write_text("".join(f"import {name}\n" for name in others) + KERAS)
    told = run(tmp_path, "python train.py {batch_size_per_worker}", "global_batch_size=50", *PATIENT)
    assert (told.code, told.err) == (0, ""), told.out
    assert (tmp_path / "seen").exists(), "the script went on to its end"


@pytest.mark.more
def test_what_happens_between_loops_and_in_a_pause_is_in_no_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{EVALUATE}from orchestrator_callback import pause, steps\n"
        "for epoch in range(3):\n"
        "    for i in steps(range(50), samples=64):\n"
        "        if i == 25:\n"
        "            with pause(): evaluate()\n"
        "    evaluate()\n"
        "tell()"
    )
    assert run(tmp_path, "python train.py", *PATIENT).code == 0
    [record] = records_in(tmp_path)
    require_without_evaluations(record["result"], tmp_path)


@pytest.mark.more
def test_passes_that_accumulate_gradients_are_one_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from orchestrator_callback import steps\n"
        "for i in steps(samples=16, accumulation_steps=4): pass\nopen('passes', 'w').write(str(i + 1))"
    )
    assert run(tmp_path, "python train.py").code == 0
    [record] = records_in(tmp_path)
    assert (record["result"]["samples"], (tmp_path / "passes").read_text()) == (100 * 64, "400")
