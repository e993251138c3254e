"""Steps that have most in common with an asked one, and how good predictions from such were. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.extensions.predictions.step_time.crossed_effects import PublishedStep, StepLabels

BasisKind = Literal["network there", "others there", "network elsewhere", "others elsewhere", "counts"]
"""Published rates behind a prediction: of the network or of others of its family, on the device in the
precision or elsewhere; or none alike, and counts alone."""

OwnKind = Literal["own network there", "own there", "own network elsewhere", "own elsewhere"]
"""The same of own records: of the network or others on the device, of the network elsewhere, or neither."""

_MOST_NAMED = 3
_BITS = {"half": "16 bit"}  # fp16 and bf16 have effects in common


@dataclass(frozen=True, slots=True, kw_only=True)
class PastHits:
    """Past errors of predictions of one kind, of laboratories that were held out as a whole.

    Attributes:
        steps, laboratories: number of predicted steps, and of laboratories that have them.
        inside: share of the steps that lay in their 90% interval.
        median_factor: factor to either side within which half of the steps lay.
    """

    steps: int
    laboratories: int
    inside: float
    median_factor: float

    def __str__(self) -> str:
        """`checked on 117 steps of 3 labs: 97% lay within the 90% interval, typical error 1.18x`."""
        laboratories = "one lab" if self.laboratories == 1 else f"{self.laboratories} labs"
        return (
            f"checked on {self.steps} steps of {laboratories}: {self.inside:.0%} lay within the 90% "
            f"interval, typical error {self.median_factor:.2f}x"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HitTable:
    """Past hits, as `benchmarks/other_laboratories.py` writes them.

    Attributes:
        made_by: command that writes the file.
        hits: a `BasisKind` or `OwnKind` -> past hits.
    """

    made_by: str
    hits: Mapping[str, PastHits]


def nearest(labels: StepLabels, steps: Sequence[PublishedStep]) -> tuple[BasisKind, list[StepLabels]]:
    """Return the kind of basis that a step has, and the labels of the published steps that it is."""
    alike = [
        step.labels
        for step in steps
        if step.labels.network == labels.network
        or (step.labels.family == labels.family and labels.family is not None)
    ]
    same = [one for one in alike if one.network == labels.network]
    cases: tuple[tuple[BasisKind, list[StepLabels]], ...] = (
        ("network there", [one for one in same if _is_there(one, labels)]),
        ("others there", [one for one in alike if _is_there(one, labels)]),
        ("network elsewhere", same),
        ("others elsewhere", alike),
    )
    return next(((kind, chosen) for kind, chosen in cases if chosen), ("counts", []))


def _is_there(one: StepLabels, labels: StepLabels) -> bool:
    return (one.device, one.precision) == (labels.device, labels.precision)


def describe_step_basis(kind: BasisKind, chosen: Iterable[StepLabels], *, name: str, precision: str) -> str:
    """Name the basis of a step.

    Args:
        name: name of the network.
        precision: its label.
    """
    bits = _BITS.get(precision, precision)
    words: Mapping[BasisKind, str] = {
        "network there": f"{name} on this device in {bits}",
        "others there": f"other networks on this device in {bits}",
        "network elsewhere": f"rough: {name} on other devices",
        "others elsewhere": "rough: other networks on other devices",
    }
    if kind == "counts":
        return "rough: from counts alone, as nothing alike was published"
    return f"{words[kind]} ({_laboratories(chosen)})"


def _laboratories(chosen: Iterable[StepLabels]) -> str:
    names = [*dict.fromkeys(labels.laboratory for labels in chosen)]
    others = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")
