"""Errors as the user reads them."""

import pytest

from orchestrator.core import errors
from orchestrator.core.errors import (
    FAILURE_KINDS,
    ConfigError,
    OrchestratorError,
    TrialError,
    UnknownNameError,
)


def test_an_unknown_name_is_shown_with_the_nearest_one_and_all_that_exist():
    error = UnknownNameError("trainer", "torch_dpp", known=("torch_xla", "torch_ddp", "tensorflow"))
    assert str(error) == (
        "unknown trainer 'torch_dpp'; did you mean 'torch_ddp'? known: tensorflow, torch_ddp, torch_xla"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [("pytorch", "torch_ddp"), ("ddp", "torch_ddp"), ("tf", "tensorflow"), ("Torch", "torch_ddp")],
)
def test_another_name_of_a_framework_gets_the_trainer_that_is_meant(name, meant):
    error = UnknownNameError("trainer", name, known=("script", "tensorflow", "torch_ddp", "torch_xla"))
    assert f"; did you mean {meant!r}? " in str(error)
    assert "torch_ddp" not in str(UnknownNameError("device", name, known=("cpu", "t4")))


def test_a_name_without_a_similar_one_gets_no_guess():
    error = UnknownNameError("device", "quantum", known=("cpu", "t4"))
    assert str(error) == "unknown device 'quantum'; known: cpu, t4"


@pytest.mark.parametrize("name", ["P100", "b100", "k100"])
def test_a_name_that_shares_digits_alone_gets_no_guess(name):
    assert "did you mean" not in str(UnknownNameError("device", name, known=("h100", "v100", "t4")))


def test_an_unknown_name_without_known_ones_shows_none():
    assert str(UnknownNameError("sweep", "smoke", known=())) == "unknown sweep 'smoke'; known: none"


def test_an_unknown_name_is_an_error_of_the_configuration():
    with pytest.raises(ConfigError, match=r"^unknown key 'a'; known: none$"):
        raise UnknownNameError("key", "a", known=())


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_a_trial_error_carries_its_class_beside_its_line(kind):
    error = TrialError(kind, "the cause")
    assert (error.kind, str(error)) == (kind, "the cause")


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    classes = [variable for variable in vars(errors).values() if isinstance(variable, type)]
    drawn = [class_name.__name__ for class_name in classes if class_name.__name__ in (errors.__doc__ or "")]
    assert sorted(drawn) == sorted(
        class_name.__name__ for class_name in classes if issubclass(class_name, OrchestratorError)
    )


def test_a_notebook_shows_the_line_alone():
    assert ConfigError("steps=0 must be at least 1")._render_traceback_() == [
        "ConfigError: steps=0 must be at least 1"
    ]
