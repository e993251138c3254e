"""A training to a target, under a clock that passes while the device works and while it is evaluated."""

from collections.abc import Callable

import pytest
from queue_trainer import ONE_PHASE, QueueTrainer, split_phases

from orchestrator.core.errors import TrialError
from orchestrator.core.trial_progress import Target
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.measurement.counters import no_meter
from orchestrator.train.measurement.loop import LoopTimes, time_steps
from orchestrator.train.measurement.target import TargetEvaluator

_LOOK_SECONDS = 10_000.0
_TIMING = {"warmup_steps": 1, "max_warmup_steps": 5, "steps_per_block": 2, "min_blocks": 4, "max_blocks": 4}


def pursued(
    quality: Callable[[int], float],
    *,
    steps: int,
    every: int = 10,
    phases=ONE_PHASE,
    decides: bool = True,
    meet: Callable[[bool], bool] = lambda vote: vote,
    step_seconds: Callable[[int], float] = lambda _: 1.0,
    **timing,
) -> LoopTimes:
    """Train until `quality(steps taken)` is 0.9, with blocks of two steps unless told otherwise."""
    trainer = QueueTrainer(step_seconds=step_seconds)

    def evaluate() -> dict[str, float]:
        trainer.now += _LOOK_SECONDS
        return {"accuracy": quality(trainer.taken), "f1": 1.0}

    target_evaluator = TargetEvaluator(
        Target(metric="accuracy", value=0.9),
        every_steps=every,
        evaluate=evaluate,
        decides=decides,
        meet=meet,
        clock=lambda: trainer.now,
    )
    spec = TimingSpec(**{**_TIMING, **timing}).without_seconds()
    return time_steps(
        trainer,
        phases,
        spec,
        steps=steps,
        meet=meet,
        clock=lambda: trainer.now,
        meter=no_meter,
        target_evaluator=target_evaluator,
    )


def steps_of(times: LoopTimes) -> list[int]:
    assert times.pursuit is not None
    return [item.steps for item in times.pursuit.curve]


def test_it_is_evaluated_after_the_warm_up_and_then_as_often_as_asked_for():
    times = pursued(lambda taken: 0.9 if taken >= 42 else 0.1, steps=100)
    assert steps_of(times) == [2, 12, 22, 32, 42]
    assert times.steps == 42


def test_an_evaluation_waits_for_the_end_of_a_timed_block():
    times = pursued(lambda _: 0.1, steps=20, every=3, steps_per_block=4)
    assert steps_of(times) == [2, 6, 10, 14, 18, 20]


def test_the_training_ends_at_the_target_and_its_clock_leaves_evaluations_out():
    times = pursued(lambda taken: 0.9 if taken >= 22 else 0.1, steps=100)
    assert times.pursuit is not None
    assert times.pursuit.reached is not None
    assert times.pursuit.reached.steps == times.steps == 22
    assert times.pursuit.reached.training_seconds == times.training_seconds
    losses_seconds = 1000.0 * (len(times.losses) + len(times.reading_seconds))
    assert times.training_seconds == 22 + losses_seconds
    assert times.pursuit.evaluation_seconds == 3 * _LOOK_SECONDS
    assert sum(times.block_seconds) == 8


def test_the_least_number_of_blocks_is_timed_though_the_target_is_reached_before():
    times = pursued(lambda _: 1.0, steps=100, max_blocks=6)
    assert (times.steps, len(times.block_seconds)) == (10, 4)
    assert steps_of(times) == [2]


def test_a_target_that_is_reached_ends_the_timing_of_blocks_that_never_become_alike():
    times = pursued(
        lambda taken: 0.9 if taken >= 12 else 0.1,
        steps=100,
        step_seconds=lambda index: 1.0 + index % 4,
        max_blocks=40,
    )
    assert (times.stopped_because, times.steps) == ("target", 12)


def test_a_target_that_is_not_reached_ends_at_the_limit_with_a_last_evaluation():
    times = pursued(lambda taken: taken / 1000, steps=45)
    assert steps_of(times) == [2, 12, 22, 32, 42, 45]
    assert times.pursuit is not None
    assert (times.steps, times.pursuit.reached, times.pursuit.best_quality) == (45, None, 0.045)


def test_only_the_last_of_several_phases_is_evaluated():
    times = pursued(lambda _: 0.1, steps=60, phases=split_phases(0.5, 0.5))
    assert steps_of(times)[0] == 32


def test_every_other_rank_ends_with_the_first_one():
    times = pursued(lambda _: 0.1, steps=100, decides=False)
    assert times.steps == 10  # its own vote is always yes, so that of the first rank holds


def test_a_rank_goes_on_while_the_first_one_is_not_content():
    times = pursued(lambda _: 1.0, steps=30, decides=False, meet=lambda _: False)
    assert times.steps == 30


def test_a_metric_that_a_workload_does_not_measure_is_refused_with_those_it_measures():
    target_evaluator = TargetEvaluator(
        Target(metric="kappa", value=0.9),
        every_steps=1,
        evaluate=lambda: {"accuracy": 0.5, "f1": 0.4},
        decides=True,
        meet=lambda vote: vote,
        clock=lambda: 0.0,
    )
    with pytest.raises(TrialError, match=r"^evaluating gives no 'kappa'; it gives accuracy, f1$"):
        target_evaluator.look(1, training_seconds=0.0)
