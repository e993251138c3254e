"""Data sets of trials in MLflow."""

import json

import pytest
from builders import record, trial_spec

from orchestrator.core.result import Failure
from orchestrator.extensions.mlflow_tracking.data_sets import find_data

HASH = "1f2e3d4c5b6a7988" * 4


@pytest.mark.parametrize(
    ("data", "name", "digest", "kind"),
    [
        (f"real:mnist-v1:{HASH}", "mnist-v1", HASH[:36], "real"),
        (f"standin:mnist-v1:{HASH}", "mnist-v1 (stand-in)", HASH[:36], "stand-in"),
        ("synthetic:mnist-v1:3", "mnist-v1 (synthetic)", "3", "synthetic"),
        ("own:gpt:0123456789abcdef", "gpt", "0123456789abcdef", "own"),
        ("synthetic:1", "mnist_cnn (synthetic)", "1", "synthetic"),
        ("none", "mnist_cnn", "none", "none"),
    ],
)
def test_a_data_set_has_its_name_its_digest_and_its_kind(data, name, digest, kind):
    found = find_data(record(spec=trial_spec(data=data)))
    assert (found.name, found.digest, found.kind) == (name, digest, kind)
    assert found.is_standin == data.startswith("standin")
    assert json.loads(found.source) == {"id": data}


def test_the_number_of_training_samples_is_its_profile_where_it_is_known():
    assert json.loads(find_data(record()).profile) == {"train_samples": 4000}
    assert find_data(record(failure=Failure(kind="oom", message="killed"))).profile is None
