"""Names of metrics, parameters and tags that MLflow accepts."""

import posixpath
import re

import pytest
from builders import pursuit, record, train_result
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.mlflow_tracking.keys import key_of_name, keys_of_names
from orchestrator.extensions.mlflow_tracking.mlflow_run import list_metrics


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("val//accuracy", "val/accuracy"),
        ("/acc", "acc"),
        ("acc/", "acc"),
        ("./acc", "_/acc"),
        ("../acc", "__/acc"),
        ("acc@1", "acc_1"),
        ("val/acc.top 1", "val/acc.top 1"),
        ("", "_"),
        ("//", "_"),
    ],
)
def test_a_name_that_mlflow_refuses_is_kept_under_a_cleaned_one(name: str, key: str) -> None:
    assert key_of_name(name) == key


@given(st.lists(st.text(alphabet="ab/.@# _é", max_size=6), unique=True) | st.lists(st.text(), unique=True))
def test_names_of_a_run_stay_apart_under_names_that_mlflow_accepts(names: list[str]) -> None:
    keys = keys_of_names(names)
    assert [*keys] == names
    assert len(set(keys.values())) == len(names)
    assert keys == keys_of_names(names[::-1])
    for key in keys.values():
        assert re.fullmatch(r"[/\w.\- :]{1,250}", key)
        assert posixpath.normpath(key) == key
        assert key not in (".", "..")


def test_a_name_that_needs_no_change_keeps_it_beside_one_that_becomes_the_same() -> None:
    keys = keys_of_names(["acc@1", "acc_1"])
    assert keys["acc_1"] == "acc_1"
    assert keys["acc@1"].startswith("acc_1.")


def test_a_long_name_is_cut_and_stays_apart() -> None:
    keys = keys_of_names(["a" * 300, "a" * 301])
    assert {len(key) for key in keys.values()} == {250}
    assert len(set(keys.values())) == 2


def test_a_metric_of_a_script_never_lands_in_the_curve_of_the_loss() -> None:
    trained = record(result=train_result(pursuit=pursuit(0.8, 0.85)))
    found = {
        name for name, value, _ in list_metrics(trained, {"quality//training_loss": 7.0}) if value == 7.0
    }
    (name,) = found
    assert name.startswith("quality/training_loss.")
