"""Training scripts in a folder outside the repository, measured and broken from the command line."""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_process import Answer, ask, environment
from repository import ROOT

PAGE = (ROOT / "docs/scripts.md").read_text()
SCRIPTS = ROOT / "docs/examples/scripts"
COMMANDS = [
    shlex.split(line)[3:]
    for line in PAGE.replace("\\\n", " ").splitlines()
    if line.startswith("python -m orchestrator")
]
SHORT = ("+sweep=single", "workload=script", "device=cpu", "steps=100", "executor=inline", "tracking=none")

EVALUATION_SECONDS = 1.5
EVALUATE = f"""
import json, time
began, evaluations = time.monotonic(), 0


def evaluate(*_):
    global evaluations
    time.sleep({EVALUATION_SECONDS})
    evaluations += 1
    return {{}}


def tell():
    open("seen", "w").write(json.dumps([time.monotonic() - began, evaluations]))
"""

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

PLAIN = "from orchestrator_callback import report, step, steps\n"
CONNECTED = """
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ['ORCHESTRATOR_CALLBACK'])
"""
FAILURES = {
    "crash": ("for i in steps(range(900)):\n    if i == 20: raise OSError('full')", "error", "OSError: full"),
    "hang": (
        "import time\nfor i in steps(range(900)): time.sleep(100 * (i == 20))",
        "timeout",
        "no result 5 s",
    ),
    "mute": ("import time\ntime.sleep(100)", "timeout", "executor.start_seconds=8"),
    "silent": ("print('done')", "invalid_measurement", "exit code 0 and reported no step"),
    "short": ("for i in steps(range(30)): pass", "invalid_measurement", "lower steps="),
    "broken": ("for i in steps(range(900)): report(loss=float('nan'))", "diverged", "the loss is nan"),
    "killed": (
        "import os\nfor i in steps(range(900)):\n    if i == 20: os.kill(os.getpid(), 9)",
        "worker_lost",
        "was killed by signal 9",
    ),
    "exhausted": (
        "class OutOfMemoryError(Exception): pass\nfor i in steps(range(900)):\n"
        "    if i == 20: raise OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB')",
        "oom",
        "CUDA out of memory",
    ),
    "unpacked": ("import not_installed", "environment", "No module named 'not_installed'"),
    "garbage": (
        f"{CONNECTED}s.sendall(bytes(range(256)))\ns.recv(9)",
        "invalid_measurement",
        "something else than a message",
    ),
    "liar": (
        f"{CONNECTED}"
        's.sendall(b\'{"event": "hello"}\\n\')\ns.recv(99)\n'
        's.sendall(b\'{"event": "part", "seconds": -1}\\n\')\ns.recv(9)',
        "invalid_measurement",
        "the script reported seconds=-1",
    ),
    "miscounted": (
        "for i in steps(range(900), samples=1): pass",
        "invalid_measurement",
        "counted 1 samples in steps=1, where the trial's batch is 64",
    ),
}


def run(folder: Path, command: str, *words: str) -> Answer:
    """Measure a script of a folder; hanging takes seconds."""
    limits = ("executor.run_seconds=5", "executor.start_seconds=8")
    return ask(*SHORT, f"script.command={command}", *limits, *words, cwd=folder)


PATIENT = ("executor.start_seconds=90", "executor.run_seconds=90")


def records_in(folder: Path) -> list[Mapping[str, Any]]:
    """All records of the sweep `single`."""
    lines = (folder / "outputs/single/records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands have been typed."""
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(SCRIPTS, folder / "docs/examples/scripts")
    for words in COMMANDS:
        told = ask(*words, "steps=100", "executor=inline", "tracking=none", cwd=folder)
        assert (told.code, told.err) == (0, ""), told.out
    return folder


def test_the_page_shows_every_script_as_it_is() -> None:
    shown = dict(re.findall(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert shown == {file.name: file.read_text() for file in SCRIPTS.glob("*.py")}


def test_the_scripts_of_the_page_are_measured(page: Path) -> None:
    records = records_in(page)
    found = {(record["spec"]["precision"], record["spec"]["num_workers"]) for record in records}
    assert found == {("fp32", 1), ("fp32", 2), ("bf16", 1), ("bf16", 2)}
    for record in records:
        result, spec = record["result"], record["spec"]
        assert {device["precision"] for device in result["devices"]} == {spec["precision"]}
        assert (result["steps"], result["samples"]) == (100, 100 * spec["global_batch_size"])
        assert len(result["block_seconds"]) == spec["num_workers"]
        assert all(seconds > 0 for seconds in result["cpu_seconds"])
        assert any("weights, quality" in text for text in result["unchecked"])


def test_the_whole_training_is_its_steps_times_the_batch(page: Path) -> None:
    ask("report", *COMMANDS[0], "steps=100", "executor=inline", "tracking=none", cwd=page)
    plan = json.loads((page / "outputs/single/plan.json").read_text())
    assert list(plan["trainings"].values()) == [{"epochs": 1.0, "train_samples": 13_125 * 64}]


def test_typed_again_it_is_cached_until_the_script_changes(page: Path) -> None:
    words = ("plan", *COMMANDS[1], "steps=100", "executor=inline", "tracking=none")
    assert "0 to measure" in ask(*words, cwd=page).out
    script = page / "docs/examples/scripts/fit_keras.py"
    code = script.read_text()
    script.write_text(code.replace("64", "32"))
    assert "1 to measure" in ask(*words, cwd=page).out
    script.write_text(code)


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


def require_without_evaluations(result: Mapping[str, Any], folder: Path) -> None:
    """Check that a script's steps took no longer than the script did without its evaluations."""
    seconds, evaluations = json.loads((folder / "seen").read_text())
    assert evaluations > 2
    assert result["training_seconds"] < seconds - evaluations * EVALUATION_SECONDS


@pytest.mark.parametrize("name", FAILURES)
def test_a_script_that_fails_is_a_classified_failure(name: str, tmp_path: Path) -> None:
    code, kind, reason = FAILURES[name]
    (tmp_path / "train.py").write_text(PLAIN + code)
    told = run(tmp_path, "python train.py", "retry.worker_lost=0")
    assert told.code == 1
    [record] = records_in(tmp_path)
    assert (record["failure"]["kind"], reason in record["failure"]["message"]) == (kind, True), record[
        "failure"
    ]


@pytest.mark.parametrize(("last", "code"), [("pass", 0), ("time.sleep(100 * (i == 20))", 1)])
def test_all_that_a_script_starts_ends_with_its_trial(last: str, code: int, tmp_path: Path) -> None:
    mark = f"import time; time.sleep(300)  # {tmp_path.name}"
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import subprocess, sys, time\nfor _ in range(10):\n"
        f"    subprocess.Popen([sys.executable, '-c', {mark!r}], start_new_session=True)\n"
        f"for i in steps(range(900)): {last}"
    )
    assert run(tmp_path, "python train.py").code == code
    wait_until_gone(mark)


def test_daemons_that_replace_themselves_end_with_their_trial(tmp_path: Path) -> None:
    mark = tmp_path.name
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os, time\nMARK = {mark!r}\n"
        "def flee():\n"
        "    while True:\n"
        "        if os.fork(): os._exit(0)\n"
        "        os.setsid()\n"
        "        time.sleep(0.002)\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0: flee()\n"
        "for i in steps(range(900)): pass"
    )
    assert run(tmp_path, f"python train.py {mark}").code == 0
    wait_until_gone(mark)


def wait_until_gone(mark: str) -> None:
    """Wait for the end of all processes with the mark in their command line, for 10 s at most."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        commands = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
        living = [command for command in commands if mark in command]
        if not living:
            return
        time.sleep(0.1)
    raise AssertionError(f"processes outlived their trial: {living}")


def test_a_killed_script_is_the_cause_and_the_error_of_another_rank_its_consequence(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os\nfor i in steps(range(900)):\n"
        "    if i == 20 and os.environ['RANK'] == '1': os.kill(os.getpid(), 9)\n"
        "    if i == 20: raise RuntimeError('connection closed by peer')"
    )
    told = run(tmp_path, "python train.py", "num_workers=2", "retry.worker_lost=0")
    assert told.code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "worker_lost"
    assert "killed by signal 9" in record["failure"]["message"]


def test_a_script_has_its_own_settings_of_keras(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import os\nfor i in steps(range(900)): pass\n"
        "open('seen', 'w').write(' '.join(sorted(key for key in os.environ if key.startswith('KERAS'))))"
    )
    assert run(tmp_path, "python train.py").code == 0
    assert (tmp_path / "seen").read_text() == ""


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_script_without_the_callback_is_measured_as_a_whole(num_workers: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\ntime.sleep(1.5)")
    words = ("python train.py", f"num_workers={num_workers}")
    told = run(tmp_path, *words)
    assert (told.code, told.err) == (0, ""), told.out
    assert "a run of 1.5" in told.out
    [record] = records_in(tmp_path)
    result = record["result"]
    assert len(result["run_seconds"]) == num_workers
    assert all(1.5 < seconds < 1.9 for seconds in result["run_seconds"])
    assert (result["steps"], result["samples"], result["block_seconds"][0]) == (0, 0, [])
    assert result["devices"][0]["precision"] == "not seen"
    assert "reported no step" in result["unchecked"][0]
    assert "1 trial measured" in told.out
    page = (tmp_path / "outputs/single/report.html").read_text()
    assert "<h2>Runs" in page or ">Runs<" in page
    assert ">Measured<" not in page
    assert "0 to measure" in ask("plan", *SHORT, f"script.command={words[0]}", words[1], cwd=tmp_path).out


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        ("import sys; sys.exit('no data')", "error", "exit code 1: no data"),
        ("import time; time.sleep(100)", "timeout", "executor.run_seconds=5"),
    ],
)
def test_a_run_that_fails_is_a_classified_failure(code: str, kind: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(code)
    assert run(tmp_path, "python train.py").code == 1
    [record] = records_in(tmp_path)
    assert (record["failure"]["kind"], reason in record["failure"]["message"]) == (kind, True)


def test_a_module_of_the_script_may_report_its_steps(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import loop")
    (tmp_path / "loop.py").write_text(f"{PLAIN}for i in steps(range(900)): report(loss=1 / (i + 1))")
    assert run(tmp_path, "python train.py").code == 0
    [record] = records_in(tmp_path)
    assert (record["result"]["steps"], record["result"]["run_seconds"]) == (100, [])


def test_a_script_may_train_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}for i in steps(range(500)): pass\nopen('finished', 'w').write(str(i))"
    )
    assert run(tmp_path, "python train.py", "script.train_to_end=true").code == 0
    assert (tmp_path / "finished").read_text() == "499"


def test_a_context_ends_the_script_and_a_loop_goes_on_behind_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}for i in steps(range(900)): pass\nopen('behind', 'w').write(str(i))"
    )
    assert run(tmp_path, "python train.py").code == 0
    assert (tmp_path / "behind").read_text() == "99"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["script.command=python nothere.py"], "script.command names nothere.py, which is not in"),
        (["script.command=python train.py {batchsize}"], "unknown placeholder {batchsize}"),
        ([], "script.command is missing"),
        (["script.command=python train.py", "num_workers=3"], "does not divide over 3"),
        (["script.comand=python train.py"], "comand"),
    ],
)
def test_a_wrong_request_is_one_line(words: list[str], reason: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    told = ask(*SHORT, *words, cwd=tmp_path)
    assert told.code == 2
    assert reason in told.err
    assert len(told.err.splitlines()) == 1


def test_one_callback_fits_a_framework_beside_the_others(tmp_path: Path) -> None:
    others = [name for name in ("transformers", "lightning") if importlib.util.find_spec(name)]
    (tmp_path / "train.py").write_text("".join(f"import {name}\n" for name in others) + KERAS)
    told = run(tmp_path, "python train.py {batch_size_per_worker}", "global_batch_size=50", *PATIENT)
    assert (told.code, told.err) == (0, ""), told.out
    assert (tmp_path / "seen").exists(), "the script went on to its end"


def test_what_happens_between_loops_and_in_a_pause_is_in_no_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{EVALUATE}from orchestrator_callback import pause, steps\n"
        "for epoch in range(3):\n"
        "    for i in steps(range(50)):\n"
        "        if i == 25:\n"
        "            with pause(): evaluate()\n"
        "    evaluate()\n"
        "tell()"
    )
    assert run(tmp_path, "python train.py", *PATIENT).code == 0
    [record] = records_in(tmp_path)
    require_without_evaluations(record["result"], tmp_path)


def test_passes_that_accumulate_gradients_are_one_step(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from orchestrator_callback import steps\n"
        "for i in steps(samples=16, accumulation_steps=4): pass\nopen('passes', 'w').write(str(i + 1))"
    )
    assert run(tmp_path, "python train.py").code == 0
    [record] = records_in(tmp_path)
    assert (record["result"]["samples"], (tmp_path / "passes").read_text()) == (100 * 64, "400")


ALONE = """
import sys, torch
from orchestrator_callback import steps
data = torch.utils.data.TensorDataset(torch.randn(1000, 20))
for _ in range(100):
    for [x] in steps(torch.utils.data.DataLoader(data, 50)): x.sum()
"""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["num_workers=2", "global_batch_size=100"], "2 workers and the script trains in groups of 1"),
        (["global_batch_size=64"], "counted 50 samples in steps=1, where the trial's batch is 64"),
    ],
)
def test_a_script_that_takes_another_batch_or_trains_alone_is_refused(
    words: list[str], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(ALONE)
    assert run(tmp_path, "python train.py", *words, *PATIENT).code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "invalid_measurement"
    assert reason in record["failure"]["message"]


def test_a_command_that_starts_several_processes_for_a_worker_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{PLAIN}import time\nfor i in steps(range(900)): time.sleep(0.01)")
    (tmp_path / "launch.py").write_text(
        "import subprocess, sys  # orchestrator_callback\n"
        "for p in [subprocess.Popen([sys.executable, 'train.py']) for _ in range(2)]: p.wait()"
    )
    assert run(tmp_path, "python launch.py", *PATIENT).code == 1
    [record] = records_in(tmp_path)
    assert record["failure"]["kind"] == "invalid_measurement"
    assert "two processes of one worker report steps" in record["failure"]["message"]


def test_a_module_of_the_folder_is_a_command(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    module = tmp_path / "tools/train.py"
    module.write_text(f"{PLAIN}for i in steps(range(900)): pass")
    assert run(tmp_path, "python -m tools.train").code == 0
    words = ("plan", *SHORT, "script.command=python -m tools.train")
    assert "0 to measure" in ask(*words, cwd=tmp_path).out
    module.write_text(f"{PLAIN}for i in steps(range(901)): pass")
    assert "1 to measure" in ask(*words, cwd=tmp_path).out


def test_another_interpreter_is_what_python_means(tmp_path: Path) -> None:
    interpreter = tmp_path / "bin/python"
    interpreter.parent.mkdir()
    interpreter.write_text(f'#!/bin/sh\ntouch seen\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    (tmp_path / "train.py").write_text(f"{PLAIN}for i in steps(range(900)): pass")
    assert run(tmp_path, "python train.py", f"script.python={interpreter}").code == 0
    assert (tmp_path / "seen").exists()


def test_outside_a_trial_the_callback_times_and_prints(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{PLAIN}for i in steps(range(60), samples=8): pass\nprint('end', i)")
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(ROOT / "orchestrator/callback")),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "end 59\n")
    pattern = r"orchestrator_callback: [\d.e-]+ ms a step, median of 5 blocks of 10, [\d,]+ samples/s\n"
    assert re.fullmatch(pattern, done.stderr)


def test_the_callback_has_a_wheel_of_its_own_without_dependencies(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*pip, str(ROOT / "orchestrator/callback")], check=True, timeout=120)
    code = (
        "import sys, orchestrator_callback; print(sorted(sys.modules.keys() & {'torch', 'numpy', 'keras'}))"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"


def test_python_is_the_interpreter_of_the_orchestrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "train.py").write_text("import sys\nopen('seen', 'w').write(sys.executable)")
    assert run(tmp_path, "python train.py").code == 0
    assert (tmp_path / "seen").read_text() == sys.executable
