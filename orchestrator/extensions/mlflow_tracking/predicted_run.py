"""A setting that was not measured, as a run of its own. Pure."""

from orchestrator.extensions.mlflow_tracking.axes import format_value
from orchestrator.extensions.mlflow_tracking.keys import LONGEST_TAG, keys_of_names
from orchestrator.record.tracking.tracker import Prediction

PREDICTED = "predicted"
"""`outcome` of such a run; attempts have one of `summary.OUTCOMES`."""

_SHOWN = ("device", "precision", "trainer")


def build_predicted_key(one: Prediction) -> str:
    """Build the key of a setting: a later report has the same setting under the same one."""
    return f"{one.job}: {one.setting}"[:LONGEST_TAG]


def build_predicted_tags(one: Prediction) -> dict[str, str]:
    """Build the tags that distinguish a setting from attempts, and by which it is found again."""
    shown = {name: value for name, value in one.factors.items() if name in _SHOWN}
    return {
        "outcome": PREDICTED,
        "provenance": one.provenance,
        "prediction": build_predicted_key(one),
        **shown,
    }


def build_predicted_params(one: Prediction) -> dict[str, str]:
    """Build the parameters of a setting, named as those of attempts."""
    keys = keys_of_names(one.factors)
    return {keys[name]: format_value(value) for name, value in one.factors.items()}
