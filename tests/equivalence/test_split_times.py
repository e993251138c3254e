"""What a rank's steps are taken up by, under a clock that ticks as it is read; a link from two messages."""

from itertools import count

import torch

from orchestrator.core.kernel_share import KernelLink
from orchestrator.train.kernel_link import link_of
from orchestrator.train.kernel_watch import KEPT_STEPS, StepSeconds, StepWatch


def watch(*, num_layers: int = 1) -> StepWatch:
    """A second passes from one reading of its clock to the next."""
    ticks = map(float, count())
    return StepWatch(torch.device("cpu"), num_layers=num_layers, clock=ticks.__next__)


def test_a_step_is_its_rest_and_what_the_master_is_away_for():
    found = watch(num_layers=2)
    with found.step():
        with found.away, found.convolving[0]:
            pass
        for _ in range(2):
            with found.away, found.convolving[1]:
                pass
    assert found.last(1) == [StepSeconds(whole=13.0, away=9.0, convolving=(1.0, 2.0))]
    assert found.rest_seconds() == 4.0


def test_what_is_convolved_between_two_steps_is_of_neither():
    found = watch()
    for _ in range(2):
        with found.step():
            pass
        with found.away, found.convolving[0]:
            pass
    assert found.last(2) == [StepSeconds(whole=1.0, away=0.0, convolving=(0.0,))] * 2


def test_the_last_steps_are_remembered_and_what_is_forgotten_is_not():
    found = watch()
    assert found.rest_seconds() is None
    for _ in range(KEPT_STEPS + 5):
        with found.step():
            pass
    assert (len(found.last(3)), len(found.last(KEPT_STEPS + 5)), found.num_steps) == (3, 100, 105)
    found.forget()
    assert (found.last(1), found.num_steps) == ([], 0)


def test_a_message_takes_the_latency_and_then_its_bytes():
    link = link_of(small_seconds=0.5, large_seconds=2.5, more_bytes=100)
    assert link == KernelLink(bytes_per_second=50.0, latency_seconds=0.5)


def test_a_small_message_that_was_held_up_leaves_a_bandwidth_all_the_same():
    assert link_of(small_seconds=3.0, large_seconds=2.0, more_bytes=100).bytes_per_second == 100.0
