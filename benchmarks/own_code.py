"""Our rate of training loops that people write, over the rate that each loop counts itself.

    python benchmarks/own_code.py [--pairs 3] [--only plain keras] [--json]

Each loop is a script of its own, measured from the command line on one thread in batches of 64. It keeps the
moment and the samples of every step, so that both rates are of the same steps of one process: what else the
host does slows both down alike. Loops take turns. A loop is right where the median ratio lies from 0.97 to
1.03, or where it is refused; exits with 1 if one is neither. A loop whose framework is not installed is left
out.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 0.03
STEPS, LEAST_TIMED, SIZE = 200, 20, 64
SAMPLES = 101 * SIZE  # an epoch ends at another place of each block, for one interval a block is left out

_OWN_COUNT = """
import atexit, json, sys, time
marks = []
atexit.register(lambda: open("marks.json", "w").write(json.dumps(marks)))


def mark(samples):
    marks.append((time.perf_counter(), samples))

"""
_TORCH = (
    _OWN_COUNT
    + """
import torch
from torch import nn

torch.set_num_threads(1)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return {SAMPLES}

    def __getitem__(self, index):
        return torch.full((64,), index / {SAMPLES}), index % 2


model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
loader = torch.utils.data.DataLoader(Data(), 64, shuffle=True)


def train(x, y, *, divide=1, steps=True):
    loss = nn.functional.cross_entropy(model(x), y) / divide
    loss.backward()
    if steps:
        optimizer.step()
        optimizer.zero_grad()
    return loss

"""
)
_STEPS = "from orchestrator_callback import StepCallback, report, steps\n"
_LOOP = """
for _ in range(9):
    for x, y in LOADER:
        mark(len(x))
        train(x, y)
"""
_STREAM = """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return (Data()[index] for index in range(65))


loader = torch.utils.data.DataLoader(Stream(), 64)
"""
_ACCELERATE = """
from accelerate import Accelerator

model, optimizer, loader = Accelerator(cpu=True).prepare(model, optimizer, loader)
"""
_GAN = """
discriminator = nn.Linear(64, 1)
second = torch.optim.SGD(discriminator.parameters(), 1e-3)
for _ in range(9):
    for x, y in steps(loader):
        mark(len(x))
        discriminator(x).mean().backward()
        second.step()
        second.zero_grad()
        train(x, y)
"""
_ACCUMULATION = """
loader = torch.utils.data.DataLoader(Data(), 16, shuffle=True)
for _ in range(9):
    for index, (x, y) in enumerate(steps(loader, accumulation_steps=4)):
        if index % 4 == 0:
            mark(4 * len(x))
        train(x, y, divide=4, steps=index % 4 == 3)
"""
_LOADER_BOUND = """
class Slow(Data):
    def __getitem__(self, index):
        time.sleep(3e-4)
        return super().__getitem__(index)


loader = torch.utils.data.DataLoader(Slow(), 64)
"""
_HUGGING_FACE = """
import transformers


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        return {"loss": nn.functional.cross_entropy(self.model(x), labels)}


class Named(Data):
    def __getitem__(self, index):
        x, label = super().__getitem__(index)
        return {"x": x, "labels": label}


class Mark(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        mark(64)


arguments = transformers.TrainingArguments("kept", per_device_train_batch_size=64, num_train_epochs=9,
                                           report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True)
transformers.Trainer(Net(), arguments, train_dataset=Named(), callbacks=[Mark(), StepCallback()]).train()
"""
_LIGHTNING = """
import lightning


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = model

    def training_step(self, batch, index):
        mark(len(batch[0]))
        return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)


# without checkpoints, which the callback leaves out and the marks of the script do not
lightning.Trainer(max_epochs=9, accelerator="cpu", logger=False, enable_progress_bar=False,
                  enable_checkpointing=False, callbacks=[StepCallback()]).fit(Net(), loader)
"""
_KERAS = (
    _OWN_COUNT
    + """
import keras, numpy
from orchestrator_callback import StepCallback


class Mark(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        mark(64)


x, y = numpy.random.rand({SAMPLES}, 64), numpy.random.randint(2, size={SAMPLES})
hidden = [keras.layers.Dense(512, "relu") for _ in range(2)]
model = keras.Sequential([keras.Input((64,)), *hidden, keras.layers.Dense(2)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, batch_size=64, epochs=9, verbose=0, callbacks=[Mark(), StepCallback()])
"""
)
_JAX = (
    _OWN_COUNT
    + """
import jax, jax.numpy as jnp
from orchestrator_callback import steps


@jax.jit
def update(weights, x):
    return weights - 1e-3 * jax.grad(lambda w: jnp.square(jnp.tanh(x @ w) @ w.T).mean())(weights)


weights, x = jnp.ones((512, 512)), jnp.ones((64, 512))
for _ in steps(samples=64):
    mark(64)
    weights = update(weights, x)
    weights.block_until_ready()
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A training script.

    Attributes:
        package: what it needs beside PyTorch.
        words: of its command.
    """

    code: str
    package: str = "torch"
    words: tuple[str, ...] = ()


LOOPS: Mapping[str, Loop] = {
    "plain": Loop(code=_TORCH + _STEPS + _LOOP.replace("LOADER", "steps(loader)")),
    "tqdm": Loop(
        code=f"{_TORCH}{_STEPS}from tqdm import tqdm\n{_LOOP.replace('LOADER', 'steps(tqdm(loader))')}",
        package="tqdm",
    ),
    "stream of 65 samples": Loop(
        code=_TORCH + _STEPS + _STREAM + _LOOP.replace("LOADER", "steps(loader)").replace("(9)", "(500)")
    ),
    "hugging_face": Loop(code=_TORCH + _STEPS + _HUGGING_FACE, package="transformers"),
    "lightning": Loop(code=_TORCH + _STEPS + _LIGHTNING, package="lightning"),
    "keras": Loop(code=_KERAS, package="keras"),
    "accelerate": Loop(
        code=_TORCH + _STEPS + _ACCELERATE + _LOOP.replace("LOADER", "steps(loader)"), package="accelerate"
    ),
    "jax": Loop(code=_JAX, package="jax"),
    "gan": Loop(code=_TORCH + _STEPS + _GAN),
    "accumulation": Loop(code=_TORCH + _STEPS + _ACCUMULATION),
    "loader-bound": Loop(code=_TORCH + _STEPS + _LOADER_BOUND + _LOOP.replace("LOADER", "steps(loader)")),
    "observed": Loop(code=_TORCH + _LOOP.replace("LOADER", "loader"), words=("script.observe=true",)),
}


@dataclass(slots=True, kw_only=True)
class Check:
    """Measurements of one loop.

    Attributes:
        ratios: our rate over its own, a pair each.
        refusals: causes of the trials that were refused.
    """

    ratios: list[float] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """True where it is measured as it counts itself, or always refused."""
        if not self.ratios:
            return bool(self.refusals)
        return not self.refusals and abs(median(self.ratios) - 1) <= TOLERANCE


def measure(loop: Loop, check: Check) -> None:
    """Measure a loop once, and add what was found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(loop.code.replace("{SAMPLES}", str(SAMPLES)))
        command = [
            *(sys.executable, "-m", "orchestrator", "+sweep=single", "workload=script", "device=cpu"),
            *(f"steps={STEPS}", f"global_batch_size={SIZE}", "executor=inline", "tracking=none"),
            *("script.command=env OMP_NUM_THREADS=1 python train.py", *loop.words),
        ]
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        ledger = next(folder.glob("outputs/*/records.jsonl"), None)
        if ledger is None:
            raise SystemExit(f"no trial ran: {told.stdout}{told.stderr}")
        record = json.loads(ledger.read_text().splitlines()[-1])
        result = record["result"]
        if result is None:
            check.refusals.append(record["failure"]["message"])
            return
        size, seconds = result["steps_per_block"], result["block_seconds"][0]
        marks = json.loads((folder / "marks.json").read_text())
        first = 1 + result["warmup_steps"]
        own = own_rate(marks[first : first + len(seconds) * size], steps_per_block=size)
        check.ratios.append(len(seconds) * size * SIZE / sum(seconds) / own)


def own_rate(marks: Sequence[tuple[float, int]], *, steps_per_block: int) -> float:
    """Return the samples a second that a loop counts itself in the steps of the timed blocks.

    A mark is made in every step. Between the last step of a block and the next one the callback waits for the
    orchestrator, so that this interval is left out.
    """
    within = [index for index in range(len(marks) - 1) if (index + 1) % steps_per_block]
    if len(within) < LEAST_TIMED:
        raise SystemExit(f"a loop counted {len(marks)} steps, too few to compare")
    seconds = sum(marks[index + 1][0] - marks[index][0] for index in within)
    return sum(marks[index][1] for index in within) / seconds


def describe(check: Check | None) -> str:
    """Return what was found of a loop, as a text; None: it was not run."""
    if check is None:
        return "not run: its framework is not installed"
    right = "" if check.is_right else "  WRONG"
    if not check.ratios:
        return f"refused: {check.refusals[0]}{right}"
    return f"{median(check.ratios):.3f}  ({', '.join(f'{ratio:.3f}' for ratio in check.ratios)}){right}"


def main() -> int:
    """Measure the loops in turns, and print a line each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=LOOPS, default=list(LOOPS))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    checks = {
        name: Check() for name in arguments.only if importlib.util.find_spec(LOOPS[name].package) is not None
    }
    for _ in range(arguments.pairs):
        for name, check in checks.items():
            measure(LOOPS[name], check)
    if arguments.json:
        print(json.dumps({name: asdict(check) for name, check in checks.items()}, indent=2))
    else:
        for name in arguments.only:
            print(f"{name:22}{describe(checks.get(name))}")
    return 0 if all(check.is_right for check in checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
