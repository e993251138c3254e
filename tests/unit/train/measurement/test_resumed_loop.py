"""The timed loop with checkpoints: none in a timed part, and on from one as if nothing had been."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from queue_trainer import QueueTrainer, split_phases

from orchestrator.core.trial_progress import Target
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.checkpoints.format import Checkpoint, TrainingProgress
from orchestrator.train.checkpoints.schedule import CheckpointScheduler
from orchestrator.train.measurement.loop import LoopTimes, time_steps
from orchestrator.train.measurement.target import TargetEvaluator

TIMING = TimingSpec(
    warmup_steps=1, max_warmup_steps=1, steps_per_block=2, min_blocks=4, max_blocks=4
).without_seconds()
LONG_BLOCKS = replace(TIMING, steps_per_block=10)
_WRITE_SECONDS = 50.0


@dataclass
class Restored(QueueTrainer):
    """A trainer that says what it was given back, in which phase."""

    samples: int = 0
    restored: list[tuple[str, object]] = field(default_factory=list)

    def restore(self, arrays: Mapping[str, object]) -> None:
        self.restored.append((self.phases[-1][0], arrays["taken"]))
        self.taken = int(arrays["taken"])


class Shelf:
    """Keeps every progress that it is shown, for 50 s each, whenever 3 s have passed."""

    def __init__(self, trainer: Restored, *, last_step: int = 1000, grace_seconds: float = 100.0) -> None:
        self.progress: list[TrainingProgress] = []
        self._trainer = trainer
        self.keeper = CheckpointScheduler(
            every_seconds=3.0,
            last_step=last_step,
            write=self._write,
            is_asked_to_stop=lambda: False,
            decides=True,
            meet=lambda vote: vote,
            clock=lambda: trainer.now,
            grace_seconds=grace_seconds,
        )

    def _write(self, progress: TrainingProgress) -> None:
        self._trainer.now += _WRITE_SECONDS
        self.progress.append(progress)


def trained(
    trainer, *, steps, shelf=None, resumed=None, phases=None, target_evaluator=None, timing=TIMING
) -> LoopTimes:
    return time_steps(
        trainer,
        phases or split_phases(1.0),
        timing,
        steps=steps,
        meet=lambda vote: vote,
        clock=lambda: trainer.now,
        meter=lambda: trainer.joules,
        target_evaluator=target_evaluator,
        keeper=shelf and shelf.keeper,
        resumed=resumed,
    )


def checkpoint(step: int, *, phase: str = "phase 0", **changes) -> Checkpoint:
    progress = TrainingProgress(
        step=step,
        phase=phase,
        samples=0,
        training_seconds=500.0,
        network_losses={"model": ((1, 1.0), (step, 1 / step)), "other": ((1, 0.0), (step, 0.0))},
    )
    return Checkpoint(progress=replace(progress, **changes), arrays={"taken": step})


def test_checkpoints_are_made_between_blocks_and_their_seconds_are_in_no_time():
    trainer = Restored()
    shelf = Shelf(trainer)
    with_checkpoints, without = trained(trainer, steps=10, shelf=shelf), trained(Restored(), steps=10)
    assert [item.step for item in shelf.progress] == [4, 6, 8, 10]
    assert with_checkpoints.checkpoint_seconds == 4 * _WRITE_SECONDS
    assert with_checkpoints.num_checkpoints == 4
    for name in ("block_seconds", "training_seconds", "phase_seconds", "first_step_seconds", "losses"):
        assert getattr(with_checkpoints, name) == getattr(without, name)


def test_blocks_of_slow_steps_are_shortened_until_half_the_grace_period_holds_one():
    trainer = Restored()
    times = trained(trainer, steps=100, shelf=Shelf(trainer, grace_seconds=3.0))
    assert times.steps_per_block == 1
    assert trained(Restored(), steps=10).steps_per_block == 2


def test_slow_steps_of_an_untimed_phase_are_taken_by_so_many_that_half_the_grace_period_holds_them():
    trainer = Restored(step_seconds=lambda index: 10.0 if index < 100 else 1.0)
    shelf = Shelf(trainer, grace_seconds=100.0)
    trained(trainer, steps=200, shelf=shelf, phases=split_phases(0.5, 0.5), timing=LONG_BLOCKS)
    assert [item.step for item in shelf.progress][:5] == [1, 2, 7, 12, 17]  # five steps of 10 s in 50 s


def test_a_warm_up_that_compiles_does_not_shorten_blocks():
    slow_to_compile = Restored(step_seconds=lambda index: 500.0 if index == 1 else 1.0)
    timing = replace(TIMING, warmup_steps=2, max_warmup_steps=2)
    times = trained(slow_to_compile, steps=100, shelf=Shelf(slow_to_compile), timing=timing)
    assert (times.warmup_seconds, times.steps_per_block) == (501.0, 2)


def test_energy_is_absent_where_a_checkpoint_was_made_between_the_blocks():
    trainer = Restored()
    assert trained(trainer, steps=10, shelf=Shelf(trainer)).energy_joules == {}
    assert trained(trainer := Restored(), steps=10, shelf=Shelf(trainer, last_step=1)).energy_joules


def test_after_the_blocks_no_part_is_longer_than_one_of_them():
    trainer = Restored()
    shelf = Shelf(trainer)
    trained(trainer, steps=400, shelf=shelf)
    assert [item.step for item in shelf.progress][4:7] == [14, 18, 20]  # the loss is read after 18


def test_a_checkpoint_has_the_losses_that_were_read_and_the_trained_seconds():
    trainer = Restored()
    shelf = Shelf(trainer)
    trained(trainer, steps=10, shelf=shelf)
    first = shelf.progress[0]
    assert first.network_losses == {"model": ((1, 1.0), (4, 0.25)), "other": ((1, 0.0), (4, 0.0))}
    assert (first.phase, first.training_seconds) == ("phase 0", 4 + 3 * 1000.0)


def test_a_resumed_training_takes_what_is_left_and_times_blocks_of_its_own():
    trainer = Restored()
    times = trained(trainer, steps=100, resumed=checkpoint(40))
    assert trainer.restored == [("phase 0", 40)]
    assert (times.steps, times.resumed_from_step, times.resumed_seconds) == (100, 40, 500.0)
    assert times.block_seconds == (2.0,) * 4
    assert times.phase_seconds == {"phase 0": 60}
    assert times.losses[:4] == ((1, 1.0), (40, 1 / 40), (41, 1 / 41), (44, 1 / 44))


def test_a_resumed_training_begins_in_the_phase_that_the_checkpoint_was_made_in():
    trainer = Restored()
    phases = split_phases(0.25, 0.25, 0.5)
    times = trained(trainer, steps=80, phases=phases, resumed=checkpoint(30, phase="phase 1"))
    assert trainer.phases == [("phase 1", 0), ("phase 2", 40)]
    assert trainer.restored == [("phase 1", 30)]
    assert times.phase_seconds == {"phase 0": 0, "phase 1": 10, "phase 2": 40}


def test_a_checkpoint_after_the_last_step_of_a_phase_is_restored_before_the_next_one_begins():
    trainer = Restored()
    resumed = checkpoint(20, phase="phase 0")
    trained(trainer, steps=80, phases=split_phases(0.25, 0.75), resumed=resumed)
    assert trainer.restored == [("phase 0", 20)]
    assert trainer.phases == [("phase 0", 0), ("phase 1", 20)]


def test_the_way_to_a_target_goes_on_with_the_seconds_of_the_attempts_before():
    trainer = Restored()
    found = trained(trainer, steps=40, target_evaluator=pursuer_of(trainer, lambda: 0.5)).pursuit.curve
    resumed = checkpoint(20, evaluations=found[:1])
    again = Restored()
    pursued = pursuer_of(again, lambda: 0.95, curve=resumed.progress.evaluations)
    pursuit = trained(again, steps=40, target_evaluator=pursued, resumed=resumed).pursuit
    assert pursuit.curve[0] == found[0]
    assert pursuit.reached == pursuit.curve[1]
    assert pursuit.reached.steps == 22
    assert pursuit.reached.training_seconds == 500.0 + 2 + 1000.0


def pursuer_of(trainer, quality, *, curve=()) -> TargetEvaluator:
    return TargetEvaluator(
        Target(metric="accuracy", value=0.9),
        every_steps=10,
        evaluate=lambda: {"accuracy": quality()},
        decides=True,
        meet=lambda vote: vote,
        clock=lambda: trainer.now,
        curve=curve,
    )
