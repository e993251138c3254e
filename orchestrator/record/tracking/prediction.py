"""A setting that was not measured, as a run of its own in MLflow. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.core.estimate import EstimateProvenance
from orchestrator.record.tracking.axes import format_value
from orchestrator.record.tracking.keys import LONGEST_TAG, keys_of_names

PREDICTED = "predicted"
"""`outcome` of such a run; attempts have one of `summary.OUTCOMES`."""


_SHOWN = ("device", "precision", "trainer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A setting of a job without a measured time.

    Attributes:
        job: workload and data in words, as in a report.
        setting: fields that distinguish it from the other settings of the job: `t4, fp32`.
        factors: its device, precision and so on by their command-line keys.
        provenance: `predicted`, or `compiled` by the device's own compiler.
        metrics: its numbers by their names in MLflow.
    """

    job: str
    setting: str
    factors: Mapping[str, str]
    provenance: EstimateProvenance
    metrics: Mapping[str, float]

    @property
    def key(self) -> str:
        """Its identity: a later report has the same setting under the same one."""
        return f"{self.job}: {self.setting}"[:LONGEST_TAG]

    @property
    def name(self) -> str:
        """Name of its run."""
        return f"{self.setting} · {self.provenance}"

    @property
    def tags(self) -> dict[str, str]:
        """Tags that distinguish it from attempts, and by which it is found again."""
        shown = {name: value for name, value in self.factors.items() if name in _SHOWN}
        return {"outcome": PREDICTED, "provenance": self.provenance, "prediction": self.key, **shown}

    @property
    def params(self) -> dict[str, str]:
        """Its factors, as those of attempts."""
        keys = keys_of_names(self.factors)
        return {keys[name]: format_value(value) for name, value in self.factors.items()}
