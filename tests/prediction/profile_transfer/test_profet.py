"""The published method: clusters of op names, the network, the median of three, the scalers."""

import numpy as np
import pytest
from latency_builders import SLOW, both_ways, known_pair

from orchestrator.extensions.profile_transfer.models.network_counts import COUNTS
from orchestrator.extensions.profile_transfer.models.pairs import Profiles
from orchestrator.extensions.profile_transfer.models.profet import (
    build_clusters,
    edit_distance,
    fit_profet,
    seen_ops,
)
from orchestrator.extensions.profile_transfer.models.profet_network import ProfetNetwork, fit_networks
from orchestrator.extensions.profile_transfer.models.scalers import (
    Curve,
    build_curves,
    fit_scaler,
    held_out_errors,
)

OPS = ("Device_Conv2D", "Device_Conv2DBackpropFilter", "Device_Conv2DBackpropInput", "Host_IDLE")


def profiles(ops, rows):
    seconds = np.array(rows, dtype=float)
    counts = np.full((len(rows), len(COUNTS)), np.nan)
    return Profiles(ops=tuple(ops), op_seconds=seconds, step_seconds=seconds.sum(axis=1), counts=counts)


def flat(clusters):
    return {frozenset(cluster) for cluster in clusters.clusters}


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "abc", 3), ("kitten", "sitting", 3), ("Relu", "Relu6", 1), ("Conv2D", "Conv2D", 0)],
)
def test_an_edit_distance_counts_letters_to_change(one, other, distance):
    assert edit_distance(one, other) == edit_distance(other, one) == distance


def test_ops_of_like_names_share_a_cluster_and_host_ops_stand_alone():
    found = build_clusters(("Host_Relu", *OPS, "Device_FusedBatchNormV3", "Device_FusedBatchNormGradV3"))
    assert flat(found) == {
        frozenset({"Device_Conv2D"}),
        frozenset({"Device_Conv2DBackpropFilter", "Device_Conv2DBackpropInput"}),
        frozenset({"Device_FusedBatchNormV3", "Device_FusedBatchNormGradV3"}),
        frozenset({"Host_Relu"}),
        frozenset({"Host_IDLE"}),
    }


def test_clusters_do_not_mind_the_order_of_ops():
    assert build_clusters(OPS) == build_clusters(OPS[::-1])


def test_an_op_that_was_never_seen_goes_to_the_cluster_it_is_most_like():
    clusters = build_clusters(OPS)
    (sums,) = clusters.sums(
        profiles(("Device_Conv3DBackpropInput", "Device_ResourceApplyMomentum", "Host_Dataset"), [(3, 5, 7)])
    )
    place = clusters.find_place("Device_Conv2DBackpropInput")
    assert sums[place] == 3, "an op like a known one"
    assert sums.sum() == 3, "neither one that is like none, nor a host op that is unknown"


def test_ops_that_took_no_time_were_not_seen():
    assert seen_ops(profiles(OPS, [(1, 0, 0, 2), (1, 0, 3, 2)])) == [OPS[0], OPS[2], OPS[3]]


def test_a_network_computes_the_output_of_its_weights():
    one = np.ones((1, 1), dtype=np.float32)
    kernels, biases = (2 * one, -3 * one), (one, 4 * one)
    network = ProfetNetwork(kernels=kernels, biases=biases)
    assert network.predict(np.array([[1.0], [-5.0]])).tolist() == [4 - 3 * 3, 4]


def test_networks_learn_side_by_side_what_a_sum_is():
    random = np.random.default_rng(1)
    features = random.uniform(100, 1000, (48, 3))
    targets = features @ np.array([1.0, 2.0, 3.0])
    first, second = fit_networks([features, features[:30, :2]], [targets, targets[:30]], seed=0)
    errors = np.abs(first.predict(features) / targets - 1)
    assert errors.mean() < 0.1
    assert second.kernels[0].shape == (2, 128)


def test_networks_of_one_seed_are_equal():
    features, targets = np.eye(4) * 100 + 10, np.array([10.0, 20.0, 30.0, 40.0])
    one, other = (fit_networks([features], [targets], seed=3)[0] for _ in range(2))
    assert np.array_equal(one.predict(features), other.predict(features))


def test_profet_is_the_median_of_its_three_members(tmp_path):
    pair = known_pair(tmp_path)
    (fitted,) = fit_profet([pair])
    found = {name: each.step_seconds for name, each in fitted.predict(pair.profiles).items()}
    members = [found[f"profet_{name}"] for name in ("linear", "forest", "network")]
    assert np.array_equal(found["profet"], np.median(members, axis=0))
    assert np.abs(found["profet"] / pair.target_seconds - 1).mean() < 0.1, "of what it was trained on"


def curve(model, factor, offset=0.0):
    sizes = np.array([16.0, 32.0, 64.0])
    return Curve(model=model, sizes=sizes, step_seconds=offset + factor * sizes**2)


def test_a_scaler_finds_the_middle_of_a_parabola_between_its_ends():
    scaler = fit_scaler([curve("one", 1.0), curve("other", 3.0)])
    found = scaler.step_seconds(np.array([32.0]), at_smallest=5 + 2 * 16**2, at_largest=5 + 2 * 64**2)
    assert found == pytest.approx(5 + 2 * 32**2)


def test_a_scaler_is_tested_on_models_that_it_did_not_see():
    bent = Curve(model="bent", sizes=np.array([16.0, 32.0, 64.0]), step_seconds=np.array([1.0, 4.0, 4.0]))
    straight = [curve("one", 1.0), curve("other", 3.0)]
    assert np.allclose(held_out_errors(straight), 0)
    assert held_out_errors([*straight, bent]).max() > 0.1
    assert held_out_errors(straight[:1]).size == 0


def test_curves_need_a_point_between_their_ends(tmp_path):
    table = both_ways(tmp_path)
    assert list(build_curves(table, device=SLOW, axis="image_size")) == [], "two sizes are two ends"
