"""The members of our predictor, all of them of the logarithm of target over anchor.

1. Extremely randomised trees (Geurts, Ernst and Wehenkel 2006) on shares of op classes.
2. The composition of op times, times what such trees learn of its error.
3. A Gaussian process (Rasmussen and Williams 2006) on the standardised shares, which also says how far a
   profile is from all that was trained on.

Their mean is the prediction. Settings are fixed beforehand and never fitted to a data set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from orchestrator.predict.composition import Composition, fit_composition
from orchestrator.predict.features import features_of
from orchestrator.predict.pairs import Floats, Pair, Profiles

_SEED = 0
_TREES = {"n_estimators": 100, "min_samples_leaf": 2, "max_features": 0.5, "random_state": _SEED}
_LENGTH, _NOISE = 4.0, 0.02  # of the process: in standard deviations of a feature; part of the variance
_FARTHEST = 4.0  # standard deviations from the mean at which a feature is cut off
MEMBERS = ("trees", "composition", "process")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Fitted to one pair.

    Attributes:
        trees, rest: scikit-learn's forests: of the ratio, and of the ratio over the composition's.
        process: scikit-learn's.
        means, deviations: [feature] of training.
    """

    composition: Composition
    trees: Any
    rest: Any
    process: Any
    means: Floats
    deviations: Floats

    def log_ratios(self, profiles: Profiles) -> tuple[Floats, Floats]:
        """[row, member] log(target / anchor); [row] standard deviation of the process, large far away."""
        features = features_of(profiles)
        composed = np.log(self.composition.step_seconds(profiles) / profiles.step_seconds)
        mean, deviation = self.process.predict(self._standardised(features), return_std=True)
        members = (self.trees.predict(features), composed + self.rest.predict(features), mean)
        return np.column_stack(members), deviation

    def _standardised(self, features: Floats) -> Floats:
        return _cut_off((features - self.means) / self.deviations)


def fit_members(training: Pair) -> Members:
    """Of one row a workload."""
    features = features_of(training.profiles)
    ratios = np.log(training.target_seconds / training.profiles.step_seconds)
    composition = fit_composition(training)
    composed = np.log(composition.step_seconds(training.profiles) / training.profiles.step_seconds)
    means, deviations = features.mean(axis=0), features.std(axis=0)
    deviations = np.where(deviations > 0, deviations, 1.0)
    kernel = RBF(_LENGTH) + WhiteKernel(_NOISE)
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    return Members(
        composition=composition,
        trees=ExtraTreesRegressor(**_TREES).fit(features, ratios),
        rest=ExtraTreesRegressor(**_TREES).fit(features, ratios - composed),
        process=process.fit(_cut_off((features - means) / deviations), ratios),
        means=means,
        deviations=deviations,
    )


def _cut_off(standardised: Floats) -> Floats:
    return np.clip(standardised, -_FARTHEST, _FARTHEST)
