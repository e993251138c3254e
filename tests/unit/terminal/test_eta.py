"""Remaining time of a sweep, estimated by hand."""

import pytest

from orchestrator.terminal.eta import Estimator, Task, TaskTime


def task(trainer="torch_ddp", *, setting="a", provenance="measured", samples=1000):
    return Task(provenance=provenance, trainer=trainer, setting=setting, samples=samples)


def ended(one, *, seconds, at=0.0, start=0.0, steps=0.0):
    """A trial whose framework took `start` seconds above the usual third of a second to start."""
    return TaskTime(
        task=one,
        started_at=at,
        ended_at=at + seconds,
        busy_seconds=seconds - start - 0.3,
        stepping_seconds=steps,
    )


def left(history, run, waiting, running=(), now=0.0):
    estimator = Estimator(history)
    for time in run:
        estimator.end(time)
    return estimator.seconds_left(dict.fromkeys(waiting, 1), running, now=now)


def test_without_any_known_time_no_estimate_is_given():
    assert left((), (), [task()]) is None


def test_a_trial_takes_what_its_setting_took_before_what_its_trainer_took():
    run = [ended(task(setting="a"), seconds=10.0), ended(task(setting="b"), seconds=30.0, at=10.0)]
    assert left((), run, [task(setting="a")]).median == pytest.approx(10.0)
    assert left((), run, [task(setting="c")]).median == pytest.approx(20.0)


def test_another_batch_takes_as_much_longer_as_it_has_more_samples():
    run = [ended(task(), seconds=10.0, steps=8.0)]
    assert left((), run, [task(setting="b", samples=4000)]).median == pytest.approx(2.0 + 4 * 8.0)


def test_the_start_of_a_framework_counts_once_for_a_trainer_that_has_not_run():
    run = [ended(task(), seconds=10.0, start=6.0)]
    assert left((), run, [task()]).median == pytest.approx(4.0)
    others = [task("tensorflow", setting="b"), task("tensorflow", setting="c")]
    assert left((), run, others).median == pytest.approx(2 * 4.0 + 6.0)


def test_a_rehearsal_does_not_estimate_the_time_of_a_measurement():
    rehearsal = task(provenance="rehearsed")
    assert left((), [ended(rehearsal, seconds=1.0)], [task()]) is None
    run = [ended(task(), seconds=10.0, steps=8.0)]
    assert left((), run, [rehearsal]).median == pytest.approx(10.0 - 0.3 - 8.0)


def test_this_run_counts_before_earlier_ones_and_these_before_another_setting():
    history = [ended(task(setting="a"), seconds=50.0), ended(task(setting="b"), seconds=7.0)]
    run = [ended(task(setting="a"), seconds=10.0)]
    assert left(history, run, [task(setting="a")]).median == pytest.approx(10.0)
    assert left(history, run, [task(setting="b")]).median == pytest.approx(7.0)
    assert left(history, (), [task(setting="a")]).median == pytest.approx(50.0)


def test_a_running_trial_counts_with_its_rest_and_a_late_one_with_a_tenth():
    run = [ended(task(), seconds=10.0)]
    assert left((), run, [], [(task(), 10.0)], now=14.0).median == pytest.approx(6.0)
    assert left((), run, [], [(task(), 10.0)], now=40.0).median == pytest.approx(3.0)


def test_pauses_between_trials_count_and_trials_at_once_share_the_time():
    run = [ended(task(), seconds=10.0), ended(task(), seconds=10.0, at=12.0)]
    assert left((), run, [task()]).median == pytest.approx(12.0)
    together = [ended(task(), seconds=10.0), ended(task(), seconds=10.0)]
    assert left((), together, [task(), task(setting="b")]).median == pytest.approx(10.0)


def test_what_is_known_better_has_a_narrower_range():
    run = [ended(task(), seconds=10.0)]
    own, others = left((), run, [task()]), left((), run, [task("tensorflow")])
    assert own.low < own.median < own.high
    assert others.high / others.median > own.high / own.median
