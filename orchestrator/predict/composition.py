"""A step as the sum of its op classes, each with a factor of its own from one device to another.

target = sum over classes of factor x seconds on the anchor + factor x seconds beside all ops + a fixed cost

The factors are not negative and minimise, over the training workloads,

mean of (prediction / target - 1)^2 + 0.03^2 x sum of (factor / middle ratio of the devices - 1)^2

so that a class which training hardly has goes at the middle ratio.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from orchestrator.predict.op_classes import class_seconds
from orchestrator.predict.pairs import Floats, Pair, Profiles

_PULL = 0.03  # towards the middle ratio; 0.02, 0.05 and 0.1 were tried beside it: docs/log.md


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """Fitted to one pair.

    Attributes:
        factors: of each op class, of the time beside all ops, and of the fixed cost.
        shortest_seconds: the shortest step of training on the anchor: the fixed cost before its factor.
    """

    factors: Floats
    shortest_seconds: float

    def step_seconds(self, profiles: Profiles) -> Floats:
        """[row] of one step on the target; above 0."""
        found: Floats = _parts(profiles, self.shortest_seconds) @ self.factors
        return found


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
