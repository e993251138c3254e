"""Features in standard deviations from the mean of training."""

from dataclasses import dataclass

import numpy as np

from orchestrator.extensions.profile_transfer.models.pairs import Floats

_FARTHEST = 4.0  # standard deviations from the mean at which a feature is cut off


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standards:
    """[feature] means and standard deviations of training; a deviation of 1 where a feature is constant."""

    means: Floats
    deviations: Floats

    def of(self, features: Floats) -> Floats:
        """[row, feature], cut off at four deviations."""
        return np.clip((features - self.means) / self.deviations, -_FARTHEST, _FARTHEST)


def build_standards(features: Floats) -> Standards:
    """Take the means and deviations of the rows."""
    deviations = features.std(axis=0)
    return Standards(means=features.mean(axis=0), deviations=np.where(deviations > 0, deviations, 1.0))
