"""Samples, clock and device facts of the callback of scripts, in this process and without a trial."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback

torch = pytest.importorskip("torch")


class Recorder:
    """A reporter that keeps what it is told.

    Attributes:
        counted: samples of every step that ended.
        left_out: samples of every batch that is in no step.
        given: for every step whether no batch confirms its samples.
        waits: seconds in which the loop waited for each batch.
        loads: samples, seconds and processes of the loader, of each batch but the first.
        passes: for every pass of the loop whether the clock ran.
    """

    def __init__(self) -> None:
        self.is_over, self.is_torn, self.runs = False, False, False
        self.counted: list[int | None] = []
        self.left_out: list[int | None] = []
        self.given: list[bool] = []
        self.waits: list[float] = []
        self.loads: list[tuple[int | None, float, object]] = []
        self.passes: list[bool] = []

    def begin(self, _owner: object) -> None:
        self.runs = True

    def abandon(self, owner: object) -> None:
        """Keep nothing: no test here leaves a step open."""

    def end(self, samples: int | None, *, is_given: bool = False) -> None:
        self.counted.append(samples)
        self.given.append(is_given)

    def leave_out(self, samples: int | None) -> None:
        self.left_out.append(samples)
        self.resume()

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def load(self, samples: int | None, seconds: float, *, num_processes: object) -> None:
        self.loads.append((samples, seconds, num_processes))

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


def test_a_loop_that_leaves_in_the_middle_of_a_step_shows_it(reporter: Recorder) -> None:
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
    take(reporter, callback.steps([64, 64, 36], samples=lambda size: size))
    assert (reporter.counted, reporter.left_out) == ([64, 64], [36])


def test_a_number_of_a_function_that_the_batch_contradicts_is_given(reporter: Recorder) -> None:
    take(reporter, callback.steps([torch.zeros(32, 2)] * 2, samples=lambda _: 64))
    take(reporter, callback.steps([torch.zeros(64, 2)] * 2, samples=len))
    assert (reporter.counted, reporter.given) == ([64] * 4, [True, True, False, False])


class Batches(torch.utils.data.IterableDataset[torch.Tensor]):
    """A stream of samples, which tells no length."""

    def __init__(self, samples: int) -> None:
        self._samples = samples

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.zeros(self._samples, 3))


def test_a_smaller_last_batch_of_a_stream_is_left_out(reporter: Recorder) -> None:
    loader = torch.utils.data.DataLoader(Batches(65), 64)
    for _ in range(2):
        take(reporter, callback.steps(loader))
    assert reporter.counted == [64, 64]
    assert reporter.left_out == [1, 1]
    assert reporter.passes == [True, False, True, False]


def test_a_smaller_batch_is_left_out_although_the_script_gives_one_number(reporter: Recorder) -> None:
    take(reporter, callback.steps(torch.utils.data.DataLoader(Batches(65), 64), samples=64))
    assert (reporter.counted, reporter.left_out, reporter.given) == ([64], [1], [False])


def test_a_number_that_no_batch_confirms_is_given(reporter: Recorder) -> None:
    take(reporter, callback.steps(torch.utils.data.DataLoader(Batches(64), 32), samples=64))
    assert (reporter.counted, reporter.given) == ([64, 64], [True, True])


def wrapped(name: str, loader: torch.utils.data.DataLoader[Any]) -> Any:
    """What people write around a loader."""
    if name == "tqdm":
        return pytest.importorskip("tqdm").tqdm(loader, disable=True)
    if name == "accelerate":
        return pytest.importorskip("accelerate").Accelerator(cpu=True).prepare(loader)
    wrappers: Mapping[str, Callable[[Any], Any]] = {
        "enumerate": enumerate,
        "list": list,
        "generator": lambda batches: (batch for batch in batches),
        "mapping": lambda batches: [{"text": ["a"] * 32, "x": x, "y": y} for x, y in batches],
        "nested": lambda batches: [{"inputs": [{"x": x}], "weight": torch.tensor(1.0)} for x, _ in batches],
        "numpy": lambda batches: [(x.numpy(), y.numpy()) for x, y in batches],
        "batch_sampler": lambda batches: torch.utils.data.DataLoader(
            batches.dataset, batch_sampler=batches.batch_sampler
        ),
    }
    return wrappers[name](loader)


@pytest.mark.parametrize(
    "name",
    ["tqdm", "accelerate", "enumerate", "list", "generator", "mapping", "nested", "numpy", "batch_sampler"],
)
def test_batches_are_counted_through_what_is_around_their_loader(name: str, reporter: Recorder) -> None:
    data = torch.utils.data.TensorDataset(torch.zeros(80, 3), torch.zeros(80))
    take(reporter, callback.steps(wrapped(name, torch.utils.data.DataLoader(data, 32))))
    assert (reporter.counted, reporter.left_out) == ([32, 32], [16])


@pytest.mark.parametrize(
    "batch",
    [
        3,
        ["a", "b"],
        [[1, 2], [3, 4]],
        SimpleNamespace(x=torch.zeros(4, 2)),
        torch.tensor(1.0),
        (torch.zeros(35, 20), torch.zeros(700)),  # sequence first
        ((torch.zeros(3, 8, 8), torch.zeros(3, 8, 8)), [{"boxes": torch.zeros(5, 4)}]),  # detection
    ],
)
def test_samples_that_no_batch_shows_are_not_known(batch: object, reporter: Recorder) -> None:
    take(reporter, callback.steps([batch]))
    assert reporter.counted == [None]


def test_a_loader_with_batches_of_another_first_dimension_is_not_counted(reporter: Recorder) -> None:
    loader = torch.utils.data.DataLoader(
        torch.zeros(64, 20), 32, collate_fn=lambda rows: torch.stack(rows, 1)
    )
    take(reporter, callback.steps(loader))
    assert reporter.counted == [None, None]


def test_a_loader_counts_batches_that_are_no_tensors(reporter: Recorder) -> None:
    take(reporter, callback.steps(torch.utils.data.DataLoader(range(80), 32, collate_fn=str)))
    assert (reporter.counted, reporter.left_out) == ([32, 32], [16])


def test_a_step_without_samples_is_not_counted(reporter: Recorder) -> None:
    with callback.step():
        pass
    assert reporter.counted == [None]


def test_the_wait_for_a_batch_is_that_of_its_loader(reporter: Recorder) -> None:
    def load() -> Iterator[torch.Tensor]:
        for _ in range(3):
            time.sleep(0.02)
            yield torch.zeros(4)

    for _ in callback.steps(load()):
        time.sleep(0.05)
    assert len(reporter.waits) == 3
    assert all(0.02 <= seconds < 0.05 for seconds in reporter.waits)


def test_a_loop_that_makes_its_own_batches_has_no_wait(reporter: Recorder) -> None:
    take(reporter, callback.steps(range(3), samples=4))
    assert (reporter.waits, reporter.loads) == ([], [])


def read_slowly(samples: list[torch.Tensor]) -> torch.Tensor:
    time.sleep(0.02)
    return torch.stack(samples)


@pytest.mark.parametrize("num_processes", [0, pytest.param(1, marks=pytest.mark.more)])
def test_the_time_of_a_loader_is_that_of_its_batches_without_the_first_one(
    reporter: Recorder, num_processes: int
) -> None:
    loader = torch.utils.data.DataLoader(Batches(12), 4, collate_fn=read_slowly, num_workers=num_processes)
    take(reporter, callback.steps(loader))
    assert [(samples, processes) for samples, _, processes in reporter.loads] == 2 * [(4, num_processes)]
    assert num_processes or all(seconds >= 0.02 for _, seconds, _ in reporter.loads)


def test_a_loader_with_unobserved_processes_shows_it(reporter: Recorder) -> None:
    take(reporter, callback.steps([torch.zeros(4), torch.zeros(4)]))
    assert [processes for _, _, processes in reporter.loads] == [None]


def test_a_wait_beside_a_busy_gpu_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host may wait for a batch while the device still has steps to compute."""
    is_idle = False
    stream = SimpleNamespace(query=lambda: is_idle)
    cuda = SimpleNamespace(is_initialized=lambda: True, current_stream=lambda: stream)
    monkeypatch.setitem(callback.sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert callback._is_busy()
    is_idle = True
    assert not callback._is_busy()


def test_a_compiled_model_stays_one_graph_and_its_dtype_is_seen() -> None:
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
    assert callback._rounds_float32(torch, of_convolutions=of_convolutions) == is_rounded


def test_a_script_of_pytorch_with_tensorflow_imported_by_tensorboard_does_not_train_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tensorflow = SimpleNamespace(test=None)
    monkeypatch.setattr(callback.sys, "modules", {"torch": SimpleNamespace(), "tensorflow": tensorflow})
    assert callback._tensorflow() is None
    monkeypatch.setattr(callback.sys, "modules", {"tensorflow": tensorflow})
    assert callback._tensorflow() is tensorflow


@pytest.mark.parametrize("loss", [None, "low", [1.0, 2.0]])
def test_a_loss_that_is_no_number_is_none(loss: object) -> None:
    assert callback._number(loss) is None
    assert callback._number(torch.ones(2)) is None
    assert callback._number(torch.tensor(0.5)) == 0.5


@pytest.mark.parametrize("trains", ["backward", "grad", "optimizer", "nothing"])
def test_a_backward_pass_or_a_step_of_an_optimizer_is_seen(trains, monkeypatch):
    for name in ("_jax", "_tensorflow"):  # which other tests may have imported
        monkeypatch.setattr(callback, name, lambda: None)
    run_backward = torch.autograd._engine_run_backward
    monkeypatch.setattr(torch.autograd, "_engine_run_backward", run_backward)
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    watch = callback._DtypeWatch()
    with torch.no_grad():
        torch.nn.functional.linear(torch.ones(1, 2), weight[None])
    assert watch.has_trained is False
    for _ in range(2):
        if trains == "backward":
            weight.sum().backward()
        elif trains == "grad":
            torch.autograd.grad(weight.sum(), weight)
        elif trains == "optimizer":
            optimizer.step()
    assert watch.has_trained is (trains != "nothing")
    assert callback._device_facts(watch)["has_trained"] is watch.has_trained
    assert (torch.autograd._engine_run_backward == run_backward) == (trains in ("backward", "grad"))
    monkeypatch.setitem(sys.modules, "mlx", SimpleNamespace())
    assert callback._device_facts(watch)["has_trained"] is None, "another framework may have trained"
