"""(pair, method) -> predictions of every row by a predictor that saw nothing of its model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.predict.method import Fit, PredictedSteps, Predictor
from orchestrator.predict.pairs import Pair, Rows
from orchestrator.predict.splits import folds_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """What one method predicts for all rows of one pair under one split."""

    method: str
    split: str
    pair: Pair
    predicted: PredictedSteps


def held_out_predictions(pair: Pair, fit: Fit) -> list[HeldOut]:
    """Of the method, and of its members, under every split that the pair has folds of."""
    folds = folds_of(pair)
    sets = sorted({fold.held_out for each in folds.values() for fold in each}, key=sorted)
    fitted: Mapping[frozenset[str], Predictor] = dict(
        zip(sets, fit([pair.without(held_out) for held_out in sets]), strict=True)
    )
    found = []
    for split, of_split in folds.items():
        parts = []
        for fold in of_split:
            rows = np.flatnonzero(np.isin(pair.models, list(fold.tested)))
            parts.append((rows, fitted[fold.held_out].predict(pair.profiles[rows])))
        found += [
            HeldOut(method=name, split=split, pair=pair, predicted=_joined([(r, p[name]) for r, p in parts]))
            for name in (parts[0][1] if parts else ())
        ]
    return found


def _joined(parts: Sequence[tuple[Rows, PredictedSteps]]) -> PredictedSteps:
    """All rows in their order."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))

    def column(name: str) -> Any:
        values = [getattr(predicted, name) for _, predicted in parts]
        return None if values[0] is None else np.concatenate(values)[order]

    return PredictedSteps(
        step_seconds=column("step_seconds"),
        low=column("low"),
        high=column("high"),
        in_range=column("in_range"),
    )
