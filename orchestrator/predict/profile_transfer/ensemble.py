"""Our own predictor: the mean of its members, an interval of each row, and a range in which it is of use.

The interval is a factor of exp(q s) to both sides. s, of each row, is the spread of the members plus the
standard deviation of the process: large where members disagree or training is far away. q is the least that
holds 90% of what members say of models that they did not see, each training model held out once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from orchestrator.predict.profile_transfer.conformal import log_errors, quantile_of
from orchestrator.predict.profile_transfer.op_classes import class_seconds, features_of
from orchestrator.predict.profile_transfer.pairs import Floats, Pair, Profiles, joined, middle_of_repeats
from orchestrator.predict.profile_transfer.predictor import PredictedSteps, joined_steps

_PULL = 0.03  # towards the middle ratio; 0.02, 0.05 and 0.1 were tried beside it: docs/findings/prediction.md


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """Fitted to one pair.

    Attributes:
        factors: weights of every op class, of the time outside ops, and of the fixed cost.
        shortest_seconds: the shortest step of training on the anchor: the fixed cost before its factor.
    """

    factors: Floats
    shortest_seconds: float

    def step_seconds(self, profiles: Profiles) -> Floats:
        """[row] of one step on the target; above 0."""
        seconds: Floats = _parts(profiles, self.shortest_seconds) @ self.factors
        return seconds


def fit_composition(training: Pair) -> Composition:
    """Non-negative least squares of relative errors: Lawson and Hanson 1974."""
    profiles, target = training.profiles, training.target_seconds
    shortest = float(profiles.step_seconds.min())
    parts = _parts(profiles, shortest)
    ratio = float(np.exp(np.median(np.log(target / profiles.step_seconds))))
    weight = _PULL * np.sqrt(len(target))
    pulls = np.full(parts.shape[1], weight)
    rows = np.vstack((parts / target[:, None], np.diag(pulls) / ratio))
    factors, _ = nnls(rows, np.concatenate((np.ones(len(target)), pulls)))
    return Composition(factors=factors, shortest_seconds=shortest)


def _parts(profiles: Profiles, shortest_seconds: float) -> Floats:
    """[row, part] seconds on the anchor."""
    classes = class_seconds(profiles)
    beside = np.maximum(profiles.step_seconds - classes.sum(axis=1), 0.0)
    fixed = np.full(len(beside), shortest_seconds)
    return np.column_stack((classes, beside, fixed))


_SEED = 0
_TREES = {"n_estimators": 100, "min_samples_leaf": 2, "max_features": 0.5, "random_state": _SEED}
_LENGTH, _NOISE = 12.0, 0.06  # of the process: in standard deviations of a feature; part of the variance
_SMOOTHNESS = 1.5
_RANGE_LENGTH, _RANGE_NOISE = 4.0, 0.02
_FARTHEST = 4.0  # standard deviations from the mean at which a feature is cut off
MEMBERS = ("trees", "composition", "process")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Fitted to one pair.

    Attributes:
        trees, rest: scikit-learn's forests: of the ratio, and of the ratio over the composition's.
        process: scikit-learn's.
        means, deviations: [feature] of training.
        range_process: scikit-learn's, of the profile alone: how far a profile is from all of training.
        is_counted: the features have the counts of the steps.
    """

    composition: Composition
    trees: Any
    rest: Any
    process: Any
    means: Floats
    deviations: Floats
    range_process: Any
    is_counted: bool

    def log_ratios(self, profiles: Profiles) -> tuple[Floats, Floats]:
        """[row, member] log(target / anchor); [row] standard deviation of the process, large far away."""
        features = features_of(profiles, is_counted=self.is_counted)
        composed = np.log(self.composition.step_seconds(profiles) / profiles.step_seconds)
        mean, deviation = self.process.predict(self._standardised(features), return_std=True)
        members = (self.trees.predict(features), composed + self.rest.predict(features), mean)
        return np.column_stack(members), deviation

    def distances(self, profiles: Profiles) -> Floats:
        """[row] standard deviation of the process of the profile alone.

        Counts have no part in it: a strange profile of a known network is strange too.
        """
        features = self._standardised(features_of(profiles, is_counted=self.is_counted))
        _, distances = self.range_process.predict(
            features[:, : self.range_process.n_features_in_], return_std=True
        )
        return np.asarray(distances)

    def _standardised(self, features: Floats) -> Floats:
        return _cut_off((features - self.means) / self.deviations)


def fit_members(training: Pair, *, is_counted: bool) -> Members:
    """Fit the members to one row per workload."""
    features = features_of(training.profiles, is_counted=is_counted)
    ratios = np.log(training.target_seconds / training.profiles.step_seconds)
    composition = fit_composition(training)
    composed = np.log(composition.step_seconds(training.profiles) / training.profiles.step_seconds)
    means, deviations = features.mean(axis=0), features.std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1.0)
    standardised = _cut_off((features - means) / deviations)
    of_profile = standardised[:, : features_of(training.profiles, is_counted=False).shape[1]]
    range_kernel = RBF(_RANGE_LENGTH) + WhiteKernel(_RANGE_NOISE)
    range_process = GaussianProcessRegressor(range_kernel, optimizer=None, normalize_y=True)
    kernel = Matern(_LENGTH, nu=_SMOOTHNESS) + WhiteKernel(_NOISE)
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    return Members(
        composition=composition,
        trees=ExtraTreesRegressor(**_TREES).fit(features, ratios),
        rest=ExtraTreesRegressor(**_TREES).fit(features, ratios - composed),
        process=process.fit(standardised, ratios),
        means=means,
        deviations=deviations,
        range_process=range_process.fit(of_profile, ratios),
        is_counted=is_counted,
    )


def _cut_off(standardised: Floats) -> Floats:
    return np.clip(standardised, -_FARTHEST, _FARTHEST)


ORCHESTRATOR = "orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlendPart:
    """Members of one set of features, and how far they are from models that they did not see.

    Attributes:
        quantile: q.
        farthest: largest standard deviation of the process at a training model that was held out: beyond it
            nothing is known of the errors.
    """

    members: Members
    quantile: float
    farthest: float

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict with the ensemble and with each of its members."""
        log_ratios, deviation = self.members.log_ratios(profiles)
        center = profiles.step_seconds * np.exp(log_ratios.mean(axis=1))
        factor = np.exp(self.quantile * _scale(log_ratios, deviation))
        blended = PredictedSteps(
            step_seconds=center,
            low=center / factor,
            high=center * factor,
            in_range=self.members.distances(profiles) <= self.farthest,
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

    @cache
    def fitted(models: frozenset[str], is_counted: bool) -> Members:
        return fit_members(joined([parts[model] for model in sorted(models)]), is_counted=is_counted)

    def part_of(models: frozenset[str], *, is_counted: bool) -> BlendPart:
        chosen = models & frozenset(counted) if is_counted else models
        if is_counted and len(chosen) < 2:
            return part_of(models, is_counted=False)
        return _part(chosen, parts, partial(fitted, is_counted=is_counted))

    return [
        Blend(
            counted=cache(partial(part_of, models, is_counted=True)),
            uncounted=cache(partial(part_of, models, is_counted=False)),
        )
        for models in (frozenset(training.models.tolist()) for training in trainings)
    ]


def _part(
    models: frozenset[str], parts: Mapping[str, Pair], fitted: Callable[[frozenset[str]], Members]
) -> BlendPart:
    """Blend the members; the range of a single model, which cannot be held out, is empty."""
    if len(models) < 2:
        return BlendPart(members=fitted(models), quantile=np.inf, farthest=-np.inf)
    tests = [(parts[model], fitted(models - {model})) for model in sorted(models)]
    sizes, distances = zip(*(_sizes(test, members) for test, members in tests), strict=True)
    return BlendPart(
        members=fitted(models),
        quantile=quantile_of(np.concatenate(sizes)),
        farthest=float(np.concatenate(distances).max()),
    )


def _sizes(test: Pair, members: Members) -> tuple[Floats, Floats]:
    """[row] of a held-out model: error over s, and the process' standard deviation."""
    log_ratios, deviation = members.log_ratios(test.profiles)
    center = test.profiles.step_seconds * np.exp(log_ratios.mean(axis=1))
    return np.abs(log_errors(center, test.target_seconds)) / _scale(log_ratios, deviation), members.distances(
        test.profiles
    )


def _scale(log_ratios: Floats, deviation: Floats) -> Floats:
    """[row] s."""
    scale: Floats = log_ratios.std(axis=1) + deviation
    return scale
