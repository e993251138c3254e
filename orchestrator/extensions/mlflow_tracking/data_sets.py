"""The data set of a trial, as MLflow lists it among the inputs of a run. Pure."""

import json
from dataclasses import dataclass

from orchestrator.core.result import TrialRecord

_LONGEST_DIGEST = 36  # MLflow's own limit
_KINDS = {"standin": "stand-in", "synthetic": "synthetic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedData:
    """A data set of MLflow.

    Attributes:
        name: name of the data set; of data that are not the real ones also their kind.
        digest: hash or version of its content.
        kind: `real`, `stand-in`, `synthetic`, or who brings the data.
        source: its id in the trial, as JSON.
        profile: number of its training samples, as JSON; None: unknown.
    """

    name: str
    digest: str
    kind: str
    source: str
    profile: str | None

    @property
    def is_standin(self) -> bool:
        """True where a smaller set of real data replaces the requested one."""
        return self.kind == _KINDS["standin"]


def find_data(record: TrialRecord) -> TrackedData:
    """Describe the data set of a trial; its id is `<kind>:<data set>-v<version>:<content>`."""
    kind, _, rest = record.spec.data.partition(":")
    name, _, content = rest.rpartition(":")
    found, name = _KINDS.get(kind, kind), name or record.spec.workload
    samples = record.result.train_samples if record.result else None
    return TrackedData(
        name=f"{name} ({found})" if kind in _KINDS else name,
        digest=(content or kind)[:_LONGEST_DIGEST],
        kind=found,
        source=json.dumps({"id": record.spec.data}),
        profile=None if samples is None else json.dumps({"train_samples": samples}),
    )
