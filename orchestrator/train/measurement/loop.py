"""The timed loop: one for all frameworks, and the only place that holds a clock."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count, islice
from typing import Annotated

from orchestrator.core.errors import TrialError
from orchestrator.core.interval import median_interval
from orchestrator.core.trial_progress import TargetRun, TrialProgress, TrialStage
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.checkpoints.format import Checkpoint, TrainingProgress
from orchestrator.train.checkpoints.schedule import CheckpointScheduler
from orchestrator.train.measurement.core_waits import (
    ReadCoreWaits,
    read_busy_seconds,
    read_core_waits,
    seconds_waited,
)
from orchestrator.train.measurement.counters import Joules, Meter, used_between
from orchestrator.train.measurement.rank_merging import (
    find_most_compiled,
    find_slowest_by_name,
    list_if_all,
    list_known,
    merge_pursuits,
)
from orchestrator.train.measurement.target import TargetEvaluator
from orchestrator.train.trainer import Trainer
from workloads.spec import Phase, phase_steps

Clock = Callable[[], float]
LossCurve = tuple[tuple[int, float], ...]
OnProgress = Callable[[TrialProgress], None]
"""Reports what the training has shown so far; returns when every rank may go on."""

OnStage = Callable[[TrialStage], None]
"""Reports the current stage of the training; returns at once."""

Barrier = Callable[[bool], bool]
"""Waits for all ranks, and returns whether every one of them passed True."""

REHEARSAL = TimingSpec(
    warmup_steps=0, max_warmup_steps=0, steps_per_block=1, min_blocks=1, max_blocks=1
).without_seconds()
"""Two steps of the code path: the first, and one after it."""

_EXCHANGE_PAIRS = 5
_MAX_LOSS_READINGS = 50  # after the timed part: each one makes the device idle


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTimes:
    """Times that one rank measured; the fields are those of `core.result.TrainResult`, which documents them.

    A type names the rule by which `rank_merging` merges the ranks.
    """

    first_step_seconds: Annotated[float, max] = 0.0
    warmup_steps: int = 0
    warmup_seconds: Annotated[float, max] = 0.0
    steps_per_block: int = 1
    block_seconds: Annotated[tuple[float, ...], tuple] = ()
    reading_seconds: Annotated[tuple[tuple[float, float], ...], tuple] = ()
    stopped_because: str
    compile_counts: Annotated[tuple[int, int] | None, find_most_compiled] = None
    steps: int = 0
    training_seconds: Annotated[float, max]
    phase_seconds: Annotated[Mapping[str, float], find_slowest_by_name] = field(default_factory=dict)
    losses: LossCurve = ()
    network_losses: Mapping[str, LossCurve] = field(default_factory=dict)
    cpu_seconds: Annotated[float, tuple]
    load_average: tuple[float, float]
    energy_joules: Joules = field(default_factory=dict)
    pursuit: Annotated[TargetRun | None, merge_pursuits] = None
    resumed_from_step: int = 0
    resumed_seconds: float = 0.0
    checkpoint_seconds: Annotated[float, max] = 0.0
    run_seconds: Annotated[float | None, list_known] = None
    block_cpu_seconds: Annotated[tuple[float, ...], list_if_all] = ()
    core_wait_seconds: Annotated[tuple[float, ...], list_if_all] = ()
    busy_core_seconds: Annotated[tuple[float, ...], list_if_all] = ()
    num_checkpoints: int = 0


def time_steps(
    trainer: Trainer,
    phases: Sequence[Phase],
    timing: TimingSpec,
    *,
    steps: int,
    meet: Barrier,
    clock: Clock,
    meter: Meter,
    target_evaluator: TargetEvaluator | None = None,
    keeper: CheckpointScheduler | None = None,
    resumed: Checkpoint | None = None,
    cpu_clock: Clock = time.process_time,
    core_waits: ReadCoreWaits = read_core_waits,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
) -> LoopTimes:
    """Take `steps` optimizer steps: earlier phases untimed, then of the last phase the first, the warm-up,
    the timed blocks, and the rest.

    From a checkpoint it takes those that are left, and times the first, the warm-up and blocks of them.

    Args:
        target_evaluator: measures the quality between the timed parts of the last phase, after the warm-up.
            Training ends once the target is reached and the least number of blocks is timed.
        keeper: makes checkpoints between timed parts; between steps of the warm-up only after a stop request.
        resumed: the checkpoint that an earlier attempt left.
        cpu_clock: CPU seconds of the process that trains; of a script it is another one.
        core_waits: reads how long its threads have waited for a core.
        on_progress: called between timed parts after every block and every evaluation; None: no callback.
        on_stage: called between timed parts when the stage changes; None: no callback.

    Raises:
        TrialError: `diverged`, when a loss that was read is not a finite number; `preempted`, when a rank got
            a stop request, and has left a checkpoint.
    """
    loop = _Loop(
        trainer=trainer,
        meet=meet,
        clock=clock,
        keeper=keeper,
        resumed=resumed,
        cpu_clock=cpu_clock,
        core_waits=core_waits,
        on_progress=on_progress,
        on_stage=on_stage,
    )
    loop.phase_seconds.update((phase.name, 0.0) for phase in phases if resumed)
    *early, (timed_phase, _) = _phases_left(phases, steps, taken=loop.taken)
    for phase, last in early:
        loop.begin(phase)
        _take_until(loop, timing, last, at_most=_steps_at_once(loop, timing, last))
    loop.begin(timed_phase)
    loop.show_stage(TrialStage(name="first step"))
    first_step_seconds = loop.seconds_for(1)
    loop.read_losses()
    loop.keep_when_due(only_if_stopped=True)
    loop.show_stage(TrialStage(name="warming up"))
    warmup = _warm_up(loop, timing)
    if warmup:  # the last step of it alone compiled nothing
        timing = replace(timing, steps_per_block=_shorten_block(loop, timing, step_seconds=warmup[-1]))
    lengthening = _lengthen_blocks(loop, timing, steps=steps, warmup_seconds=sum(warmup))
    lengthened = replace(timing, steps_per_block=lengthening.steps_per_block)
    loop.pursue(target_evaluator)  # its first look compiles what evaluating needs, before compilations count
    compiled, cpu, load = trainer.compile_count(), loop.cpu_seconds, os.getloadavg()[0]
    joules, began, num_written = meter(), clock(), loop.num_written
    blocks, stopped_because = _time_blocks(loop, lengthened, steps=steps)
    joules_after = meter() if loop.num_written == num_written else {}  # a checkpoint takes energy too
    metered_seconds = clock() - began
    compiled_after, cpu_after, load_after = trainer.compile_count(), loop.cpu_seconds, os.getloadavg()[0]
    _take_until(loop, timing, steps, at_most=timing.steps_per_block)
    return LoopTimes(
        first_step_seconds=first_step_seconds,
        warmup_steps=len(warmup) + lengthening.steps,
        warmup_seconds=sum(warmup) + lengthening.seconds,
        steps_per_block=lengthening.steps_per_block,
        block_seconds=blocks,
        reading_seconds=tuple(loop.reading_seconds),
        stopped_because=stopped_because,
        compile_counts=None if compiled is None or compiled_after is None else (compiled, compiled_after),
        steps=loop.taken,
        training_seconds=loop.training_seconds(),
        phase_seconds=loop.phase_seconds,
        losses=loop.total_losses(),
        network_losses={name: tuple(curve) for name, curve in loop.curves.items()},
        cpu_seconds=cpu_after - cpu,
        load_average=(load, load_after),
        energy_joules=used_between(joules, joules_after, seconds=metered_seconds),
        pursuit=None if target_evaluator is None else target_evaluator.pursuit(),
        resumed_from_step=resumed.progress.step if resumed else 0,
        resumed_seconds=loop.resumed_seconds,
        checkpoint_seconds=loop.checkpoint_seconds,
        block_cpu_seconds=tuple(loop.block_cpu_seconds),
        core_wait_seconds=tuple(loop.core_wait_seconds),
        busy_core_seconds=tuple(loop.busy_core_seconds),
        num_checkpoints=loop.num_written,
    )


def compare_exchange(
    trainer: Trainer, *, steps_per_block: int, taken: int, meet: Barrier, clock: Clock
) -> tuple[tuple[float, float], ...]:
    """Time pairs of blocks: with the sum of the gradients over the processes, and without it.

    To be called on every rank when all else is done, for it spoils the weights. No pair where the trainer
    cannot leave the sum out.

    Args:
        taken: steps taken so far.
    """
    loop = _Loop(trainer=trainer, meet=meet, clock=clock, taken=taken)
    pairs: list[tuple[float, float]] = []
    while len(pairs) <= _EXCHANGE_PAIRS and (apart := trainer.without_exchange()) is not None:
        together = loop.seconds_for(steps_per_block)
        with apart:
            pairs.append((together, loop.seconds_for(steps_per_block)))
    return tuple(pairs[1:])  # the first one follows an evaluation


@dataclass(slots=True, kw_only=True)
class _Loop:
    """Steps taken one after the other, each batch of them between two idle devices."""

    trainer: Trainer
    meet: Barrier
    clock: Clock
    began: float = field(init=False)
    cpu_clock: Clock = time.process_time
    target_evaluator: TargetEvaluator | None = None
    keeper: CheckpointScheduler | None = None
    resumed: Checkpoint | None = None
    restore_seconds: float = 0.0
    taken: int = 0
    cpu_seconds: float = 0.0
    phase: str = ""
    phase_seconds: dict[str, float] = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    reading_seconds: list[tuple[float, float]] = field(default_factory=list)
    on_progress: OnProgress | None = None
    on_stage: OnStage | None = None
    step_seconds: list[float] = field(default_factory=list)
    core_waits: ReadCoreWaits = read_core_waits
    block_cpu_seconds: list[float] = field(default_factory=list)
    core_wait_seconds: list[float] = field(default_factory=list)
    busy_core_seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock()
        if self.resumed:
            self.taken = self.resumed.progress.step
            self.curves = {name: list(curve) for name, curve in self.resumed.progress.network_losses.items()}

    def begin(self, phase: Phase) -> None:
        """Take the next steps in this phase, from the checkpoint if it was made in it."""
        self.phase = phase.name
        self.trainer.begin(phase)
        if self.resumed and self.resumed.progress.phase == phase.name:
            start = self.clock()
            self.trainer.restore(self.resumed.arrays)
            self.trainer.synchronize()
            self.restore_seconds = self.clock() - start

    def seconds_for(self, num_steps: int) -> float:
        """Take the next `num_steps` steps, all of one division: seconds from idle device to idle device."""
        self.trainer.rebalance()
        self.meet(True)
        self.trainer.synchronize()
        cpu = self.cpu_clock()
        start = self.clock()
        for index in islice(count(self.taken), num_steps):
            self.trainer.step(index)
        self.trainer.synchronize()
        seconds = self.clock() - start
        self.cpu_seconds += self.cpu_clock() - cpu
        self.taken += num_steps
        self.phase_seconds[self.phase] = self.phase_seconds.get(self.phase, 0.0) + seconds
        return seconds

    def time_block(self, num_steps: int) -> float:
        """Take a timed block as `seconds_for`, and keep its CPU time, its waits and the use of its cores."""
        waits, cpu, busy = self.core_waits(), self.cpu_seconds, read_busy_seconds()
        seconds = self.seconds_for(num_steps)
        busy_after, waited = read_busy_seconds(), seconds_waited(waits, self.core_waits())
        self.step_seconds.append(seconds / num_steps)
        self.block_cpu_seconds.append(self.cpu_seconds - cpu)
        if waited is not None:
            self.core_wait_seconds.append(waited)
        if busy is not None and busy_after is not None:
            self.busy_core_seconds.append(busy_after - busy)
        return seconds

    def take_to(self, last: int, *, at_most: int) -> None:
        """Take the steps to `last`, untimed: where checkpoints are made, so many at a time at most."""
        while self.taken < last:
            left = last - self.taken
            self.seconds_for(min(left, at_most) if self.keeper else left)
            self.keep_when_due()

    @property
    def resumed_seconds(self) -> float:
        """Seconds of training done by an earlier attempt."""
        return self.resumed.progress.training_seconds if self.resumed else 0.0

    @property
    def checkpoint_seconds(self) -> float:
        """Seconds spent on checkpoints so far; no training time contains them."""
        return self.restore_seconds + (self.keeper.seconds if self.keeper else 0.0)

    @property
    def num_written(self) -> int:
        """Checkpoints that were made so far."""
        return self.keeper.num_written if self.keeper else 0

    def training_seconds(self) -> float:
        """Since the first step of this attempt began, evaluations and checkpoints left out."""
        evaluating = self.target_evaluator.seconds if self.target_evaluator else 0.0
        return self.clock() - self.began - evaluating - self.checkpoint_seconds

    def keep_when_due(self, *, only_if_stopped: bool = False) -> None:
        """Make a checkpoint if it is due, or only after a stop request. Never call it inside a timed part."""
        if self.keeper:
            seconds = self.resumed_seconds + self.training_seconds()
            self.keeper.look(self.taken, partial(self._progress, seconds), only_if_stopped=only_if_stopped)

    def _progress(self, training_seconds: float) -> TrainingProgress:
        return TrainingProgress(
            step=self.taken,
            phase=self.phase,
            samples=self.trainer.samples,
            training_seconds=training_seconds,
            network_losses={name: tuple(curve) for name, curve in self.curves.items()},
            evaluations=self.target_evaluator.curve if self.target_evaluator else (),
        )

    def report_progress(self) -> None:
        """Report what was shown so far, if someone listens. Never call it inside a timed part."""
        if self.on_progress:
            self.on_progress(
                TrialProgress(
                    steps=self.taken,
                    training_seconds=self.resumed_seconds + self.training_seconds(),
                    step_seconds=tuple(self.step_seconds) if len(self.phase_seconds) == 1 else (),
                    curve=self.target_evaluator.curve if self.target_evaluator else (),
                )
            )

    def show_stage(self, stage: TrialStage) -> None:
        """Report what is done now, if someone looks. Never call it inside a timed part."""
        if self.on_stage:
            self.on_stage(stage)

    def pursue(self, target_evaluator: TargetEvaluator | None) -> None:
        """Look at the quality at once, and from here on when it is due."""
        self.target_evaluator = target_evaluator
        if target_evaluator:
            self._look(target_evaluator)

    def is_over(self) -> bool:
        """Return whether there was a target and it is reached."""
        return self.target_evaluator is not None and self.target_evaluator.is_over

    def next_stop(self, last: int) -> int:
        """Return the step after which something else than training is due; `last` at the latest."""
        return min(last, self.target_evaluator.next_look()) if self.target_evaluator else last

    def look_when_due(self, last: int) -> bool:
        """Look at the quality if it is time to, and after step `last`; return whether it was.

        Never call it inside a timed part.
        """
        evaluator = self.target_evaluator
        if evaluator is None or evaluator.is_over or self.taken < self.next_stop(last):
            return False
        self._look(evaluator)
        return True

    def _look(self, target_evaluator: TargetEvaluator) -> None:
        target_evaluator.look(self.taken, training_seconds=self.resumed_seconds + self.training_seconds())

    def read_losses(self) -> None:
        """Keep the last step's losses. Waits for the device: never call it inside a timed part."""
        losses = self.trainer.losses()
        for network, loss in losses.items():
            self.curves.setdefault(network, []).append((self.taken, loss))
        total = sum(losses.values())
        if not math.isfinite(total):
            raise TrialError("diverged", f"the loss is {total} after step {self.taken}")

    def read_losses_twice(self) -> None:
        """Keep how long two readings take: the first one waits for what `synchronize` did not wait for."""
        begin = self.clock()
        self.read_losses()
        middle = self.clock()
        self.trainer.losses()
        self.reading_seconds.append((middle - begin, self.clock() - middle))

    def total_losses(self) -> LossCurve:
        """Return the sum over the networks at each step that was read."""
        totals: dict[int, float] = {}
        for curve in self.curves.values():
            for step, loss in curve:
                totals[step] = totals.get(step, 0.0) + loss
        return tuple(sorted(totals.items()))


def _phases_left(phases: Sequence[Phase], steps: int, *, taken: int) -> list[tuple[Phase, int]]:
    """Return each phase and its last step, without those that ended before step `taken`."""
    parts = zip(phases, accumulate(phase_steps(phases, steps)), strict=True)
    return [(phase, last) for phase, last in parts if last >= taken]


def _warm_up(loop: _Loop, timing: TimingSpec) -> Sequence[float]:
    """Step until the compile counters of all ranks stand still. Return the seconds of each step."""
    seconds: list[float] = []
    is_warm = False
    while len(seconds) < timing.warmup_steps or (not is_warm and len(seconds) < timing.max_warmup_steps):
        before = loop.trainer.compile_count()
        seconds.append(loop.seconds_for(1))
        is_warm = loop.meet(loop.trainer.compile_count() == before)
        loop.keep_when_due(only_if_stopped=True)
    return seconds


def _shorten_block(loop: _Loop, timing: TimingSpec, *, step_seconds: float) -> int:
    """Halve the steps of a block until a stop request amid it leaves time for a checkpoint. Return them.

    Ranks heed a stop request between blocks only, because to agree on a step takes a message that a timed
    block must not contain. All ranks choose the same size.
    """
    num_steps = timing.steps_per_block
    if loop.keeper:
        longest = loop.keeper.longest_part_seconds
        while num_steps > 1 and not loop.meet(num_steps * step_seconds <= longest):
            num_steps = math.ceil(num_steps / 2)
    return num_steps


def _steps_at_once(loop: _Loop, timing: TimingSpec, last: int) -> int:
    """Take the first steps of an untimed phase alone, and return how many may follow at once.

    The second one decides, for the first one may compile.
    """
    seconds = 0.0
    for _ in range(min(2, last - loop.taken) if loop.keeper else 0):
        seconds = loop.seconds_for(1)
        loop.keep_when_due()
    return _shorten_block(loop, timing, step_seconds=seconds)


@dataclass(slots=True, kw_only=True)
class _Lengthening:
    """Second part of the warm-up: blocks that are not recorded, and the size of those that will be."""

    steps_per_block: int
    steps: int = 0
    seconds: float = 0.0


def _lengthen_blocks(loop: _Loop, timing: TimingSpec, *, steps: int, warmup_seconds: float) -> _Lengthening:
    """Take unrecorded blocks, each twice as long as the one before until one lasts the wanted time on every
    rank, and more of them until the warm-up does.

    The least number of blocks of the chosen size always fits into the steps that are left.
    """
    part = _Lengthening(steps_per_block=timing.steps_per_block)
    if not (timing.min_warmup_seconds or timing.min_block_seconds):
        return part

    def fits(size: int) -> bool:
        return loop.taken + (1 + timing.min_blocks) * size <= steps

    while fits(part.steps_per_block):
        seconds = loop.seconds_for(part.steps_per_block)
        part.steps += part.steps_per_block
        part.seconds += seconds
        is_long = loop.meet(seconds >= timing.min_block_seconds)
        is_warm = loop.meet(warmup_seconds + part.seconds >= timing.min_warmup_seconds)
        if not is_long and fits(2 * part.steps_per_block):
            part.steps_per_block *= 2
        elif is_warm:
            break
    return part


def _time_blocks(loop: _Loop, timing: TimingSpec, *, steps: int) -> tuple[tuple[float, ...], str]:
    """Time blocks until the interval of every rank's median is tight, or nothing is left: (seconds, why).

    A target that is reached ends it too, but the least number of blocks is timed.
    """
    blocks: list[float] = []
    while len(blocks) < timing.max_blocks and loop.taken + timing.steps_per_block <= steps:
        blocks.append(loop.time_block(timing.steps_per_block))
        loop.read_losses_twice()
        loop.look_when_due(steps)
        loop.report_progress()
        loop.show_stage(TrialStage(name="timing", done=len(blocks), most=timing.max_blocks))
        loop.keep_when_due()
        if loop.meet(_is_tight(blocks, timing)):
            return tuple(blocks), "interval"
        if loop.is_over() and len(blocks) >= timing.min_blocks:
            return tuple(blocks), "target"
    return tuple(blocks), "max_blocks" if len(blocks) == timing.max_blocks else "steps"


def _is_tight(blocks: list[float], timing: TimingSpec) -> bool:
    if len(blocks) < timing.min_blocks:
        return False
    return median_interval(blocks).half_width_fraction <= timing.interval_fraction


def _take_until(loop: _Loop, timing: TimingSpec, last: int, *, at_most: int) -> None:
    """Untimed, to step `last` or to the end of the pursuit; `at_most` at once where checkpoints are made."""
    stride = max(timing.steps_per_block, math.ceil((last - loop.taken) / _MAX_LOSS_READINGS))
    while loop.taken < last and not loop.is_over():
        loop.take_to(min(loop.taken + stride, loop.next_stop(last)), at_most=at_most)
        loop.read_losses()
        loop.show_stage(TrialStage(name="training", done=loop.taken, most=last))
        if loop.look_when_due(last):
            loop.report_progress()
