"""Our own predictor: the mean of its members, an interval of each row, and a range in which it is of use.

The interval is a factor of exp(q s) to both sides. s, of each row, grows with the distance of its profile
from training and falls with the length of the step. q is the least that holds 90% of the members'
predictions for unseen families, each training family held out once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from orchestrator.extensions.profile_transfer.models.conformal import (
    compute_quantile,
    compute_scale,
    log_errors,
)
from orchestrator.extensions.profile_transfer.models.members import MEMBERS, Members, fit_members
from orchestrator.extensions.profile_transfer.models.pairs import Pair, Profiles, joined, middle_of_repeats
from orchestrator.extensions.profile_transfer.models.predictor import PredictedSteps, joined_steps
from orchestrator.extensions.profile_transfer.models.profile_range import ProfileRange, fit_range

ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlendPart:
    """Members of one set of features, and how far they are from families that they did not see.

    Attributes:
        quantile: q.
        farthest: largest distance of a training model that was held out: beyond it nothing is known.
    """

    members: Members
    range: ProfileRange
    quantile: float
    farthest: float

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict with the ensemble and with each of its members."""
        log_ratios = self.members.log_ratios(profiles)
        distances = self.range.distances(profiles)
        center = profiles.step_seconds * np.exp(log_ratios.mean(axis=1))
        factor = np.exp(self.quantile * compute_scale(distances, center))
        blended = PredictedSteps(
            step_seconds=center,
            low=center / factor,
            high=center * factor,
            in_range=distances <= self.farthest,
        )
        alone = {
            f"{ORCHESTRATOR}_{name}": PredictedSteps(step_seconds=profiles.step_seconds * np.exp(column))
            for name, column in zip(MEMBERS, log_ratios.T, strict=True)
        }
        return {ORCHESTRATOR: blended, **alone}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blend:
    """Fitted to one pair.

    Attributes:
        counted: fits the part for rows with counts, from the training rows that have them.
        uncounted: fits the part for all other rows, without counts; most predictions never need it.
    """

    counted: Callable[[], BlendPart]
    uncounted: Callable[[], BlendPart]

    def uses_counts(self, profiles: Profiles) -> NDArray[np.bool_]:
        """[row] True where the prediction sees counts of the network."""
        return profiles.has_counts & (profiles.has_counts.any() and self.counted().members.is_counted)

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict with the ensemble `orchestrator`, with intervals, and with each of its three members."""
        is_counted = profiles.has_counts
        parts = [
            (np.flatnonzero(rows), fitted)
            for rows, fitted in ((is_counted, self.counted), (~is_counted, self.uncounted))
            if rows.any()
        ]
        predictions = [(rows, fitted().predict(profiles[rows])) for rows, fitted in parts]
        return {
            name: joined_steps([(rows, predicted[name]) for rows, predicted in predictions])
            for name in (ORCHESTRATOR, *(f"{ORCHESTRATOR}_{member}" for member in MEMBERS))
        }


def fit_blend(trainings: Sequence[Pair]) -> Sequence[Blend]:
    """One for each of several parts of one pair that lack whole models; they share fits."""
    parts: dict[str, Pair] = {}
    for training in trainings:
        for model in set(training.models.tolist()) - set(parts):
            parts[model] = middle_of_repeats(training[training.models == model])
    counted = {model: part for model, part in parts.items() if part.profiles.has_counts.all()}

    def of(models: frozenset[str]) -> Pair:
        return joined([parts[model] for model in sorted(models)])

    @cache
    def fitted(models: frozenset[str], is_counted: bool) -> Members:
        return fit_members(of(models), is_counted=is_counted)

    @cache
    def ranged(models: frozenset[str]) -> ProfileRange:
        return fit_range(of(models))

    def build_part(models: frozenset[str], *, is_counted: bool) -> BlendPart:
        chosen = models & frozenset(counted) if is_counted else models
        if is_counted and len(chosen) < 2:
            return build_part(models, is_counted=False)
        return _part(of(chosen), partial(fitted, is_counted=is_counted), ranged)

    return [
        Blend(
            counted=cache(partial(build_part, models, is_counted=True)),
            uncounted=cache(partial(build_part, models, is_counted=False)),
        )
        for models in (frozenset(training.models.tolist()) for training in trainings)
    ]


def _part(
    training: Pair,
    fitted: Callable[[frozenset[str]], Members],
    ranged: Callable[[frozenset[str]], ProfileRange],
) -> BlendPart:
    """Blend the members; the range of a single model, which cannot be held out, is empty."""
    models = frozenset(training.models.tolist())
    members, profile_range = fitted(models), ranged(models)
    if len(models) < 2:
        return BlendPart(members=members, range=profile_range, quantile=np.inf, farthest=-np.inf)
    sizes = []
    # each model for itself where there is one family only
    names = training.families if len(np.unique(training.families)) > 1 else training.models
    for group in [frozenset(training.models[names == name].tolist()) for name in np.unique(names)]:
        test = training[np.isin(training.models, list(group))].profiles
        measured = training.target_seconds[np.isin(training.models, list(group))]
        center = test.step_seconds * np.exp(fitted(models - group).log_ratios(test).mean(axis=1))
        scales = compute_scale(ranged(models - group).distances(test), center)
        sizes.append(np.abs(log_errors(center, measured)) / scales)
    farthest = max(
        float(ranged(models - {model}).distances(training[training.models == model].profiles).max())
        for model in models
    )
    return BlendPart(
        members=members,
        range=profile_range,
        quantile=compute_quantile(np.concatenate(sizes)),
        farthest=farthest,
    )
