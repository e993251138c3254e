"""Report the steps of a training script to the orchestrator that started it; outside a trial, time and print.

One file, standard library only. Three equal ways:

    for batch in steps(loader):                 # a loop over batches
        loss = train(batch)
        report(loss=loss)

    with step(samples=64):                      # the body of a step
        loss = train(batch)

    Trainer(..., callbacks=[StepCallback()])    # Hugging Face, Lightning, Keras

The orchestrator sets the number of steps of the next part. The clock is read between two idle devices at
the borders of a part alone, so that steps inside a part overlap as they do without this module. What happens
between two steps counts, as the reading of a batch does; what happens in `pause()`, between two loops of
`steps` and in a framework's evaluation does not.
"""

# ruff: noqa: PTH100, PTH116, PTH118, PTH206  Path is slow for what runs at every opened file
from __future__ import annotations

import atexit
import functools
import importlib
import itertools
import json
import os
import resource
import socket
import stat
import statistics
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["StepCallback", "pause", "report", "step", "steps"]

_ADDRESS = "ORCHESTRATOR_CALLBACK"  # path of the worker's socket
_FOLDERS = "ORCHESTRATOR_FOLDERS"  # folders whose files count, the script's working directory first
_MOST_FILES, _MOST_LETTERS = 1000, 2**17  # that are told, and those of their names
_OTHERS = frozenset({"__pycache__", "site-packages", "dist-packages"})  # folders that are not the script's
_MOST_BUSY = 0.1  # of the time that is set back, the part in which devices may have been busy still
_VERSION = 2  # of the messages there
_UNWATCHED = ("cupy", "mindspore", "mlx", "mxnet", "paddle", "tinygrad")  # which compute asynchronously
_WARMUP_STEPS, _STEPS_PER_BLOCK = 3, 10  # outside a trial
_TWICE = (
    "a step is reported within another step, so that both count the same time; keep one of the loops over "
    "`steps`, `step`, `StepCallback` and script.observe"
)


def steps(
    batches: Iterable[Any] | None = None, *, samples: Any = None, accumulation_steps: int = 1
) -> Iterator[Any]:
    """Yield batches, and count passes through the loop's body as steps; the clock stops behind the loop.

    When enough is measured it ends, as if there were no more batches: the script goes on behind its loop.
    The clock stands still for a batch that is smaller than those before it, as the last one of a data set,
    and for batches at the end that are fewer than `accumulation_steps`.

    Args:
        batches: what the loop goes over; None: the numbers from 0, for a loop that makes its own batches.
        samples: samples of a batch, or a function of the batch; None: they are counted from each batch.
        accumulation_steps: passes that make one optimizer step.
    """
    reporter, sizes = _reporter(), _Sizes(batches, samples)
    last = _num_in_whole_steps(batches, accumulation_steps)
    source = iter(itertools.count() if batches is None else batches)
    reporter.resume()
    counted: int | None = 0
    largest, is_within, is_left_out = 0, False, False
    try:
        for index in itertools.count():
            is_first = index % accumulation_steps == 0
            if is_first and reporter.is_over:
                return
            asked = time.perf_counter()
            batch = next(source, _NO_BATCH)
            if batch is _NO_BATCH:
                return
            seconds = time.perf_counter() - asked
            size = sizes.count(batch, index)
            if not isinstance(batch, int):  # a number is no data
                reporter.wait(seconds)
                if index:  # the first batch starts the loader
                    reporter.load(size, seconds, num_processes=getattr(batches, "num_workers", None))
            if is_first:
                is_left_out = (last is not None and index >= last) or (size is not None and size < largest)
            if is_left_out:
                reporter.pause()
                yield batch
                reporter.leave_out(size)
                continue
            largest = max(largest, size or 0)
            if is_first:
                reporter.begin(sizes)
                counted, is_within = 0, True
            yield batch
            counted = None if counted is None or size is None else counted + size
            if (index + 1) % accumulation_steps == 0:
                reporter.end(counted, is_given=sizes.is_given)
                is_within = False
    finally:
        reporter.is_torn = reporter.is_torn or is_within
        reporter.abandon(sizes)
        reporter.pause()


_NO_BATCH = object()


def _num_in_whole_steps(batches: Any, accumulation_steps: int) -> int | None:
    """Return the number of batches that make whole steps; None: the batches have no length."""
    if accumulation_steps == 1:
        return None  # each batch tells for itself
    try:
        count = len(batches)
        size = getattr(batches, "batch_size", None)
        if isinstance(size, int) and not getattr(batches, "drop_last", True):
            count = min(count, len(batches.sampler) // size)
    except (TypeError, AttributeError):
        return None
    return int(count - count % accumulation_steps)


class _Sizes:
    """Samples of the batches of one loop, counted from the batches where possible.

    Args:
        batches: what the loop goes over.
        samples: as that of `steps`.

    Attributes:
        is_given: True if the script gave a number which the batches do not confirm.
    """

    def __init__(self, batches: Any, samples: Any) -> None:
        self._loader, self._samples = batches, samples
        self._is_counted, self.is_given = False, False

    def count(self, batch: Any, index: int) -> int | None:
        """Return the samples of a batch; None: not known.

        What the first batch shows must be the number that the script gave, or the loader's batch size: the
        first dimension of a tensor need not be that of samples.
        """
        seen = _num_samples(batch)
        if callable(self._samples):
            own = int(self._samples(batch))
            self.is_given = self.is_given or own != seen
            return own
        expected = self._expected(index)
        if index == 0:
            self._is_counted = seen is not None and expected in (None, seen)
            self.is_given = self._samples is not None and not self._is_counted
        if self._is_counted:
            return seen
        return expected if seen is None or self._samples is not None else None

    def _expected(self, index: int) -> int | None:
        """Return the samples that the script or a PyTorch DataLoader promises for a batch."""
        given = None if self._samples is None else int(self._samples)
        size = getattr(self._loader, "batch_size", None)
        if isinstance(size, int) and given in (None, size):
            try:
                return max(0, min(size, len(self._loader.sampler) - index * size))
            except (TypeError, AttributeError):
                return given
        return given


_MOST_LEAVES = 100  # of a batch that are looked at


def _num_samples(batch: Any) -> int | None:
    """Return the first dimension of a batch's tensors; None: it has none, or they differ."""
    shapes = itertools.islice(_leading_dimensions(batch), _MOST_LEAVES)
    dimensions = {size for size in shapes if size is not None}
    return dimensions.pop() if len(dimensions) == 1 else None


def _leading_dimensions(batch: Any) -> Iterator[int | None]:
    """Yield the first dimension of each leaf of a batch; None for one that is no array, or a scalar."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        try:
            yield int(shape[0])
        except (TypeError, ValueError, IndexError):
            yield None
    elif isinstance(batch, (Mapping, tuple, list)):
        for part in batch.values() if isinstance(batch, Mapping) else batch:
            yield from _leading_dimensions(part)
    else:
        yield None


class step:  # noqa: N801  used as a statement
    """Return a context with a step as its body. When enough is measured it ends the script with exit code 0.

    Args:
        samples: samples of the step; a trial needs them.
    """

    def __init__(self, *, samples: int | None = None) -> None:
        self._samples = samples

    def __enter__(self) -> step:
        _reporter().begin(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            _reporter().abandon(self)
        else:
            _reporter().end(self._samples, is_given=True)
            if _reporter().is_over:
                raise SystemExit(0)


class pause:  # noqa: N801  used as a statement
    """Return a context that counts in no step, as an evaluation or a checkpoint between two steps."""

    def __enter__(self) -> pause:
        self._has_stopped, self._began = _reporter().pause(), time.perf_counter()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._has_stopped:
            _reporter().resume()
        else:
            _reporter().forget(time.perf_counter() - self._began)


def report(*, loss: Any) -> None:
    """Keep the loss of the current step: a number or a tensor with one value, which is read at a border."""
    _reporter().loss = loss


class StepCallback:
    """Callback for Hugging Face's Trainer, Lightning's Trainer and Keras' `fit`; a step is an optimizer step.

    When enough is measured it asks the framework to stop. A loop of Accelerate uses `steps` or `step`. The
    framework's evaluations and checkpoints count in no step, and the clock stands still for a step of fewer
    samples, as the last one of an epoch.

    Args:
        samples: samples of a whole step in this process; None: as many as its batches have.
    """

    def __new__(cls, *, samples: int | None = None) -> Any:
        bases = tuple(base for module, base in _bases() if module)
        kind = type("StepCallback", (_Callback, *bases), _shared_hooks(bases))
        callback: Any = object.__new__(kind)
        for base in bases:
            base.__init__(callback)
        callback.samples = samples
        return callback


class _Steps:
    """Steps with observed batches: which of them count, and with how many samples.

    Attributes:
        samples: samples of a whole step, as the script gives them; None: as many as its batches have.
        rows: samples in the batches of the current step; None: not known.
        most_rows: those of the largest step so far.
        mark: the clock before the current step read its batches.
        is_cut: True within a step of fewer samples, for which the clock stands still.
        num_cut: number of such steps.
        num_whole: number of the others.
    """

    samples: int | None = None
    rows: int | None = None
    most_rows = 0
    mark = (0.0, 0.0)
    is_cut = False
    num_cut = num_whole = 0

    def _read_batches(self) -> None:
        """Let the clock go on where a step begins to read its batches."""
        _reporter().resume()
        self.mark = _reporter().read_clock()

    def _begin(self, *, is_cut: bool) -> None:
        """Begin a step with batches that are read.

        Steps that are cut are left out as long as they are fewer than the others: then each follows whole
        ones. In a training of unequal steps they count, and the trial is refused for its batch.
        """
        self.is_cut = is_cut and self.num_cut < self.num_whole
        if self.is_cut:
            _reporter().rewind(self.mark)
        else:
            _reporter().begin(self)

    def _end(self, *, was_idle: bool = False) -> bool:
        """End a step, which counts unless it is cut; return whether enough is measured.

        Args:
            was_idle: True if devices had finished all earlier work at the mark.
        """
        reporter = _reporter()
        self.most_rows = max(self.most_rows, self.rows or 0)
        if not self.is_cut and self._has_fewer() and self.num_cut < self.num_whole:
            self.is_cut = reporter.rewind(self.mark, was_idle=was_idle)
        if self.is_cut:
            self.num_cut += 1
            reporter.leave_out(self.rows)
        else:
            self.num_whole += 1
            reporter.end(self._count_own(), is_given=self.samples is not None)
        return reporter.is_over

    def _has_fewer(self) -> bool:
        return self.rows is not None and self.rows < self.most_rows

    def _count_own(self) -> int | None:
        """Return the samples of a step, a part of the script's own number for one of fewer rows."""
        if self.samples is None or not self.rows:
            return self.samples or self.rows
        return self.samples * self.rows // self.most_rows


class _Callback(_Steps):
    """The methods of all three frameworks; those of one name are distinguished by their arguments.

    Attributes:
        started: Lightning's number of steps before the current one; None: none has begun.
        most_batch_rows: samples of Lightning's largest batch so far.
        seen: samples that Keras had taken before the current step.
    """

    started: int | None = None
    most_batch_rows = seen = 0
    model: Any

    def on_train_begin(self, *arguments: Any, **_: Any) -> None:
        """Watch Hugging Face's Trainer (args, state, control) read batches; leave out Keras' other work."""
        if len(arguments) < 3:
            _leave_out(self.model, "evaluate", "predict", "save", "save_weights")
            return
        trainer = sys.modules["transformers"].Trainer
        read = trainer.get_batch_samples

        @functools.wraps(read)
        def read_and_count(*arguments: Any, **named: Any) -> Any:
            self._read_batches()
            batches, num_items = read(*arguments, **named)
            counts = [_num_samples(batch) for batch in batches]
            self.rows = None if None in counts else sum(filter(None, counts))
            return batches, num_items

        trainer.get_batch_samples = read_and_count

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin a step of Hugging Face's Trainer."""
        self._begin(is_cut=self._has_fewer())

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """End a step of Hugging Face's Trainer."""
        if self._end():
            control.should_training_stop = True
        self._pause_for(control)
        return control

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Let the clock go on where an epoch of any framework begins to make its batches."""
        _reporter().resume()

    on_train_epoch_start = on_epoch_begin

    def on_epoch_end(self, *arguments: Any, **_: Any) -> None:
        """Leave out what Hugging Face's Trainer (args, state, control) does at the end of an epoch."""
        if len(arguments) == 3:
            self._pause_for(arguments[2])

    def _pause_for(self, control: Any) -> None:
        """Stop the clock where Hugging Face's Trainer evaluates or saves, until the next step or epoch."""
        if control.should_evaluate or control.should_save:
            _reporter().pause()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Keep the loss that Hugging Face's Trainer logs."""
        if logs and "loss" in logs:
            _reporter().loss = logs["loss"]

    def on_fit_start(self, trainer: Any, module: Any) -> None:
        """Leave out the evaluations and checkpoints of Lightning, and watch it read batches."""
        loop = trainer.fit_loop.epoch_loop
        _leave_out(loop.val_loop, "run")
        _leave_out(trainer, "save_checkpoint")
        advance = loop.advance

        @functools.wraps(advance)
        def watched(*arguments: Any) -> Any:
            if self.started is None:
                self._read_batches()
            return advance(*arguments)

        loop.advance = watched

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        """Begin a step of Lightning, of several batches where it accumulates gradients.

        The last step of an epoch may have fewer of them, or a smaller last one, which is not seen yet.
        """
        count = _num_samples(batch)
        if self.started is not None:
            self.rows = None if self.rows is None or count is None else self.rows + count
            return
        self.started, self.rows = trainer.global_step, count
        self.most_batch_rows = max(self.most_batch_rows, count or 0)
        is_smaller = count is not None and count < self.most_batch_rows
        num_accumulated = trainer.accumulate_grad_batches
        is_last = 0 < trainer.num_training_batches - num_accumulated <= batch_idx
        self._begin(is_cut=is_smaller or (num_accumulated > 1 and is_last))

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begin a step of Keras, which reads its batch then."""
        self._begin(is_cut=False)
        self.seen = _count_seen(self.model)  # waits for the step before, which computes the count
        self.mark = _reporter().read_clock()

    def on_train_batch_end(self, *arguments: Any, **named: Any) -> None:
        """End a step of Keras (batch, logs), or a batch of Lightning (trainer, module, outputs, …)."""
        reporter = _reporter()
        if len(arguments) > 2:
            trainer, _, outputs, *_ = arguments
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            reporter.loss = reporter.loss if loss is None else loss
            if trainer.global_step != self.started:
                self.started = None
                trainer.should_stop = self._end() or trainer.should_stop
            return
        logs = arguments[1] if len(arguments) > 1 else named.get("logs")
        if logs and "loss" in logs:
            reporter.loss = logs["loss"]
        if getattr(self.model, "steps_per_execution", 1) != 1:
            raise ValueError("steps_per_execution hides the single steps; compile the model with 1")
        strategy = getattr(self.model, "distribute_strategy", None)
        reporter.num_replicas = getattr(strategy, "num_replicas_in_sync", None)
        self.rows = (_count_seen(self.model) - self.seen) or None
        if self._end(was_idle=True):
            self.model.stop_training = True


def _count_seen(model: Any) -> int:
    """Count the samples by which Keras weights its mean loss, 0 for a model with its own training step."""
    return int(getattr(getattr(model, "_loss_tracker", None), "count", 0))


def _leave_out(owner: Any, *names: str) -> None:
    """Stop the clock during the calls of an object's methods."""
    for name in names:
        setattr(owner, name, _paused(getattr(owner, name)))


def _paused(method: Any) -> Any:
    """Wrap a method so that the clock stands still during its calls."""

    @functools.wraps(method)
    def paused(*arguments: Any, **named: Any) -> Any:
        with pause():
            return method(*arguments, **named)

    return paused


def _shared_hooks(bases: tuple[Any, ...]) -> dict[str, Any]:
    """Hooks of one name in several frameworks, which call them with different arguments: they do nothing."""
    named = Counter(name for base in bases for name in dir(base) if name.startswith("on_"))
    shared = (name for name, count in named.items() if count > 1 and not hasattr(_Callback, name))
    return dict.fromkeys(shared, _do_nothing)


def _do_nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


def _bases() -> Iterator[tuple[Any, Any]]:
    """(module, class of callbacks) of the frameworks that the script has imported."""
    for name, path in (
        ("transformers", "TrainerCallback"),
        ("lightning", "pytorch.Callback"),
        ("pytorch_lightning", "Callback"),
        ("keras", "callbacks.Callback"),
    ):
        module = sys.modules.get(name)
        base: Any = module
        for part in path.split("."):
            base = getattr(base, part, None)
        if base is not None:
            yield module, base


class _Reporter:
    """Timing of the parts of a training, by the orders of the process that started it.

    Attributes:
        is_over: True when enough is measured.
        is_torn: True if a step of the current part was begun and never ended.
        loss: the newest one of the current part.
        num_replicas: processes that train together, where a framework's callback knows it.
    """

    def __init__(self) -> None:
        self.is_over = False
        self.is_torn = False
        self.loss: Any = None
        self.num_replicas: int | None = None
        self._connection = _connected()
        self._left = 0  # steps of the current part; 0: none is timed
        self._is_free = False
        self._is_waiting = True
        self._samples: int | None = 0
        self._is_given = False  # a number of samples that no batch confirms
        self._cpu, self._started, self._paused_seconds = 0.0, 0.0, 0.0
        self._waited: float | None = None  # None: nobody looked
        self._forgotten = 0.0
        self._open: Any = None  # what began the current step; None: no step is open
        # Of the whole training:
        self._loaded: dict[str, Any] = {"num_processes": None, "samples": 0, "seconds": 0.0}
        self._left_out = {"batches": 0, "samples": 0, "seconds": 0.0}  # of the whole training
        self._paused: tuple[float, float] | None = None  # clock and CPU seconds where the clock stopped
        self._watch = _DtypeWatch()
        self._alone = None if self._connection else _Alone()
        if self._alone:
            self._take_order(self._alone.first)

    def begin(self, owner: object) -> None:
        """Begin a step; the first one of a training starts the clock.

        A step within the step of another owner is refused: both would count the same time.
        """
        self.resume()
        if self._is_waiting:
            self._is_waiting = False
            if name := _find_unwatched():
                self.refuse(
                    f"{name} computes while the script goes on, and nothing here waits for it, so no rate is "
                    "known; without orchestrator_callback the run is measured as a whole"
                )
                return
            if self._connection:
                _synchronize()  # which may start devices, so it is no part of the first step's wait
                self._send({"event": "hello", "version": _VERSION, **_describe_new_files()})
            self._start_part()
        if self._open not in (None, owner) and not (self._is_free or self.is_over):
            self.refuse(_TWICE)
        self._open = owner

    def abandon(self, owner: object) -> None:
        """Forget a step that was begun and never ends, if it is the owner's."""
        if self._open is owner:
            self._open = None

    def end(self, samples: int | None, *, is_given: bool = False) -> None:
        """End a step, and the part with it if it was the last one.

        Args:
            samples: samples of the step; None: not known.
            is_given: True for a number that the script gave and no batch confirmed.
        """
        self._open = None
        if self._is_free or self.is_over:
            return
        self._samples = None if self._samples is None or samples is None else self._samples + samples
        self._is_given = self._is_given or is_given
        self._left -= 1
        if self._left == 0:
            _synchronize()
            part = self._finished_part()
            if self._alone:
                self._take_order(self._alone.next(part))
            else:
                self._send(part)
            if not (self.is_over or self._is_free):
                self._start_part()

    def pause(self) -> bool:
        """Stop the clock; return whether it ran."""
        if not self._runs:
            return False
        _synchronize()
        self._paused = time.perf_counter(), time.process_time()
        return True

    def refuse(self, why: str) -> None:
        """End the trial, because no rate of the script can be known; outside a trial, print the cause."""
        if self._connection:
            self._send({"event": "refused", "why": why})
        else:
            print(f"orchestrator_callback: {why}", file=sys.stderr)
        self._is_free = True

    def read_clock(self) -> tuple[float, float]:
        """Return the seconds of the current part so far, and its CPU seconds."""
        clock, cpu = self._paused or (time.perf_counter(), time.process_time())
        return clock - self._started, cpu - self._cpu

    def rewind(self, mark: tuple[float, float], *, was_idle: bool = False) -> bool:
        """Stop the clock, and set it back to what `read_clock` returned; return whether it was set back.

        It is not where the devices may have been busy with earlier work, which would be left out too. The
        time that they are waited for decides, which a busy host prolongs, unless they are known to have
        been idle.
        """
        asked = time.perf_counter()
        self.pause()
        if self._paused is None:
            return False
        is_long = self._paused[0] - asked > _MOST_BUSY * (asked - self._started - mark[0])
        if is_long and not was_idle:
            return False
        self._paused = self._started + mark[0], self._cpu + mark[1]
        return True

    def resume(self) -> None:
        """Let a clock that was stopped go on."""
        if self._paused:
            _synchronize()
            seconds = time.perf_counter() - self._paused[0]
            self._started += seconds
            self._paused_seconds += seconds
            self._cpu += time.process_time() - self._paused[1]
            self._paused = None
        self._forgotten = 0.0

    def leave_out(self, samples: int | None) -> None:
        """Let the clock go on behind a batch that is in no step, and keep what the batch took."""
        if self._paused:
            _synchronize()
            self._left_out["batches"] += 1
            self._left_out["samples"] += samples or 0
            self._left_out["seconds"] += time.perf_counter() - self._paused[0] - self._forgotten
        self._open = None
        self.resume()

    def forget(self, seconds: float) -> None:
        """Take a pause within a batch that is left out from the time of that batch."""
        self._forgotten += seconds if self._paused else 0.0

    def wait(self, seconds: float) -> None:
        """Count time in which a step waited for its batch, unless the device was busy with earlier steps."""
        if _may_be_busy_unseen():
            return
        if self._runs and not _is_busy():
            self._waited = (self._waited or 0.0) + seconds
        elif self._waited is None:
            self._waited = 0.0

    def load(self, samples: int | None, seconds: float, *, num_processes: Any) -> None:
        """Keep what a loader took for a batch other than its first one, and how many processes it has."""
        self._loaded["num_processes"] = num_processes if isinstance(num_processes, int) else None
        self._loaded["samples"] += samples or 0
        self._loaded["seconds"] += seconds

    @property
    def _runs(self) -> bool:
        """True while the clock runs."""
        return not (self._is_waiting or self._is_free or self.is_over or self._paused)

    def _start_part(self) -> None:
        _synchronize()
        self.is_torn = False
        self._samples, self._cpu, self._paused_seconds = 0, time.process_time(), 0.0
        self._waited = None if self._waited is None else 0.0
        self._started = time.perf_counter()

    def _finished_part(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self._started
        loss, self.loss = self.loss, None
        return {
            "event": "part",
            "seconds": seconds,
            "cpu_seconds": time.process_time() - self._cpu,
            "paused_seconds": self._paused_seconds,
            "data_wait_seconds": self._waited,
            "samples": self._samples,
            "is_given": self._is_given,
            "left_out": self._left_out,
            "loaded": self._loaded,
            "loss": _number(loss),
            "is_torn": self.is_torn,
            "num_workers": _num_workers(self.num_replicas),
            **_device_facts(self._watch),
            **_describe_new_files(),
        }

    def _send(self, message: dict[str, Any]) -> None:
        """Send a message, and follow the order that answers it; without an answer go on untimed."""
        try:
            self._connection.write(json.dumps(message) + "\n")
            self._connection.flush()
            line = self._connection.readline()
        except OSError:
            line = ""
        self._take_order(json.loads(line) if line else {"order": "free"})

    def _take_order(self, order: dict[str, Any]) -> None:
        self._is_free, self.is_over = order["order"] == "free", order["order"] == "stop"
        self._left = order.get("steps", 0)


class _Alone:
    """Parts outside a trial: a first step, a warm-up, then blocks to the end; one line is printed then."""

    first: ClassVar[dict[str, Any]] = {"order": "part", "steps": 1}

    def __init__(self) -> None:
        self._blocks: list[tuple[float, int | None]] = []
        self._number = 0
        atexit.register(self._print)

    def next(self, part: dict[str, Any]) -> dict[str, Any]:
        """Keep a part, and return the order for the next one."""
        self._number += 1
        if self._number > 2:
            self._blocks.append((part["seconds"], part["samples"]))
        return {"order": "part", "steps": _WARMUP_STEPS if self._number == 1 else _STEPS_PER_BLOCK}

    def _print(self) -> None:
        if not self._blocks:
            print("orchestrator_callback: too few steps to time", file=sys.stderr)
            return
        seconds = statistics.median(seconds for seconds, _ in self._blocks)
        rates = [samples / seconds for seconds, samples in self._blocks if samples]
        rate = f", {statistics.median(rates):,.0f} samples/s" if len(rates) == len(self._blocks) else ""
        print(
            f"orchestrator_callback: {1e3 * seconds / _STEPS_PER_BLOCK:.4g} ms a step, median of "
            f"{len(self._blocks)} blocks of {_STEPS_PER_BLOCK}{rate}",
            file=sys.stderr,
        )


class _DtypeWatch:
    """Type of the output of the first PyTorch layer with a matrix of weights, and the type of its device.

    Embeddings look up, so their output is not in the precision of the products.

    Attributes:
        has_trained: a backward pass or a step of an optimizer of PyTorch was seen; None: not watched.
    """

    def __init__(self) -> None:
        self.dtype: str | None = None
        self.device_type: str | None = None
        self.is_convolution = False
        self.has_trained: bool | None = None
        self._hook: Any = None
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch.autograd, "_engine_run_backward"):
            self.has_trained = False
            self._run_backward = torch.autograd._engine_run_backward  # of Tensor.backward and autograd.grad
            torch.autograd._engine_run_backward = self._see_backward
            optimizers = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_post_hook(lambda *_: setattr(self, "has_trained", True))
        if torch is not None:
            warnings.filterwarnings("ignore", ".*global hooks on modules")  # of torch.compile
            self._hook = torch.nn.modules.module.register_module_forward_hook(self._see)

    def _see_backward(self, *arguments: Any, **named: Any) -> Any:
        sys.modules["torch"].autograd._engine_run_backward = self._run_backward
        self.has_trained = True
        return self._run_backward(*arguments, **named)

    def _see(self, module: Any, _inputs: Any, output: Any) -> None:
        if self.dtype is not None or "Embedding" in type(module).__name__:
            return
        ranks = [weight.ndim for weight in module._parameters.values() if weight is not None]
        first = output[0] if isinstance(output, (tuple, list)) else output
        if max(ranks, default=0) > 1 and isinstance(first, sys.modules["torch"].Tensor):
            self.dtype = str(first.dtype).replace("torch.", "")
            self.device_type = first.device.type
            self.is_convolution = max(ranks) > 2
            if not sys.modules["torch"].compiler.is_compiling():  # which cannot trace the removal
                self._hook.remove()


class _FileWatch:
    """Files of the script's folders that this process opens for reading, and files that it writes.

    An audit hook sees what Python opens. The sources of modules are added, because one from a cache is not
    opened. What other processes and libraries in C open is not seen.

    Args:
        folders: absolute paths; names are relative to the first one.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._roots = tuple(os.path.join(folder, "") for folder in folders)
        self._environments = tuple(
            os.path.join(prefix, "")
            for prefix in (sys.prefix, sys.base_prefix)
            if any(prefix.startswith(root) for root in self._roots)
        )
        self._read: dict[str, int] = {}  # path -> its modification in nanoseconds when it was opened
        self._written: dict[str, None] = {}
        self._num_letters = self._num_modules = 0
        self._num_reported = [0, 0]
        self._has_more = False

    def see(self, event: str, arguments: Any) -> None:
        """Take `open` or `os.rename` with its arguments. An error here would end what the script does."""
        try:
            if event == "open":
                path, _, flags = arguments
                self._add(path, is_written=bool(flags & (os.O_WRONLY | os.O_RDWR)))
            else:
                self._add(arguments[1], is_written=True)
        except Exception:  # noqa: BLE001, S110  a path of any kind, at any time of the interpreter
            pass

    def describe_new(self) -> dict[str, Any]:
        """Return the files since the last call."""
        self._add_modules()
        read, written = list(self._read.items()), list(self._written)
        first_read, first_written = self._num_reported
        self._num_reported = [len(read), len(written)]
        return {
            "files": {self._name(path): changed_at for path, changed_at in read[first_read:]},
            "written": [self._name(path) for path in written[first_written:]],
            "has_more": self._has_more,
        }

    def _add_modules(self) -> None:
        if len(sys.modules) == self._num_modules:
            return
        self._num_modules = len(sys.modules)
        for module in list(sys.modules.values()):
            file = module.__dict__.get("__file__") if isinstance(module, types.ModuleType) else None
            if isinstance(file, str):
                self._add(file, is_written=False)

    def _add(self, path: Any, *, is_written: bool) -> None:
        if isinstance(path, int):
            return
        path = os.path.abspath(os.fsdecode(path))
        kept = self._written if is_written else self._read
        if path in kept or not self._is_own(path):
            return
        if len(kept) == _MOST_FILES or self._num_letters > _MOST_LETTERS:
            self._has_more = True
            return
        if not is_written:
            try:
                status = os.stat(path)
            except OSError:
                return
            if not stat.S_ISREG(status.st_mode):
                return
            self._read[path] = status.st_mtime_ns
        else:
            self._written[path] = None
        self._num_letters += len(path)

    def _is_own(self, path: str) -> bool:
        root = next((root for root in self._roots if path.startswith(root)), None)
        if root is None or path.startswith(self._environments):
            return False
        folders = path[len(root) :].split(os.sep)[:-1]
        return not any(folder.startswith(".") or folder in _OTHERS for folder in folders)

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._roots[0])


def _watched_files() -> _FileWatch | None:
    """Watch the files of a trial's script from here on; None: there is no trial."""
    folders = os.environ.get(_FOLDERS)
    if not folders:
        return None
    watch = _FileWatch(folders.split(os.pathsep))

    def hook(event: str, arguments: Any) -> None:  # a method would take three times as long at every event
        if event == "open" or event == "os.rename":
            watch.see(event, arguments)

    sys.addaudithook(hook)
    return watch


_FILES = _watched_files()


def _describe_new_files() -> dict[str, Any]:
    return _FILES.describe_new() if _FILES else {}


_REPORTERS: list[_Reporter] = []


def _reporter() -> _Reporter:
    if not _REPORTERS:
        _REPORTERS.append(_Reporter())
    return _REPORTERS[0]


def _connected() -> Any:
    path = os.environ.get(_ADDRESS)
    if not path:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError as error:
        print(
            f"orchestrator_callback: no orchestrator at {path}: {error}; steps are not reported",
            file=sys.stderr,
        )
        return None
    connection.settimeout(None)  # whatever default the script sets
    return connection.makefile("rw")


def _synchronize() -> None:
    """Wait until all devices that the script uses are idle."""
    torch, xla, tensorflow = sys.modules.get("torch"), sys.modules.get("torch_xla"), _tensorflow()
    if xla is not None:
        xla.sync()
        sys.modules["torch_xla.core.xla_model"].wait_device_ops()
    elif torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    if tensorflow is not None:
        tensorflow.test.experimental.sync_devices()
    jax = _jax()
    if jax is not None:
        jax.effects_barrier()
        jax.block_until_ready(jax.live_arrays())
        for device in jax.local_devices():  # computes in order: behind results that nobody kept
            (jax.device_put(0, device) + 1).block_until_ready()


def _find_unwatched() -> str | None:
    """Return the asynchronous framework that a script trains with if `_synchronize` does not wait for it."""
    is_watched = any(name in sys.modules for name in ("torch", "jax", "tensorflow"))
    return None if is_watched else next((name for name in _UNWATCHED if name in sys.modules), None)


def _is_busy() -> bool:
    """Return whether a device still computes what PyTorch gave a GPU earlier, or JAX any device."""
    torch, jax = sys.modules.get("torch"), _jax()
    if jax is not None and not all(array.is_ready() for array in jax.live_arrays()):
        return True
    if torch is None or not torch.cuda.is_initialized():
        return False
    return not torch.cuda.current_stream().query()


def _may_be_busy_unseen() -> bool:
    """Return whether torch_xla or TensorFlow may use a device that cannot be asked whether it computes."""
    tensorflow = _tensorflow()
    accelerators = tensorflow and [*map(tensorflow.config.list_logical_devices, ("GPU", "TPU"))]
    return "torch_xla" in sys.modules or any(accelerators or ())


def _tensorflow() -> Any:
    """Return TensorFlow if the script trains with it; PyTorch's TensorBoard and readers of JAX import it too.

    To ask it for devices takes a GPU's memory.
    """
    tensorflow, keras = sys.modules.get("tensorflow"), sys.modules.get("keras")
    if tensorflow is None or not hasattr(tensorflow, "test"):
        return None
    if keras is not None and hasattr(keras, "config") and hasattr(keras.config, "backend"):
        return tensorflow if keras.config.backend() == "tensorflow" else None
    return None if "torch" in sys.modules or _jax() is not None else tensorflow


def _jax() -> Any:
    """Return JAX if the script computes with it; to ask it for devices takes a GPU's memory."""
    jax, bridge = sys.modules.get("jax"), sys.modules.get("jax._src.xla_bridge")
    return jax if jax is not None and bridge is not None and bridge.backends_are_initialized() else None


def _num_workers(num_replicas: int | None) -> int | None:
    """Processes that train together; None: it is not seen.

    A script of PyTorch alone trains for itself without a process group.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_world_size())
    if num_replicas is not None:
        return num_replicas
    jax = _jax()
    if jax is not None:
        return int(jax.process_count())
    others = ("tensorflow", "torch_xla", "horovod", "mpi4py")
    return None if torch is None or any(name in sys.modules for name in others) else 1


def _device_facts(watch: _DtypeWatch) -> dict[str, Any]:
    """Return the device as the frameworks report it; a script without any of them runs on the CPU.

    A script of PyTorch that holds nothing in a GPU's memory does not train there. A device of PyTorch that
    `_synchronize` does not wait for, such as `mps`, `xpu` or `npu`, is reported by its own name, which is
    refused.
    """
    facts: dict[str, Any] = {
        "kind": "cpu",
        "name": None,
        "dtype": watch.dtype,
        "peak_memory_bytes": None,
        "is_rounded": False,
    }
    facts["peak_host_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    torch, xla = sys.modules.get("torch"), sys.modules.get("torch_xla")
    tensorflow, keras = _tensorflow(), sys.modules.get("keras")
    peak = torch.cuda.max_memory_allocated() if torch is not None and torch.cuda.is_initialized() else 0
    if xla is not None:
        name = str(xla.runtime.global_runtime_device_attributes()[0]["name"])
        facts["kind"] = "tpu" if name.startswith("TPU") else "cpu"
    elif torch is not None and peak:
        facts.update(kind="gpu", name=torch.cuda.get_device_name(), peak_memory_bytes=peak)
        facts["is_rounded"] = _rounds_float32(torch, of_convolutions=watch.is_convolution)
    elif _jax() is not None:
        facts.update(_jax_facts(_jax()))
    elif tensorflow is not None:
        gpus = tensorflow.config.list_logical_devices("GPU")
        if tensorflow.config.list_logical_devices("TPU"):
            facts["kind"] = "tpu"
        elif gpus:
            details = tensorflow.config.experimental.get_device_details(
                tensorflow.config.list_physical_devices("GPU")[0]
            )
            facts.update(kind="gpu", name=details.get("device_name"))
            facts["peak_memory_bytes"] = tensorflow.config.experimental.get_memory_info(gpus[0].name)["peak"]
            facts["is_rounded"] = tensorflow.config.experimental.tensor_float_32_execution_enabled()
    if watch.device_type not in (None, "cpu", "cuda", "xla"):
        facts["kind"] = watch.device_type
    is_alone = not (_jax() or tensorflow or sys.modules.keys() & _UNWATCHED)
    facts["has_trained"] = watch.has_trained if is_alone else None
    if watch.dtype is None and keras is not None and hasattr(keras, "config"):
        facts["dtype"] = keras.config.dtype_policy().compute_dtype
    return facts


def _jax_facts(jax: Any) -> dict[str, Any]:
    """Return the device of this process that holds the script's JAX arrays, an accelerator first."""
    held = {device for array in jax.live_arrays() for device in array.devices()}
    own = [device for device in held if device.process_index == jax.process_index()]
    device = min(own or jax.local_devices(), key=lambda device: (device.platform == "cpu", device.id))
    if device.platform == "cpu":
        return {"kind": "cpu"}
    return {
        "kind": device.platform,  # rocm and cuda are both `gpu`
        "name": device.device_kind if device.platform == "gpu" else None,
        "peak_memory_bytes": (device.memory_stats() or {}).get("peak_bytes_in_use"),
        "is_rounded": jax.config.jax_default_matmul_precision not in ("highest", "float32"),
    }


def _rounds_float32(torch: Any, *, of_convolutions: bool) -> bool:
    """Return whether products of float32 are computed in TF32, by default true of convolutions alone."""
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    owner = getattr(cudnn, "conv", cudnn) if of_convolutions else matmul
    if hasattr(owner, "fp32_precision"):  # since 2.9; the older switch may not be read once this one is set
        return bool(owner.fp32_precision == "tf32")
    return bool(owner.allow_tf32)


def _number(loss: Any) -> float | None:
    """Read a loss, which waits for its device; None for what is no number."""
    try:
        value = loss.item() if hasattr(loss, "item") else loss.numpy() if hasattr(loss, "numpy") else loss
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return None
