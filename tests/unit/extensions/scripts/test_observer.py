"""Steps of a loop that is seen from outside: by its loader, its batches and its optimizer."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback

READ, STEP, EVALUATE = 0.5, 1.0, 100.0
"""Seconds of reading a batch, of training on a sample, and of an evaluation."""


class Loader:
    """A loader without processes, which the loop knows by its identity."""

    num_workers = 0


class Batch:
    """A batch of so many samples."""

    def __init__(self, samples: int) -> None:
        self.shape = (samples, 3)


@pytest.fixture
def observer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setitem(sys.modules, "orchestrator_callback", callback)
    return importlib.import_module("orchestrator.extensions.scripts.callback.orchestrator_observer")


class Script:
    """A script's loops, whose events a new observed loop gets."""

    def __init__(self, observer: ModuleType, clock: Any) -> None:
        self.loop, self.clock, self.optimizer = observer.ObservedLoop(), clock, object()

    def read(self, loader: Any, samples: int) -> None:
        self.loop.ask(loader)
        self.clock.work(READ)
        self.loop.receive(loader, Batch(samples))

    def train(self, loader: Any, batches: list[int], *, accumulated: int = 1, inside: Any = None) -> None:
        self.loop.start(loader, learns=True)
        for index, samples in enumerate(batches):
            self.read(loader, samples)
            if inside:
                inside()
            self.clock.work(STEP * samples)
            if (index + 1) % accumulated == 0:
                self.loop.step(self.optimizer)
        self.loop.finish(loader, learns=True)

    def evaluate(self, loader: Any, *, learns: bool) -> None:
        self.loop.start(loader, learns=learns)
        if learns:
            self.read(loader, 8)
        self.clock.work(EVALUATE)
        self.loop.finish(loader, learns=learns)


@pytest.fixture
def script(observer: ModuleType, clock: Any, monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.setattr(observer, "time", clock)
    return Script(observer, clock)


def whole(samples: int, *, batches: int) -> Any:
    """Parts of as many samples and batches each."""
    return pytest.approx(np.array([(STEP * samples + READ * batches, samples)] * 4))


@pytest.mark.parametrize("learns", [False, True])
def test_an_evaluation_between_two_epochs_is_in_no_step(script: Script, parts: Any, learns: bool) -> None:
    measured = parts(5)
    loader, held_out = Loader(), Loader()
    for _ in range(5):
        script.train(loader, [8, 8])
        script.evaluate(held_out, learns=learns)
    assert measured.rates() == whole(16, batches=2)


@pytest.mark.parametrize("learns", [False, True])
def test_an_evaluation_within_a_step_is_in_no_step(script: Script, parts: Any, learns: bool) -> None:
    measured = parts(5)
    script.train(Loader(), [8] * 9, inside=lambda: script.evaluate(Loader(), learns=learns))
    assert measured.rates() == whole(16, batches=2)


def test_an_evaluation_before_the_training_is_in_no_block(script: Script, parts: Any) -> None:
    measured = parts(5)
    script.evaluate(Loader(), learns=True)
    script.train(Loader(), [8] * 9)
    assert measured.rates() == whole(16, batches=2)


def test_the_clock_stands_still_for_a_smaller_last_batch(script: Script, parts: Any) -> None:
    measured = parts(5)
    loader = Loader()
    for _ in range(9):
        script.train(loader, [8, 1])
    assert measured.rates() == whole(16, batches=2)


def test_the_clock_stands_still_for_batches_too_few_to_accumulate(script: Script, parts: Any) -> None:
    measured = parts(5)
    loader = Loader()
    for _ in range(9):
        script.train(loader, [8, 8, 8, 8, 8], accumulated=4)
    assert measured.rates() == whole(64, batches=8)


def test_a_new_loader_in_every_epoch_is_one_of_the_training(script: Script, parts: Any) -> None:
    measured = parts(5)
    for _ in range(5):
        script.train(Loader(), [8, 8, 8])  # the first step of a loader that is not known is not timed
    assert measured.rates() == whole(16, batches=2)


def test_the_time_of_a_loader_is_that_of_its_batches_without_the_first_one(
    script: Script, parts: Any
) -> None:
    parts(9)
    loader = Loader()
    for _ in range(2):
        script.train(loader, [8] * 4)
    assert callback._reporter()._loaded == {"num_processes": 0, "samples": 6 * 8, "seconds": 6 * READ}


def test_a_training_in_a_framework_is_not_counted_twice(observer: ModuleType) -> None:
    assert not observer.LOOP.is_off
    assert observer._WATCHES.keys() >= {"torch", "keras", "transformers.trainer"}


@pytest.mark.parametrize(
    ("kind", "why"),
    [("optimizers", "two optimizers"), ("steps", "without a batch"), ("loaders", "two loaders")],
)
def test_a_loop_without_a_clear_step_is_refused(
    script: Script, parts: Any, kind: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = parts(5)
    loader, second = Loader(), Loader()
    script.loop.start(loader, learns=True)
    script.loop.start(second, learns=True)
    for _ in range(9):
        if kind == "loaders":
            script.read(second, 8)
        script.read(loader, 8)
        script.loop.step(script.optimizer)
        if kind == "optimizers":
            script.loop.step(object())
        elif kind == "steps":
            script.loop.step(script.optimizer)
    assert why in capsys.readouterr().err
    assert len(measured.measured) <= 1


SCRIPT = """
import sys, torch
assert sys.argv[1:] == ["--rate", "1"], sys.argv
class Data(torch.utils.data.Dataset):
    def __len__(self): return 80
    def __getitem__(self, index): return torch.ones(3) * index
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), 1e-9)
loader = torch.utils.data.DataLoader(Data(), 8, num_workers=1, multiprocessing_context="spawn")
if __name__ == "__main__":
    for _ in range(3):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
"""


def test_a_script_runs_as_it_does_alone_and_its_steps_are_timed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    told = subprocess.run(
        [sys.executable, "-m", "orchestrator_observer", "train.py", "--rate", "1"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(callback.__file__).parent), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "median of 2 blocks of 10" in told.stderr
    assert "samples/s" in told.stderr
