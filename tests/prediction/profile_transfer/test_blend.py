"""Our own predictor in a small world of known make: intervals, a range, and what it must not mind."""

from dataclasses import replace

import numpy as np
import pytest
from latency_builders import FAST, SLOW, both_ways, known_pair

from orchestrator.core.errors import UnknownNameError
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.profile_transfer.models.ensemble import fit_blend
from orchestrator.extensions.profile_transfer.models.network_counts import COUNTS
from orchestrator.extensions.profile_transfer.models.pairs import Profiles, joined, middle_of_repeats
from orchestrator.extensions.profile_transfer.models.transfer import transferred


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return middle_of_repeats(known_pair(tmp_path_factory.mktemp("world")))


def only(pair, *models):
    return pair[np.isin(pair.models, models)]


def test_a_model_that_was_not_seen_is_predicted_within_its_interval(pair):
    for model in ("VGG16", "ResNet18"):
        (fitted,) = fit_blend([pair.without(frozenset({model}))])
        test = only(pair, model)
        found = fitted.predict(test.profiles)["orchestrator"]
        assert np.abs(found.step_seconds / test.target_seconds - 1).max() < 0.15
        assert np.all((found.low <= test.target_seconds) & (test.target_seconds <= found.high))
        assert found.in_range.all()


def test_a_blend_is_the_geometric_mean_of_its_members_and_lists_them(pair):
    (fitted,) = fit_blend([pair])
    found = {name: each.step_seconds for name, each in fitted.predict(pair.profiles).items()}
    members = [found.pop(f"orchestrator_{name}") for name in ("trees", "composition", "process")]
    assert list(found) == ["orchestrator"]
    assert found["orchestrator"] == pytest.approx(np.exp(np.mean(np.log(members), axis=0)))


def test_a_profile_like_none_of_training_is_out_of_range(pair):
    (fitted,) = fit_blend([pair])
    strange = Profiles(
        ops=("Device_MaxPool",),
        op_seconds=np.array([[9.0]]),
        step_seconds=np.array([30.0]),
        counts=np.full((1, len(COUNTS)), np.nan),
    )
    found = fitted.predict(strange)["orchestrator"]
    assert not found.in_range.any()
    known = fitted.predict(pair.profiles)["orchestrator"]
    assert (found.high / found.low).min() > np.median(known.high / known.low)


def test_intervals_hold_nine_in_ten_of_a_family_that_was_not_seen(pair):
    held = []
    for family in np.unique(pair.families):
        (fitted,) = fit_blend([pair[pair.families != family]])
        test = pair[pair.families == family]
        found = fitted.predict(test.profiles)["orchestrator"]
        held += ((found.low <= test.target_seconds) & (test.target_seconds <= found.high)).tolist()
    assert np.mean(held) > 0.75


def test_a_blend_of_a_single_model_has_an_unbounded_interval(pair):
    (fitted,) = fit_blend([only(pair, "VGG16")])
    found = fitted.predict(pair.profiles)["orchestrator"]
    assert not found.in_range.any()
    assert (found.low.max(), found.high.min()) == (0, np.inf)


def test_fitting_parts_side_by_side_is_fitting_each_alone(pair):
    parts = [pair.without(frozenset({name})) for name in ("VGG16", "LeNet5")]
    together = fit_blend(parts)
    for part, one in zip(parts, together, strict=True):
        (alone,) = fit_blend([part])
        assert alone.counted().quantile == one.counted().quantile
        found, expected = (value.predict(pair.profiles)["orchestrator"] for value in (one, alone))
        assert np.array_equal(found.step_seconds, expected.step_seconds)


def test_neither_the_order_of_rows_nor_repeats_matter(pair):
    order = np.random.default_rng(0).permutation(len(pair.models))
    twice = joined([pair, pair])
    (one,), (shuffled,), (doubled,) = (fit_blend([value]) for value in (pair, pair[order], twice))
    for other in (shuffled, doubled):
        found, expected = (value.predict(pair.profiles)["orchestrator"] for value in (other, one))
        assert found.step_seconds == pytest.approx(expected.step_seconds)


def test_a_profile_is_carried_to_every_other_device_or_refused(tmp_path):
    table = both_ways(tmp_path)
    own = table.rows["model"].isin(["VGG16"]) & (table.rows["device"] == SLOW)
    mine = replace(table, rows=table.rows[own], op_seconds=table.op_seconds[own[table.op_seconds.index]])
    found = list(transferred(mine, table))
    assert {(item.anchor, item.target) for item in found} == {(SLOW, FAST)}
    assert found[0].workload == "VGG16, batch 16, 32 pixels"
    assert found[0].step.low < found[0].measured_seconds
    renamed = mine.rows.assign(model="Mine")  # a network of which no counts are known
    sources = [
        {
            transfer.step.source
            for transfer in transferred(replace(mine, rows=rows), table)
            if isinstance(transfer.step, Estimate)
        }
        for rows in (mine.rows, renamed)
    ]
    assert sources == [
        {"its profile, its counted operations and bytes, and 6 models measured on both"},
        {"its profile, no counts because its network is not known, and 6 models measured on both"},
    ]
    for rows in (mine.rows, renamed):
        strange = replace(mine, rows=rows, op_seconds=mine.op_seconds * [0, 0, 0, 1, 0])
        assert all(isinstance(transfer.step, Refusal) for transfer in transferred(strange, table))


def test_a_device_without_profiles_is_no_anchor(tmp_path):
    table = both_ways(tmp_path)
    unknown = replace(table, rows=table.rows.assign(device="h100"))
    with pytest.raises(UnknownNameError, match="unknown anchor device 'h100'"):
        list(transferred(unknown, table))
