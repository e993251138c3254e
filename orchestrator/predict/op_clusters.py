"""Op names -> clusters of similar names, so that an op that was never seen finds a place.

PROFET (arXiv 2208.05130): Levenshtein distances of the names, average linkage, cut at a distance of 6. Times
of a cluster are summed. Names of host ops stand for themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from orchestrator.predict.latency import DEVICE_OP
from orchestrator.predict.pairs import Floats, Profiles

_CUT = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpClusters:
    """Clusters of op names, frozen with the model that was trained on them."""

    clusters: tuple[tuple[str, ...], ...]

    def sums(self, profiles: Profiles) -> Floats:
        """[row, cluster] seconds of one step; an op that is like none of the clusters is left out."""
        places = [self.place_of(op) for op in profiles.ops]
        sums = np.zeros((len(profiles.step_seconds), len(self.clusters)))
        for column, place in enumerate(places):
            if place is not None:
                sums[:, place] += profiles.op_seconds[:, column]
        return sums

    def place_of(self, op: str) -> int | None:
        """The cluster that holds the op, or the one that is nearest to it on average and within the cut."""
        for place, names in enumerate(self.clusters):
            if op in names:
                return place
        if not op.startswith(DEVICE_OP):
            return None
        away = {
            place: float(np.mean([edit_distance(op, name) for name in names]))
            for place, names in enumerate(self.clusters)
            if names[0].startswith(DEVICE_OP)
        }
        nearest = min(away, key=away.__getitem__, default=None)
        return nearest if nearest is not None and away[nearest] <= _CUT else None


def clusters_of(ops: Sequence[str]) -> OpClusters:
    """Device ops by their names, host ops each for itself; the order of `ops` does not matter."""
    device = sorted(each for each in ops if each.startswith(DEVICE_OP))
    host = sorted(each for each in ops if not each.startswith(DEVICE_OP))
    labels = _labels(device)
    together: dict[int, list[str]] = {}
    for name, label in zip(device, labels, strict=True):
        together.setdefault(label, []).append(name)
    return OpClusters(clusters=(*map(tuple, together.values()), *((name,) for name in host)))


def seen_ops(profiles: Profiles) -> list[str]:
    """Ops that took any time."""
    longest = profiles.op_seconds.max(axis=0)
    return [op for op, seconds in zip(profiles.ops, longest, strict=True) if seconds > 0]


@cache
def edit_distance(one: str, other: str) -> int:
    """Levenshtein 1966: fewest insertions, deletions and replacements of a letter from one to the other."""
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, found in enumerate(other, start=1):
            replaced = above[column - 1] + (letter != found)
            current.append(min(above[column] + 1, current[-1] + 1, replaced))
        above = current
    return above[-1]


def _labels(names: Sequence[str]) -> list[int]:
    if len(names) < 2:
        return [1] * len(names)
    distances = np.array([[edit_distance(one, other) for other in names] for one in names], dtype=float)
    tree = linkage(squareform(distances), method="average")
    return [int(label) for label in fcluster(tree, t=_CUT, criterion="distance")]
