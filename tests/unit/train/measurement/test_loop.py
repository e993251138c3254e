"""The timed loop under a clock that passes only while a device works."""

import math
from collections.abc import Mapping

import pytest
from queue_trainer import LOSS_SECONDS, ONE_PHASE, QueueTrainer, split_phases

from orchestrator.core.errors import TrialError
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.measurement.counters import no_meter
from orchestrator.train.measurement.loop import REHEARSAL, LoopTimes, compare_exchange, time_steps
from workloads.spec import phase_steps


def timed(
    trainer: QueueTrainer, *, steps: int, meet=lambda vote: vote, phases=ONE_PHASE, on_stage=None, **timing
) -> LoopTimes:
    """Run the loop with blocks of two steps, a warm-up of one and four blocks, all counted in steps, unless
    told otherwise.
    """
    defaults = {
        "warmup_steps": 1,
        "max_warmup_steps": 5,
        "steps_per_block": 2,
        "min_blocks": 4,
        "max_blocks": 4,
        "min_warmup_seconds": 0.0,
        "min_block_seconds": 0.0,
    }
    spec = TimingSpec(**{**defaults, **timing})
    return time_steps(
        trainer,
        phases,
        spec,
        steps=steps,
        meet=meet,
        clock=lambda: trainer.now,
        meter=lambda: trainer.joules,
        on_stage=on_stage,
    )


def test_first_step_warm_up_and_blocks_are_timed_apart():
    times = timed(QueueTrainer(step_seconds=lambda index: 9.0 if index == 0 else 1.0 + index / 100), steps=10)
    assert times.first_step_seconds == 9.0
    assert (times.warmup_steps, times.warmup_seconds) == (1, pytest.approx(1.01))
    assert times.block_seconds == pytest.approx((2.05, 2.09, 2.13, 2.17))


def test_the_device_works_on_when_steps_are_timed_as_one_block():
    trainer = QueueTrainer()
    timed(trainer, steps=10)
    parts, loss_readings = 1 + 1 + 4, 1 + 2 * 4
    assert trainer.num_synchronizations == 2 * parts + loss_readings


def test_reading_the_loss_is_in_no_timed_part():
    times = timed(QueueTrainer(), steps=14)
    timed_seconds = times.first_step_seconds + times.warmup_seconds + sum(times.block_seconds)
    assert timed_seconds == 1 + 1 + 8
    assert times.training_seconds == 14 + LOSS_SECONDS * (1 + 2 * 4 + 2)


def test_work_is_shared_out_anew_before_a_timed_part_and_never_in_one():
    trainer = QueueTrainer(rebalancing_seconds=100.0)
    times = timed(trainer, steps=14)
    assert trainer.rebalanced_after == [0, 1, 2, 4, 6, 8, 10, 12]
    assert sum(times.block_seconds) == 8


def test_stages_are_shown_in_their_order_and_in_no_timed_part():
    trainer, stages = QueueTrainer(), []

    def on_stage(stage):
        trainer.now += 100.0
        stages.append((stage.name, stage.done, stage.most))

    times = timed(trainer, steps=14, on_stage=on_stage)
    assert stages == [
        ("first step", 0, 0),
        ("warming up", 0, 0),
        *(("timing", block, 4) for block in (1, 2, 3, 4)),
        ("training", 12, 14),
        ("training", 14, 14),
    ]
    assert (times.first_step_seconds, times.warmup_seconds) == (1.0, 1.0)
    assert times.block_seconds == (2.0,) * 4


def test_the_loss_is_read_after_the_first_step_and_after_each_block():
    times = timed(QueueTrainer(), steps=10)
    assert times.losses == ((1, 1.0), (4, 1 / 4), (6, 1 / 6), (8, 1 / 8), (10, 1 / 10))


def test_two_readings_after_each_block_show_whether_the_device_was_idle():
    assert timed(QueueTrainer(), steps=10).reading_seconds == ((LOSS_SECONDS, LOSS_SECONDS),) * 4


def test_the_first_reading_waits_for_work_that_was_not_synchronized():
    class Impatient(QueueTrainer):
        def synchronize(self) -> None:
            self.now += 0.5

        def losses(self) -> Mapping[str, float]:
            super().synchronize()
            return {"model": 1.0}

    times = timed(Impatient(), steps=10)
    assert times.block_seconds == (0.5,) * 4
    assert times.reading_seconds == ((3.0, 0.0), *((2.0, 0.0),) * 3)  # the warm-up's step in the first


def test_the_warm_up_goes_on_until_the_compile_counter_stands_still():
    times = timed(QueueTrainer(compile_counts={1: 1, 2: 2, 3: 3}), steps=20)
    assert times.warmup_steps == 3  # steps 2 and 3 compiled, step 4 did not
    assert times.compile_counts == (3, 3)


def test_the_warm_up_ends_at_its_limit_though_something_compiles_at_each_step():
    times = timed(QueueTrainer(compile_counts={step: step for step in range(1, 30)}), steps=20)
    assert times.warmup_steps == 5
    assert times.compile_counts == (6, 14)


def test_the_warm_up_has_its_least_number_of_steps_without_a_compilation():
    times = timed(QueueTrainer(), steps=20, warmup_steps=4)
    assert times.warmup_steps == 4
    assert times.compile_counts is None


def test_the_warm_up_goes_on_while_another_rank_compiles():
    answers = iter([True, True, False])  # before the first step, before and after that of the warm-up
    times = timed(QueueTrainer(compile_counts={1: 1}), steps=20, meet=lambda vote: next(answers, vote))
    assert times.warmup_steps == 2


def test_blocks_end_when_their_interval_is_tight():
    times = timed(QueueTrainer(), steps=100, max_blocks=40)
    assert (len(times.block_seconds), times.stopped_because) == (4, "interval")
    assert times.steps == 100


def test_blocks_end_at_their_limit_when_the_interval_stays_wide():
    times = timed(QueueTrainer(step_seconds=lambda index: 1.0 + index % 4), steps=100, max_blocks=7)
    assert (len(times.block_seconds), times.stopped_because) == (7, "max_blocks")
    assert times.steps == 100


def test_blocks_end_with_the_steps_when_these_are_few():
    times = timed(QueueTrainer(step_seconds=lambda index: 1.0 + index % 4), steps=13, max_blocks=40)
    assert (len(times.block_seconds), times.stopped_because) == (5, "steps")
    assert times.steps == 13


def test_blocks_go_on_while_another_rank_is_not_content():
    times = timed(QueueTrainer(), steps=100, max_blocks=6, meet=lambda _: False)
    assert (len(times.block_seconds), times.stopped_because) == (6, "max_blocks")


IN_SECONDS = {"min_warmup_seconds": 2.0, "min_block_seconds": 0.5}


@pytest.mark.parametrize(
    ("step_seconds", "warmup_steps", "steps_per_block"),
    [(1.0, 1 + 2, 2), (0.1, 1 + 2 + 4 + 8 + 8, 8), (0.01, 1 + 2 + 4 + 8 + 16 + 32 + 64 + 64 + 64, 64)],
)
def test_steps_of_the_warm_up_and_of_a_block_grow_until_the_seconds_are_met(
    step_seconds, warmup_steps, steps_per_block
):
    times = timed(QueueTrainer(step_seconds=lambda _: step_seconds), steps=10_000, **IN_SECONDS)
    assert (times.warmup_steps, times.steps_per_block) == (warmup_steps, steps_per_block)
    assert times.warmup_seconds >= 2.0
    assert times.block_seconds == pytest.approx((step_seconds * steps_per_block,) * 4)
    assert min(times.block_seconds) >= 0.5
    assert times.steps == 10_000


@pytest.mark.parametrize("steps", [10, 11, 12, 30, 100, 313])
def test_a_trial_with_too_few_steps_for_the_seconds_has_its_least_blocks_and_no_more_steps(steps):
    trainer = QueueTrainer(step_seconds=lambda _: 0.001)
    times = timed(trainer, steps=steps, max_blocks=40, **IN_SECONDS)
    assert len(times.block_seconds) >= 4
    assert max(times.block_seconds) < 0.5
    assert trainer.taken == times.steps == steps


def test_blocks_grow_while_those_of_another_rank_are_too_short():
    answers = iter([True, True, True, True, False, True])  # first step, warm-up twice, a block, its two votes
    times = timed(QueueTrainer(), steps=100, meet=lambda vote: next(answers, vote), **IN_SECONDS)
    assert times.steps_per_block == 4


def test_ranks_meet_before_every_timed_part_and_vote_after_each_block():
    votes = []
    timed(QueueTrainer(), steps=10, meet=lambda vote: votes.append(vote) or vote)
    first, warm_up, blocks = [True], [True, True], [True, False] * 3 + [True, True]
    assert votes == first + warm_up + blocks


def test_exactly_the_steps_asked_for_are_taken_though_timing_stopped_early():
    trainer = QueueTrainer()
    times = timed(trainer, steps=997)
    assert trainer.taken == times.steps == 997
    assert times.losses[-1][0] == 997


def test_a_long_rest_is_read_some_fifty_times_only():
    assert len(timed(QueueTrainer(), steps=10_000).losses) == 1 + 4 + 50


def test_a_loss_that_is_no_number_ends_the_trial_as_diverged():
    trainer = QueueTrainer(loss=lambda taken: math.nan if taken > 5 else 1.0)
    with pytest.raises(TrialError, match=r"^the loss is nan after step 6$") as caught:
        timed(trainer, steps=100)
    assert caught.value.kind == "diverged"
    assert trainer.taken == 6


def test_an_infinite_loss_of_the_first_step_ends_the_trial_before_the_second():
    trainer = QueueTrainer(loss=lambda _: math.inf)
    with pytest.raises(TrialError, match=r"^the loss is inf after step 1$"):
        timed(trainer, steps=100)
    assert trainer.taken == 1


def test_a_rehearsal_is_the_first_step_and_one_more():
    trainer = QueueTrainer(compile_counts={1: 1, 2: 2})
    steps = REHEARSAL.least_steps
    times = time_steps(
        trainer,
        ONE_PHASE,
        REHEARSAL,
        steps=steps,
        meet=lambda vote: vote,
        clock=lambda: trainer.now,
        meter=no_meter,
    )
    assert (trainer.taken, times.steps, times.warmup_steps) == (2, 2, 0)
    assert (times.first_step_seconds, times.block_seconds) == (1.0, (1.0,))


def test_processor_seconds_and_load_are_those_of_the_timed_blocks():
    times = timed(QueueTrainer(), steps=10)
    assert times.cpu_seconds >= 0
    assert min(times.load_average) >= 0


def test_energy_is_that_of_the_timed_blocks():
    assert timed(QueueTrainer(), steps=100).energy_joules == {"host": 8.0}


def test_energy_of_a_gpu_is_absent_where_its_counter_has_no_time_to_move():
    class Gpu(QueueTrainer):
        @property
        def joules(self) -> Mapping[str, float]:
            return {"accelerator": 300.0 * math.floor(self.now * 10) / 10}

        def losses(self) -> Mapping[str, float]:
            self.synchronize()
            return {"model": 1 / self.taken}

    assert timed(Gpu(step_seconds=lambda _: 0.004), steps=100).energy_joules == {}
    assert timed(Gpu(step_seconds=lambda _: 0.5), steps=100).energy_joules == {
        "accelerator": pytest.approx(1200.0, rel=0.05)
    }


def compared(trainer: QueueTrainer) -> tuple[tuple[float, float], ...]:
    return compare_exchange(
        trainer, steps_per_block=4, taken=trainer.taken, meet=lambda vote: vote, clock=lambda: trainer.now
    )


def test_blocks_with_and_without_an_exchange_are_timed_in_pairs_after_one_that_does_not_count():
    trainer = QueueTrainer(exchange_seconds=0.25, taken=7)
    assert compared(trainer) == ((4.0, 3.0),) * 5
    assert trainer.taken == 7 + 6 * 2 * 4


def test_a_trainer_that_cannot_leave_the_exchange_out_takes_no_further_step():
    trainer = QueueTrainer()
    assert compared(trainer) == ()
    assert trainer.taken == 0


def test_earlier_phases_take_their_share_of_the_steps_untimed_and_the_last_one_is_timed():
    trainer = QueueTrainer()
    times = timed(trainer, steps=40, phases=split_phases(0.25, 0.25, 0.5))
    assert trainer.phases == [("phase 0", 0), ("phase 1", 10), ("phase 2", 20)]
    assert times.phase_seconds == {"phase 0": 10, "phase 1": 10, "phase 2": 20}
    assert times.steps == 40
    assert len(times.block_seconds) == 4


@pytest.mark.parametrize(
    ("shares", "steps", "taken"),
    [((1.0,), 7, (7,)), ((0.5, 0.5), 7, (3, 4)), ((0.1, 0.1, 0.8), 4, (1, 1, 2))],
)
def test_a_phase_has_its_share_rounded_down_but_one_step_and_the_last_what_is_left(shares, steps, taken):
    assert phase_steps(split_phases(*shares), steps) == taken


def test_losses_are_kept_of_each_network_and_summed():
    times = timed(QueueTrainer(), steps=10)
    assert times.network_losses["model"] == times.losses
    assert {loss for _, loss in times.network_losses["other"]} == {0.0}
