"""Length of the job on which settings are compared, and the source of that number."""

from dataclasses import replace

import pytest
from plan_builders import planned, point

from orchestrator.analysis.recommendation.jobs.length import check_lengths, check_quality, job_length
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import MOST_SAMPLES, Objective
from orchestrator.core.placement import Aim, FullTraining

WHOLE = FullTraining(epochs=50, train_samples=60_000)
NO_EPOCHS = FullTraining(epochs=None, train_samples=60_000)
NO_SAMPLES = FullTraining(epochs=50, train_samples=None)
RECORDED = (12_800, 6_400)
INSTEAD = "; `report.samples=N` sets another length"


def told(training, recorded=RECORDED, **objective):
    found = job_length(training, Objective(**objective), recorded_samples=recorded)
    return found.samples, found.source


@pytest.mark.parametrize("training", [WHOLE, NO_EPOCHS, NO_SAMPLES, None])
def test_samples_that_the_user_asks_for_stand_before_all_else(training):
    assert told(training, samples=200_000) == (200_000, "200,000 samples, as `report.samples` asks")


@pytest.mark.parametrize("training", [WHOLE, NO_EPOCHS])
def test_epochs_that_the_user_asks_for_stand_before_the_declared_ones(training):
    assert told(training, epochs=2.5) == (150_000, "2.5 epochs x 60,000 samples, as `report.epochs` asks")


def test_tokens_that_the_user_asks_for_are_as_many_samples_as_hold_them():
    texts = FullTraining(epochs=1, train_samples=1_000, tokens_per_sample=2_048.0)
    assert told(texts, tokens=50_000_000) == (
        24_414,
        "24,414 samples of 50,000,000 tokens together, as `report.tokens` asks",
    )
    assert told(texts, tokens=1)[0] == 1


@pytest.mark.parametrize("training", [WHOLE, None])
def test_tokens_of_samples_that_are_no_texts_are_refused(training):
    with pytest.raises(
        ConfigError, match=r"^report.tokens=9: its samples have no tokens; give report.samples=N$"
    ):
        told(training, tokens=9)


@pytest.mark.parametrize("training", [NO_SAMPLES, None])
def test_epochs_of_a_data_set_of_unknown_size_are_refused(training):
    with pytest.raises(ConfigError) as raised:
        told(training, epochs=2.5)
    assert str(raised.value) == (
        "report.epochs=2.5 needs the number of training samples, and the data set declares no train_samples; "
        "give report.samples=N"
    )


def test_fifty_declared_epochs_of_sixty_thousand_samples_are_three_million():
    assert told(WHOLE) == (3_000_000, "50 epochs x 60,000 samples, as the workload declares")


def test_samples_of_a_script_are_a_whole_training_and_no_epoch():
    """Two epochs of the 50 of 2,000 samples that it states would have been 50 times as many samples."""
    script = FullTraining(epochs=None, train_samples=None, samples=100_000)
    assert told(script) == (100_000, "100,000 samples, the whole training, as the command declares")
    with pytest.raises(ConfigError, match=r"^report.epochs=2 needs the number of training samples, "):
        told(script, epochs=2)
    with pytest.raises(ConfigError, match="a job has at most"):
        told(replace(script, samples=MOST_SAMPLES + 1))


def test_one_epoch_is_not_several():
    assert told(FullTraining(epochs=1, train_samples=10))[1].startswith("10 samples, ")


@pytest.mark.parametrize(
    ("training", "reason"),
    [
        (NO_EPOCHS, "the workload declares no epochs"),
        (FullTraining(epochs=None, train_samples=None), "the workload declares no epochs"),
        (NO_SAMPLES, "the data set declares no train_samples"),
        (None, "the plan tells of no full training"),
    ],
)
def test_a_job_without_a_declared_length_is_as_long_as_the_longest_trial(training, reason):
    expected = f"12,800 samples, as the longest trial: {reason}{INSTEAD}"
    assert told(training) == (12_800, expected)


def test_a_part_of_a_sample_is_none_and_a_job_has_one_at_least():
    assert told(FullTraining(epochs=0.5, train_samples=7))[0] == 4
    assert told(WHOLE, epochs=1e-300)[0] == 1


@pytest.mark.parametrize("epochs", [1e300, 2e10])
def test_a_job_of_too_many_samples_is_refused(epochs):
    at_most = r"a job has at most 1,000,000,000,000,000 samples; give report\.samples=N$"
    with pytest.raises(
        ConfigError, match=rf"^[\de+]+ epochs x 60,000 samples, as `report.epochs` asks: {at_most}"
    ):
        told(WHOLE, epochs=epochs)
    with pytest.raises(ConfigError, match=f", as the workload declares: {at_most}"):
        told(FullTraining(epochs=epochs, train_samples=60_000))
    assert told(WHOLE, samples=MOST_SAMPLES)[0] == MOST_SAMPLES


def test_an_objective_that_no_workload_of_a_plan_can_have_is_refused_by_its_name():
    found = planned(point(), point(workload="imdb_bigru"), train_samples=sizes(imdb=None))
    check_lengths(found.trainings, Objective())
    check_lengths(found.trainings, Objective(samples=5))
    with pytest.raises(ConfigError, match=r"^workload 'imdb_bigru': report\.epochs=2 needs the number of"):
        check_lengths(found.trainings, Objective(epochs=2))


ACCURACY = {"mnist_cnn": Aim(metric="accuracy", higher_is_better=True)}
LOSS = {"mnist_cnn": Aim(metric="reward", higher_is_better=True)}
TRAININGS = {"mnist_cnn": WHOLE}


@pytest.mark.parametrize("quality", [-1, 1.01, 95])
def test_a_quality_that_no_accuracy_can_be_is_refused(quality):
    with pytest.raises(ConfigError, match=rf"^report\.quality={quality} is no accuracy, which is from 0"):
        check_quality(TRAININGS, ACCURACY, Objective(quality=quality))


def test_a_quality_of_workloads_that_have_none_is_refused():
    with pytest.raises(ConfigError, match=r"^report\.quality=0\.9: no workload of this sweep has a quality"):
        check_quality(TRAININGS, {}, Objective(quality=0.9))


def test_a_quality_that_can_be_is_taken():
    check_quality(TRAININGS, ACCURACY, Objective(quality=0.9))
    check_quality(TRAININGS, LOSS, Objective(quality=-1))
    check_quality({}, {}, Objective(quality=0.9))


def sizes(*, imdb):
    return {"mnist_cnn": 60_000, "imdb_bigru": imdb}
