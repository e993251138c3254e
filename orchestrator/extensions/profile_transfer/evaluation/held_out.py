"""(pair, method) -> predictions of every row by a predictor that saw nothing of its model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.extensions.profile_transfer.models.conformal import (
    _LEAST_SECONDS,
    compute_quantile,
    log_errors,
)
from orchestrator.extensions.profile_transfer.models.pairs import Pair
from orchestrator.extensions.profile_transfer.models.predictor import (
    Fit,
    PredictedSteps,
    Predictor,
    joined_steps,
)

BY_MODEL = "leave_one_model_out"
BY_FAMILY = "leave_one_family_out"
SPLITS = (BY_MODEL, BY_FAMILY)
"""The split by model is optimistic because of siblings: VGG16 is in the training set of VGG19."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Rows to test, and the predictors fitted without them.

    Attributes:
        tested: models of the predicted rows.
        held_out: models that training does not see; holds `tested`.
    """

    tested: frozenset[str]
    held_out: frozenset[str]


def split_folds(pair: Pair) -> Mapping[str, tuple[Fold, ...]]:
    """Split -> folds that test each model once. A split that leaves nothing to train on has none."""
    members = {
        str(family): frozenset(pair.models[pair.families == family].tolist())
        for family in np.unique(pair.families)
    }
    models = tuple(frozenset({model}) for names in members.values() for model in names)
    families = tuple(members.values())
    return {
        split: tuple(Fold(tested=label, held_out=label) for label in held_out) if len(held_out) > 1 else ()
        for split, held_out in ((BY_MODEL, models), (BY_FAMILY, families))
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Predictions of one method for all rows of one pair under one split."""

    method: str
    split: str
    pair: Pair
    predicted: PredictedSteps


def held_out_predictions(pair: Pair, fit: Fit) -> list[HeldOut]:
    """Predict held-out rows by the method and its members, under every split for which the pair has folds."""
    folds = split_folds(pair)
    sets = sorted({fold.held_out for fold_list in folds.values() for fold in fold_list}, key=sorted)
    fitted: Mapping[frozenset[str], Predictor] = dict(
        zip(sets, fit([pair.without(held_out) for held_out in sets]), strict=True)
    )
    predictions = []
    for split, of_split in folds.items():
        parts = []
        for fold in of_split:
            rows = np.flatnonzero(np.isin(pair.models, list(fold.tested)))
            parts.append((rows, fitted[fold.held_out].predict(pair.profiles[rows])))
        predictions += [
            HeldOut(
                method=name, split=split, pair=pair, predicted=joined_steps([(r, p[name]) for r, p in parts])
            )
            for name in (parts[0][1] if parts else ())
        ]
    return predictions


def with_intervals(held_out: HeldOut) -> HeldOut:
    """Add intervals to a method without its own: for each model's rows, from the errors on all other models.

    The predictors that made those errors had this model in training, so the intervals are a little narrow.
    """
    predicted, pair = held_out.predicted, held_out.pair
    if predicted.low is not None or len(np.unique(pair.models)) < 2:
        return held_out
    sizes = np.abs(log_errors(predicted.step_seconds, pair.target_seconds))
    width = np.empty(len(sizes))
    for model in np.unique(pair.models):
        is_own = pair.models == model
        width[is_own] = compute_quantile(sizes[~is_own])
    center = np.maximum(predicted.step_seconds, _LEAST_SECONDS)
    bounded = replace(predicted, low=center * np.exp(-width), high=center * np.exp(width))
    return replace(held_out, predicted=bounded)
