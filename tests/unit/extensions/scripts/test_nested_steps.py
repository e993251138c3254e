"""Steps within steps, whose time would count twice, and pauses beside batches that are left out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback

STEP, EVALUATE = 1.0, 50.0
BATCHES = [64] * 20


def loop() -> Iterator[Any]:
    return callback.steps(BATCHES, samples=lambda size: size)


def run_zipped(clock: Any) -> None:
    for _ in zip(loop(), loop(), strict=True):
        clock.work(STEP)


def run_step_inside(clock: Any) -> None:
    for _ in loop():
        with callback.step(samples=64):
            clock.work(STEP)


def run_loop_inside(clock: Any) -> None:
    for _ in loop():
        for _ in loop():
            clock.work(STEP)


@pytest.mark.parametrize("run", [run_zipped, run_step_inside, run_loop_inside])
def test_a_step_within_a_step_is_refused(
    run: Callable[[Any], None], clock: Any, parts: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = parts(5)
    run(clock)
    assert measured.measured == []
    assert capsys.readouterr().err.count("a step is reported within another step") == 1


def test_two_callbacks_of_a_framework_are_refused(
    clock: Any, parts: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    measured, callbacks = parts(5), [callback._Steps(), callback._Steps()]
    for _ in range(9):
        for one in callbacks:
            one.rows = 64
            one._begin(is_cut=False)
        clock.work(STEP)
        for one in callbacks:
            one._end()
    assert measured.measured == []
    assert "a step is reported within another step" in capsys.readouterr().err


def test_consecutive_steps_count_whether_a_loop_or_a_callback_reports_them(clock: Any, parts: Any) -> None:
    measured = parts(3)
    for _ in loop():
        clock.work(STEP)
        break
    with pytest.raises(KeyError), callback.step(samples=64):
        raise KeyError
    for _ in range(2):
        with callback.step(samples=64):
            clock.work(STEP)
    for _ in loop():
        clock.work(STEP)
    assert len(measured.measured) == 3


def test_a_pause_between_two_loops_is_no_part_of_a_smaller_batch(clock: Any, parts: Any) -> None:
    parts(9)
    for _ in range(3):
        for _ in callback.steps([64, 64, 36], samples=lambda size: size):
            clock.work(STEP)
        with callback.pause():
            clock.work(EVALUATE)
    assert callback._reporter()._left_out == {"batches": 3, "samples": 108, "seconds": 3 * STEP}


def test_a_pause_within_a_smaller_batch_is_not_in_its_time(clock: Any, parts: Any) -> None:
    parts(9)
    for size in callback.steps([64, 64, 36], samples=lambda size: size):
        clock.work(STEP)
        if size == 36:
            with callback.pause():
                clock.work(EVALUATE)
    assert callback._reporter()._left_out["seconds"] == STEP
