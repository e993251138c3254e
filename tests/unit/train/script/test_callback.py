"""Samples, clock and device facts of the callback of scripts, in this process and without a trial."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.callback import orchestrator_callback as callback


class Recorder:
    """A reporter that keeps what it is told.

    Attributes:
        counted: samples of every step that ended.
        passes: for every pass of the loop whether the clock ran.
    """

    def __init__(self) -> None:
        self.is_over, self.is_torn, self.runs = False, False, False
        self.counted: list[int | None] = []
        self.passes: list[bool] = []

    def begin(self) -> None:
        self.runs = True

    def end(self, samples: int | None) -> None:
        self.counted.append(samples)

    def pause(self) -> None:
        self.runs = False

    def resume(self) -> None:
        self.runs = True


@pytest.fixture
def reporter(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(callback, "_REPORTERS", [recorder])
    return recorder


class Loader(list[int]):
    """Batches as a DataLoader has them, of a data set whose last batch may be smaller."""

    def __init__(self, samples: int, batch_size: int, *, drop_last: bool) -> None:
        super().__init__(range(samples // batch_size if drop_last else -(-samples // batch_size)))
        self.batch_size, self.drop_last, self.sampler = batch_size, drop_last, range(samples)


def take(recorder: Recorder, loop: Iterator[Any]) -> int:
    """Go through a loop to its end; return its passes."""
    for _ in loop:
        recorder.passes.append(recorder.runs)
    return len(recorder.passes)


def test_a_smaller_last_batch_is_trained_on_and_not_counted(reporter: Recorder) -> None:
    assert take(reporter, callback.steps(Loader(100, 64, drop_last=False))) == 2
    assert reporter.counted == [64]
    assert reporter.passes == [True, False]
    assert not reporter.is_torn


@pytest.mark.parametrize("drop_last", [True, False])
def test_all_whole_batches_count(reporter: Recorder, drop_last: bool) -> None:
    take(reporter, callback.steps(Loader(128, 64, drop_last=drop_last)))
    assert reporter.counted == [64, 64]


def test_batches_that_are_too_few_to_accumulate_do_not_count(reporter: Recorder) -> None:
    assert take(reporter, callback.steps(Loader(80, 8, drop_last=True), accumulation_steps=4)) == 10
    assert reporter.counted == [32, 32]
    assert reporter.passes == 8 * [True] + 2 * [False]
    assert not reporter.is_torn


def test_a_loop_that_leaves_in_the_middle_of_a_step_says_so(reporter: Recorder) -> None:
    for index, _ in enumerate(callback.steps(samples=4)):
        if index == 2:
            break
    assert reporter.is_torn
    assert reporter.counted == [4, 4]


def test_a_loop_that_is_cut_by_islice_is_whole(reporter: Recorder) -> None:
    take(reporter, callback.steps(iter(range(3)), samples=4))
    assert reporter.counted == [4, 4, 4]
    assert not reporter.is_torn


def test_the_samples_of_a_function_are_its_own(reporter: Recorder) -> None:
    take(reporter, callback.steps(Loader(100, 64, drop_last=False), samples=lambda index: 64 - 28 * index))
    assert reporter.counted == [64, 36]


def test_a_compiled_model_stays_one_graph_and_its_dtype_is_seen() -> None:
    torch = pytest.importorskip("torch")
    torch.compiler.reset()
    watch = callback._DtypeWatch()
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    for _ in range(3):
        with torch.autocast("cpu", torch.bfloat16):
            compiled(torch.ones(3, 4)).sum().backward()
    watch._hook.remove()
    assert watch.dtype == "bfloat16"
    assert not watch.is_convolution
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1


@pytest.mark.parametrize(("of_convolutions", "is_rounded"), [(True, True), (False, False)])
def test_convolutions_are_rounded_by_default_and_products_are_not(
    of_convolutions: bool, is_rounded: bool
) -> None:
    torch = pytest.importorskip("torch")
    assert callback._rounds_float32(torch, of_convolutions=of_convolutions) == is_rounded


def test_a_script_of_pytorch_whose_tensorboard_imported_tensorflow_does_not_train_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensorflow = SimpleNamespace(test=None)
    monkeypatch.setattr(callback.sys, "modules", {"torch": SimpleNamespace(), "tensorflow": tensorflow})
    assert callback._tensorflow() is None
    monkeypatch.setattr(callback.sys, "modules", {"tensorflow": tensorflow})
    assert callback._tensorflow() is tensorflow


@pytest.mark.parametrize("loss", [None, "low", [1.0, 2.0]])
def test_a_loss_that_is_no_number_is_none(loss: object) -> None:
    torch = pytest.importorskip("torch")
    assert callback._number(loss) is None
    assert callback._number(torch.ones(2)) is None
    assert callback._number(torch.tensor(0.5)) == 0.5
