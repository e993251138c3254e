"""A step on the target as a sum of op times on the anchor and of counts of the step, each with a factor."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from orchestrator.extensions.profile_transfer.models.op_classes import class_seconds
from orchestrator.extensions.profile_transfer.models.pairs import Floats, Pair, Profiles

_PULL = 0.03
"""Weight of the pull towards the middle ratio, and of counts towards nothing.

0.02, 0.05 and 0.1 were tried beside it: docs/findings/prediction.md.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition:
    """Fitted to one pair.

    Attributes:
        factors: [part] weights of every op class, of the time outside ops, of the fixed cost, and of counts.
        shortest_seconds: the shortest step of training on the anchor: the fixed cost before its factor.
        count_seconds: [count] anchor's seconds per unit in the middle of training; empty without counts.
    """

    factors: Floats
    shortest_seconds: float
    count_seconds: Floats

    def step_seconds(self, profiles: Profiles) -> Floats:
        """[row] of one step on the target; above 0."""
        seconds: Floats = _parts(profiles, self.shortest_seconds, self.count_seconds) @ self.factors
        return seconds


def fit_composition(training: Pair, *, is_counted: bool) -> Composition:
    """Non-negative least squares of relative errors: Lawson and Hanson 1974."""
    profiles, target = training.profiles, training.target_seconds
    shortest = float(profiles.step_seconds.min())
    per_unit = np.empty(0)
    if is_counted:
        per_unit = np.median(profiles.step_seconds[:, None] / profiles.counts, axis=0)
    parts = _parts(profiles, shortest, per_unit)
    ratio = float(np.exp(np.median(np.log(target / profiles.step_seconds))))
    weight = _PULL * np.sqrt(len(target))
    num_parts = parts.shape[1]
    pulls = np.where(np.arange(num_parts) < num_parts - len(per_unit), weight, 0.0)
    rows = np.vstack((parts / target[:, None], np.eye(num_parts) * weight / ratio))
    factors, _ = nnls(rows, np.concatenate((np.ones(len(target)), pulls)))
    return Composition(factors=factors, shortest_seconds=shortest, count_seconds=per_unit)


def _parts(profiles: Profiles, shortest_seconds: float, count_seconds: Floats) -> Floats:
    """[row, part] seconds on the anchor."""
    classes = class_seconds(profiles)
    beside = np.maximum(profiles.step_seconds - classes.sum(axis=1), 0.0)
    fixed = np.full(len(beside), shortest_seconds)
    counted = profiles.counts[:, : len(count_seconds)] * count_seconds
    return np.column_stack((classes, beside, fixed, counted))
