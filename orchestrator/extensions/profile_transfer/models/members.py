"""The members of our own predictor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from orchestrator.extensions.profile_transfer.models.composition import Composition, fit_composition
from orchestrator.extensions.profile_transfer.models.op_classes import compute_features
from orchestrator.extensions.profile_transfer.models.pairs import Floats, Pair, Profiles
from orchestrator.extensions.profile_transfer.models.standards import Standards, build_standards

MEMBERS = ("trees", "composition", "process")

_SEED = 0
_TREES = {"n_estimators": 40, "min_samples_leaf": 2, "max_features": 0.5, "random_state": _SEED}
_LENGTH, _NOISE = 12.0, 0.06  # of the process: in standard deviations of a feature; part of the variance
_SMOOTHNESS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Fitted to one pair.

    Attributes:
        trees: scikit-learn's forest of the logarithm of the ratio.
        process: scikit-learn's, of two outputs: logarithms of the ratio, and of what the composition leaves.
        is_counted: the features have the counts of the steps.
    """

    composition: Composition
    trees: Any
    process: Any
    standards: Standards
    is_counted: bool

    def log_ratios(self, profiles: Profiles) -> Floats:
        """[row, member of MEMBERS] log(target / anchor)."""
        features = compute_features(profiles, is_counted=self.is_counted)
        composed = np.log(self.composition.step_seconds(profiles) / profiles.step_seconds)
        ratios, rest = self.process.predict(self.standards.of(features)).T
        return np.column_stack((self.trees.predict(features), composed + rest, ratios))


def fit_members(training: Pair, *, is_counted: bool) -> Members:
    """Fit the members to one row per workload."""
    features = compute_features(training.profiles, is_counted=is_counted)
    ratios = np.log(training.target_seconds / training.profiles.step_seconds)
    composition = fit_composition(training, is_counted=is_counted)
    rest = np.log(training.target_seconds / composition.step_seconds(training.profiles))
    standards = build_standards(features)
    kernel = Matern(_LENGTH, nu=_SMOOTHNESS) + WhiteKernel(_NOISE)
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    return Members(
        composition=composition,
        trees=ExtraTreesRegressor(**_TREES).fit(features, ratios),
        process=process.fit(standards.of(features), np.column_stack((ratios, rest))),
        standards=standards,
        is_counted=is_counted,
    )
