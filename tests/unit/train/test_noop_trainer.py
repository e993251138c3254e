"""A trainer that computes nothing, in this process, and its faults that leave this process alive."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from noop_trials import jobs

from orchestrator.core.errors import TrialError
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.environment import cpu_model
from orchestrator.train.measurement import loop
from orchestrator.train.measurement.counters import no_meter
from orchestrator.train.trainers.noop_trainer import NoopTrainer
from workloads.data.batches import load
from workloads.registry import workload


@pytest.fixture
def trainer(tmp_path):
    """Makes a trainer that is set up, with a fault, on a rank of two."""

    def make(fault: str = "none", *, rank: int = 1) -> NoopTrainer:
        job = jobs(tmp_path, workers=2)[rank]
        made = NoopTrainer()
        spec = workload("mnist_cnn", {})
        made.setup(
            spec,
            replace(
                job, trial=replace(job.trial, trainer_options={"fault": fault}), precision="bf16", replicas=4
            ),
            load(
                tmp_path / "data.npz",
                data=spec.data,
                global_batch_size=job.trial.global_batch_size,
                seed=0,
            ),
        )
        return made

    return make


def train(trained: NoopTrainer) -> loop.LoopTimes:
    timing = TimingSpec(steps_per_block=2, min_blocks=6, max_blocks=6).without_seconds()
    phases = workload("mnist_cnn", {}).phases
    return loop.time_steps(
        trained,
        phases,
        timing,
        steps=20,
        meet=lambda vote: vote,
        clock=time.perf_counter,
        meter=no_meter,
    )


def test_steps_and_this_ranks_samples_are_counted_and_the_loss_falls(trainer):
    trained = trainer()
    times = train(trained)
    assert (times.steps, trained.samples) == (20, 20 * 32)
    assert all(later < earlier for (_, earlier), (_, later) in pairwise(times.losses))


def test_it_ran_on_the_processor_in_the_precision_asked_for(trainer):
    facts = trainer().device_facts()
    assert (facts.kind, facts.name, facts.count, facts.precision) == ("cpu", cpu_model(), 2, "bf16")


def test_the_noop_trainer_has_no_compilations_quality_or_state(trainer):
    trained = trainer()
    assert trained.compile_count() is None
    assert trained.evaluate(None) == trained.state() == {}
    trained.close()


def test_raise_is_an_exception_in_the_third_step(trainer):
    trained = trainer("raise")
    with pytest.raises(RuntimeError, match=r"^this failure was asked for with trainer.fault='raise'$"):
        train(trained)
    assert trained.samples == 2 * 32


def test_nan_is_a_loss_that_is_no_number_from_the_third_step_on(trainer):
    trained = trainer("nan")
    with pytest.raises(TrialError, match=r"^the loss is nan after step 6$"):  # the first reading after step 1
        train(trained)


@pytest.mark.parametrize("fault", ["raise", "die", "hang", "nan"])
def test_a_fault_strikes_on_the_last_rank_only(trainer, fault):
    assert train(trainer(fault, rank=0)).steps == 20
