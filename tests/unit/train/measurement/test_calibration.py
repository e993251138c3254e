"""Timing of products, under a clock that passes only while a device works."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from noop_trials import jobs

from orchestrator.train.measurement.calibration import PRODUCT_SIZE, is_wanted, measure_matmul_peak


@dataclass
class Multiplier:
    """Multiplier whose products take 2 s once awaited, and the first one 30 s more."""

    now: float = 0.0
    queued: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    num_products: int = 0

    def matmul_benchmark(self, size: int) -> Callable[[], object]:
        self.sizes.append(size)
        return self._multiply

    def synchronize(self) -> None:
        self.now += sum(self.queued)
        self.queued.clear()

    def _multiply(self) -> object:
        self.queued.append(2.0 if self.num_products else 32.0)
        self.num_products += 1
        return object()


class Idle:
    """Multiplies nothing."""

    def matmul_benchmark(self, size: int) -> None: ...


def test_eight_products_are_timed_to_their_end_after_one_that_compiles():
    trainer, meetings = Multiplier(), []

    def meet(vote: bool) -> bool:
        meetings.append(trainer.num_products)
        return vote

    assert measure_matmul_peak(trainer, meet=meet, clock=lambda: trainer.now) == (2.0,) * 8
    assert trainer.sizes == [PRODUCT_SIZE]
    assert meetings == list(range(9))  # all ranks begin each product together


def test_a_trainer_without_a_matmul_is_not_timed():
    assert measure_matmul_peak(Idle(), meet=lambda vote: vote, clock=lambda: 0.0) == ()


@pytest.mark.parametrize(
    ("asked", "kind", "rehearsal", "wanted"),
    [
        (True, "cpu", False, True),
        (False, "cpu", False, False),
        (True, "gpu", False, False),
        (True, "cpu", True, False),
    ],
)
def test_only_a_measured_trial_on_a_cpu_that_was_asked_calibrates(tmp_path, asked, kind, rehearsal, wanted):
    (job,) = jobs(tmp_path, workers=1)
    trial = replace(job.trial, timing=replace(job.trial.timing, calibrate=asked))
    assert is_wanted(replace(job, trial=trial, kind=kind, rehearsal=rehearsal)) == wanted
    unequal = replace(trial, num_workers=2, other_devices=("t4",))
    assert not is_wanted(replace(job, trial=unequal, kind=kind, rehearsal=rehearsal))
