"""Distance of a profile from all profiles of training: a Gaussian process of the profile alone.

Counts have no part in it: a strange profile of a known network is strange too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from orchestrator.extensions.profile_transfer.models.op_classes import compute_features
from orchestrator.extensions.profile_transfer.models.pairs import Floats, Pair, Profiles
from orchestrator.extensions.profile_transfer.models.standards import Standards, build_standards

_LENGTH, _NOISE = 4.0, 0.02  # in standard deviations of a feature; part of the variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileRange:
    """Fitted to one pair.

    Attributes:
        process: scikit-learn's.
    """

    process: Any
    standards: Standards

    def distances(self, profiles: Profiles) -> Floats:
        """[row] standard deviation of the process, of log(target / anchor)."""
        features = self.standards.of(compute_features(profiles, is_counted=False))
        _, distances = self.process.predict(features, return_std=True)
        return np.asarray(distances)


def fit_range(training: Pair) -> ProfileRange:
    """Fit the process to one row per workload; nothing is optimised."""
    features = compute_features(training.profiles, is_counted=False)
    standards = build_standards(features)
    kernel = RBF(_LENGTH) + WhiteKernel(_NOISE)
    process = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)
    ratios = np.log(training.target_seconds / training.profiles.step_seconds)
    return ProfileRange(process=process.fit(standards.of(features), ratios), standards=standards)
