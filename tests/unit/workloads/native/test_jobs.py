"""Numbers of a user's own job that cannot be meant."""

import math

import pytest

from workloads.jobs import JobError, KerasJob, TorchJob

PARTS = {"model": None, "loss": None, "optimizer": None, "data": None}


@pytest.mark.parametrize("job_class", [TorchJob, KerasJob])
@pytest.mark.parametrize("epochs", [math.nan, math.inf, -math.inf, -1, 0])
def test_epochs_that_are_no_number_of_passes_are_refused(job_class, epochs):
    with pytest.raises(JobError, match=f"^epochs={epochs} is not a number of passes"):
        job_class(**PARTS, epochs=epochs)


@pytest.mark.parametrize("target", [math.nan, math.inf])
def test_a_target_that_no_metric_reaches_is_refused(target):
    with pytest.raises(JobError, match=f"^target={target} is not a value"):
        TorchJob(**PARTS, target=target)


@pytest.mark.parametrize("epochs", [None, 0.5, 3])
def test_epochs_above_0_are_taken(epochs):
    assert TorchJob(**PARTS, epochs=epochs).epochs == epochs
