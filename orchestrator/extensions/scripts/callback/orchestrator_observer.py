"""Run a Python script as it is, and report its optimizer steps: python -m orchestrator_observer train.py …

Standard library only. Hooks are installed as soon as the script has imported PyTorch or a framework. A loop
over a PyTorch DataLoader is seen by its batches and by the steps of its optimizer; Keras' `fit` and the
Trainer of Hugging Face or Lightning get a `StepCallback`. When enough is measured the script ends with exit
code 0.
"""

from __future__ import annotations

import builtins
import functools
import importlib.abc
import importlib.util
import inspect
import sys
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orchestrator.extensions.scripts.callback import orchestrator_callback as callback
else:
    import orchestrator_callback as callback

_INSTEAD = "report the steps with orchestrator_callback, without script.observe"
_NO_BATCH = f"the optimizer made a step without a batch of a PyTorch DataLoader before it; {_INSTEAD}"
_TWO_OPTIMIZERS = f"two optimizers make steps, so that a step of the script is not clear; {_INSTEAD}"
_TWO_LOADERS = f"the batches of two loaders are in one step, so that its samples are not clear; {_INSTEAD}"
_JAX = f"Keras with JAX is not observed; {_INSTEAD}"


class ObservedLoop(callback._Steps):
    """A loop over a PyTorch DataLoader, by the events of its hooks.

    A loader is one of the training as soon as the optimizer steps on one of its batches. The clock stands
    still behind a loop, and while the script goes over another loader, which is an evaluation then.

    Attributes:
        is_off: True while a framework runs, because its callback reports the steps.
        num_calls: steps of optimizers so far.
    """

    def __init__(self) -> None:
        self.is_off = False
        self.num_calls = 0
        self._loaders: Any = weakref.WeakSet()  # of the training
        self._started: Any = None  # the loader whose first batch comes next
        self._asked = 0.0  # when the last batch was asked for
        self._open: list[Any] = []  # loaders whose iterators are not at their end
        self._fetched: list[Any] = []  # loaders of the batches since the last step
        self._num_batches = 0  # of the current step
        self._most_batches = 0
        self._optimizer: Any = None  # None: no step was made yet

    def start(self, loader: Any, *, learns: bool) -> None:
        """Begin to go over a loader.

        Args:
            learns: False where no gradients are kept.
        """
        if learns:
            self._open.append(loader)
            self._started = loader
        if learns and loader in self._loaders:
            callback._reporter().resume()
        elif self._optimizer is not None:
            callback._reporter().pause()

    def ask(self, loader: Any) -> None:
        """Begin to read a batch."""
        if loader in self._loaders and loader not in self._fetched:
            self._read_batches()
        self._asked = time.perf_counter()

    def receive(self, loader: Any, batch: Any) -> None:
        """Take a batch, the first one of a step or one more."""
        count = callback._num_samples(batch)
        seconds = time.perf_counter() - self._asked
        is_first, self._started = self._started is loader, None
        if loader in self._loaders and not is_first:
            num_processes = getattr(loader, "num_workers", None)
            callback._reporter().load(count, seconds, num_processes=num_processes)
        is_more = loader in self._fetched
        if not is_more:
            self._fetched.append(loader)
        if self._optimizer is not None and loader not in self._loaders:
            return
        if is_more:
            self._num_batches += 1
            self.rows = None if self.rows is None or count is None else self.rows + count
        else:
            self._num_batches, self.rows = 1, count
            self._begin(is_cut=self._most_batches == 1 and self._has_fewer())

    def finish(self, loader: Any, *, learns: bool) -> None:
        """End a loop over a loader; its last batches without a step are too few to accumulate."""
        reporter = callback._reporter()
        reporter.abandon(self)
        if learns:
            self._open.remove(loader)
        if learns and loader in self._loaders:
            if loader in self._fetched and reporter.rewind(self.mark):
                reporter.leave_out(self.rows)
                self._fetched.clear()
            reporter.pause()
            return
        if learns and loader in self._fetched:
            self._fetched.remove(loader)
        if not self.is_cut and any(fetched in self._loaders for fetched in self._fetched):
            reporter.resume()  # the evaluation was within a step

    def step(self, optimizer: Any) -> bool:
        """End a step; return whether enough is measured."""
        self.num_calls += 1
        is_first = self._optimizer is None
        self._optimizer = optimizer if is_first else self._optimizer
        fetched, self._fetched = self._fetched, []
        why = None
        if optimizer is not self._optimizer:
            why = _TWO_OPTIMIZERS
        elif not fetched:
            why = _NO_BATCH
        elif any(loader in self._open for loader in fetched[:-1]):
            why = _TWO_LOADERS
        if why:
            callback._reporter().refuse(why)
            return False
        is_known = is_first or fetched[-1] in self._loaders
        self._loaders.add(fetched[-1])
        if not is_known:  # the clock stood still for its batch
            return False
        self._most_batches = max(self._most_batches, self._num_batches)
        return self._end()


LOOP = ObservedLoop()


def _end_if_measured() -> None:
    if callback._reporter().is_over:
        raise SystemExit(0)


def _watch_torch(torch: Any) -> None:
    """Watch the loaders and optimizers of PyTorch; what it saves is in no step."""
    data = importlib.import_module("torch.utils.data")
    importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook(_after_step)
    _watch_loader(torch, data.DataLoader)

    def watch_subclass(cls: Any, /, **named: Any) -> None:
        super(data.DataLoader, cls).__init_subclass__(**named)
        if "__iter__" in cls.__dict__:
            _watch_loader(torch, cls)

    data.DataLoader.__init_subclass__ = classmethod(watch_subclass)
    torch.amp.GradScaler.step = _counting_skipped(torch.amp.GradScaler.step)
    callback._leave_out(torch, "save")


def _watch_accelerate(module: Any) -> None:
    """Watch the loaders of Accelerate, because it makes their classes later and PyTorch's hooks miss them."""
    for kind in (module.DataLoaderShard, module.DataLoaderDispatcher):
        _watch_loader(sys.modules["torch"], kind)


def _after_step(optimizer: Any, _arguments: Any, _named: Any) -> None:
    if not LOOP.is_off:
        LOOP.step(optimizer)
        _end_if_measured()


def _counting_skipped(step: Any) -> Any:
    """Count a step that a scaler of gradients skips, because they were not finite."""

    @functools.wraps(step)
    def counted(self: Any, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        before = LOOP.num_calls
        answer = step(self, optimizer, *arguments, **named)
        if LOOP.num_calls == before:
            _after_step(optimizer, arguments, named)
        return answer

    return counted


def _watch_loader(torch: Any, kind: Any) -> None:
    """Watch a class of loaders; of loaders within one another the outermost counts."""
    iterate = kind.__iter__

    @functools.wraps(iterate)
    def watched(self: Any) -> Any:
        if LOOP.is_off or _Reading.depth:
            return iterate(self)
        learns = torch.is_grad_enabled()
        LOOP.start(self, learns=learns)
        with _Reading():
            iterator = iterate(self)
        return _go_over(self, iterator, learns=learns)

    kind.__iter__ = watched


class _Reading:
    """A context in which a loader reads; others within it are a part of it."""

    depth = 0

    def __enter__(self) -> None:
        _Reading.depth += 1

    def __exit__(self, *_: object) -> None:
        _Reading.depth -= 1


def _go_over(loader: Any, iterator: Any, *, learns: bool) -> Iterator[Any]:
    try:
        while True:
            if learns:
                LOOP.ask(loader)
            with _Reading():
                batch = next(iterator, _END)
            if batch is _END:
                return
            if learns:
                LOOP.receive(loader, batch)
            yield batch
    finally:
        LOOP.finish(loader, learns=learns)


_END = object()


def _watch_method(kind: Any, name: str, prepare: Callable[..., tuple[Any, Any]]) -> None:
    """Let a framework's method train with a callback; the script ends behind it when enough is measured."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        if LOOP.is_off:
            return method(self, *arguments, **named)
        arguments, named = prepare(self, method, arguments, named)
        LOOP.is_off = True
        try:
            answer = method(self, *arguments, **named)
        finally:
            LOOP.is_off = False
        _end_if_measured()
        return answer

    setattr(kind, name, watched)


def _watch_hugging_face(module: Any) -> None:
    def prepare(trainer: Any, _: Any, arguments: Any, named: Any) -> tuple[Any, Any]:
        trainer.add_callback(callback.StepCallback())
        return arguments, named

    _watch_method(module.Trainer, "train", prepare)


def _watch_lightning(module: Any) -> None:
    def prepare(trainer: Any, _: Any, arguments: Any, named: Any) -> tuple[Any, Any]:
        trainer.callbacks.insert(0, callback.StepCallback())
        return arguments, named

    _watch_method(module.Trainer, "fit", prepare)


def _watch_keras(keras: Any) -> None:
    def prepare(model: Any, fit: Any, arguments: Any, named: Any) -> tuple[Any, Any]:
        if keras.config.backend() == "jax":
            callback._reporter().refuse(_JAX)
            return arguments, named
        bound = inspect.signature(fit).bind(model, *arguments, **named)
        given = bound.arguments.get("callbacks") or []
        if isinstance(given, keras.callbacks.CallbackList):
            given.append(callback.StepCallback())
        else:
            own = given if isinstance(given, (list, tuple)) else [given]
            bound.arguments["callbacks"] = [callback.StepCallback(), *own]
        return bound.args[1:], bound.kwargs

    _watch_method(keras.Model, "fit", prepare)


def _watch_safetensors(module: Any) -> None:
    callback._leave_out(module, "save_file")


_WATCHES = {
    "torch": _watch_torch,
    "accelerate.data_loader": _watch_accelerate,
    "safetensors.torch": _watch_safetensors,
    "transformers.trainer": _watch_hugging_face,
    "lightning.pytorch.trainer.trainer": _watch_lightning,
    "pytorch_lightning.trainer.trainer": _watch_lightning,
    "keras": _watch_keras,
}
"""Module -> what is done as soon as it is imported."""


class _Finder(importlib.abc.MetaPathFinder):
    """A finder of modules that watches some of them after their import."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        watch = _WATCHES.pop(name, None)
        spec = importlib.util.find_spec(name) if watch else None
        if watch is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_watch(module: Any) -> None:
            execute(module)
            watch(module)

        spec.loader.exec_module = execute_and_watch  # type: ignore[method-assign]
        return spec


def main(words: Sequence[str]) -> None:
    """Run a script, or the module behind `-m`, as the interpreter does."""
    sys.meta_path.insert(0, _Finder())
    if words[0] == "-m":
        spec = importlib.util.find_spec(words[1])
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{words[1]}.__main__")
        if spec is None or not spec.origin:
            raise SystemExit(f"No module named {words[1]}")
        path, arguments = Path(spec.origin), words[2:]
    else:
        spec, path, arguments = None, Path(words[0]).absolute(), words[1:]
        sys.path[0] = str(path.resolve().parent)
    code = compile(path.read_bytes(), path, "exec")
    sys.argv = [str(path) if spec else words[0], *arguments]
    main_module = sys.modules["__main__"].__dict__  # where other processes find the script's classes
    main_module.clear()
    main_module.update(
        __name__="__main__",
        __file__=str(path),
        __spec__=spec,
        __package__=spec.parent if spec else None,
        __builtins__=builtins,
    )
    exec(code, main_module)  # noqa: S102  the script is what the user asked to run


if __name__ == "__main__":
    importlib.import_module("orchestrator_observer").main(sys.argv[1:])
