"""PROFET as published: the median of a line, a forest and a network, from an op profile on an anchor.

Lee, Hur, Park and Lee 2022, "PROFET: Profiling-based CNN Training Latency Prophet for GPU Cloud Instances",
arXiv 2208.05130. The line sees the anchor's latency alone; forest and network see op times, summed by
clusters of their names. Trained on five repeats of each workload; the authors train on all nine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from orchestrator.predict.method import PredictedSteps
from orchestrator.predict.network import Network, fit_networks
from orchestrator.predict.op_clusters import OpClusters, clusters_of, seen_ops
from orchestrator.predict.pairs import Floats, Pair, Profiles, some_repeats
from orchestrator.predict.published import PROFILED_STEPS

PROFET = "profet"
_MICROSECONDS = 1e6
_SEED = 0
_MOST_REPEATS = 5  # nine cost twice as long; the median of them is too few steps for the network


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
    network: Network

    def predict(self, profiles: Profiles) -> Mapping[str, PredictedSteps]:
        """By `profet`, and by its three members alone."""
        features = _features(self.clusters, profiles)
        members = {
            "profet_linear": np.polyval(self.line, profiles.step_seconds),
            "profet_forest": self.forest.predict(features),
            "profet_network": self.network.predict(features),
        }
        found = {PROFET: np.median(list(members.values()), axis=0), **members}
        return {name: PredictedSteps(step_seconds=each / _MICROSECONDS) for name, each in found.items()}


def fit_profet(trainings: Sequence[Pair]) -> Sequence[Profet]:
    """One for each; their networks are trained together."""
    thinned = [some_repeats(each, most=_MOST_REPEATS) for each in trainings]
    clusters = [clusters_of(seen_ops(each.profiles)) for each in thinned]
    features = [_features(own, each.profiles) for own, each in zip(clusters, thinned, strict=True)]
    targets = [each.target_seconds * _MICROSECONDS for each in thinned]
    networks = fit_networks(features, targets, seed=_SEED)
    return [
        Profet(
            clusters=own,
            line=np.polyfit(training.profiles.step_seconds, target, 1),
            forest=RandomForestRegressor(random_state=_SEED).fit(feature, target),
            network=network,
        )
        for own, training, feature, target, network in zip(
            clusters, thinned, features, targets, networks, strict=True
        )
    ]


def _features(clusters: OpClusters, profiles: Profiles) -> Floats:
    """[row, cluster]. Never standardised: an op that training hardly had would then outweigh all others."""
    return clusters.sums(profiles) * _MICROSECONDS * PROFILED_STEPS
