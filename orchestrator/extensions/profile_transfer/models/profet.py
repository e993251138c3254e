"""PROFET as published: the median of a line, a forest and a network, from an op profile on an anchor.

Lee, Hur, Park and Lee 2022, "PROFET: Profiling-based CNN Training Latency Prophet for GPU Cloud Instances",
arXiv 2208.05130. The line sees the anchor's latency alone; forest and network see op times, summed by
clusters of their names. The network is trained on five repeats of each workload, and the forest on two; the
authors train on all nine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.ensemble import RandomForestRegressor

from orchestrator.extensions.profile_transfer.latency_data.published import PROFILED_STEPS
from orchestrator.extensions.profile_transfer.latency_data.table import DEVICE_OP
from orchestrator.extensions.profile_transfer.models.pairs import Floats, Pair, Profiles, some_repeats
from orchestrator.extensions.profile_transfer.models.predictor import PredictedSteps
from orchestrator.extensions.profile_transfer.models.profet_network import ProfetNetwork, fit_networks

_CUT = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpClusters:
    """Clusters of op names, frozen with the model that was trained on them."""

    clusters: tuple[tuple[str, ...], ...]

    def sums(self, profiles: Profiles) -> Floats:
        """[row, cluster] seconds of one step; an op that is like none of the clusters is left out."""
        places = [self.find_place(op) for op in profiles.ops]
        sums = np.zeros((len(profiles.step_seconds), len(self.clusters)))
        for column, place in enumerate(places):
            if place is not None:
                sums[:, place] += profiles.op_seconds[:, column]
        return sums

    def find_place(self, op: str) -> int | None:
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


def build_clusters(ops: Sequence[str]) -> OpClusters:
    """Device ops by their names, host ops each for itself; the order of `ops` does not matter."""
    device = sorted(op for op in ops if op.startswith(DEVICE_OP))
    host = sorted(op for op in ops if not op.startswith(DEVICE_OP))
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
        for column, character in enumerate(other, start=1):
            replaced = above[column - 1] + (letter != character)
            current.append(min(above[column] + 1, current[-1] + 1, replaced))
        above = current
    return above[-1]


def _labels(names: Sequence[str]) -> list[int]:
    if len(names) < 2:
        return [1] * len(names)
    distances = np.array([[edit_distance(one, other) for other in names] for one in names], dtype=float)
    tree = linkage(squareform(distances), method="average")
    return [int(label) for label in fcluster(tree, t=_CUT, criterion="distance")]


PROFET = "profet"
_MICROSECONDS = 1e6
_SEED = 0
_NETWORK_REPEATS = 5  # the median of them is too few steps; nine cost twice as long
_FOREST_REPEATS = 2  # two thirds of all time are the forest's, and five make it no better


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profet:
    """Fitted to one pair. Its members predict microseconds, from microseconds of two steps: as published.

    Attributes:
        line: slope and intercept of microseconds by the anchor's seconds.
        forest: scikit-learn's, with its default settings.
    """

    clusters: OpClusters
    line: Floats
    forest: Any
    network: ProfetNetwork

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """Predict with `profet` and with each of its three members."""
        features = _features(self.clusters, profiles)
        members = {
            "profet_linear": np.polyval(self.line, profiles.step_seconds),
            "profet_forest": self.forest.predict(features),
            "profet_network": self.network.predict(features),
        }
        predictions = {PROFET: np.median(list(members.values()), axis=0), **members}
        return {
            name: PredictedSteps(step_seconds=times / _MICROSECONDS) for name, times in predictions.items()
        }


def fit_profet(trainings: Sequence[Pair]) -> Sequence[Profet]:
    """One for each; their networks are trained together."""
    thinned = [some_repeats(training, most=_NETWORK_REPEATS) for training in trainings]
    clusters = [build_clusters(seen_ops(pair.profiles)) for pair in thinned]
    features = [_features(own, profiles.profiles) for own, profiles in zip(clusters, thinned, strict=True)]
    targets = [pair.target_seconds * _MICROSECONDS for pair in thinned]
    networks = fit_networks(features, targets, seed=_SEED)
    return [
        Profet(
            clusters=own,
            line=np.polyfit(training.profiles.step_seconds, target, 1),
            forest=_build_forest(training, own),
            network=network,
        )
        for own, training, target, network in zip(clusters, thinned, targets, networks, strict=True)
    ]


def _build_forest(training: Pair, clusters: OpClusters) -> RandomForestRegressor:
    few = some_repeats(training, most=_FOREST_REPEATS)
    forest = RandomForestRegressor(random_state=_SEED)
    return forest.fit(_features(clusters, few.profiles), few.target_seconds * _MICROSECONDS)


def _features(clusters: OpClusters, profiles: Profiles) -> Floats:
    """[row, cluster]. Never standardised: an op that training hardly had would then outweigh all others."""
    return clusters.sums(profiles) * _MICROSECONDS * PROFILED_STEPS
