"""Condensed profiles: their classes, and that the ensemble learns the same from them."""

import pytest
from condense_profiles import REPRESENTATIVES, reduce_profiles
from latency_builders import FAST, SLOW, both_ways

from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.models.ensemble import fit_blend
from orchestrator.extensions.profile_transfer.models.op_classes import OP_CLASSES, find_op_class
from orchestrator.extensions.profile_transfer.models.pairs import build_pair


def test_a_condensed_table_teaches_the_same(tmp_path):
    whole = both_ways(tmp_path)
    text = reduce_profiles(whole, names={SLOW: "slow", FAST: "fast"})
    (tmp_path / "condensed.csv").write_text(text)
    small = read_latencies(tmp_path / "condensed.csv")
    assert small.devices == ("fast", "slow")
    assert len(small.rows) == len(whole.rows) / 2, "one row for both repeats"
    (one,) = fit_blend([build_pair(whole, anchor=SLOW, target=FAST)])
    (other,) = fit_blend([build_pair(small, anchor="slow", target="fast")])
    asked = build_pair(whole, anchor=SLOW, target=FAST).profiles
    found, expected = (value.predict(asked)["orchestrator"] for value in (other, one))
    assert found.step_seconds == pytest.approx(expected.step_seconds, rel=0.01)
    assert found.high == pytest.approx(expected.high, rel=0.05)


def test_a_class_is_condensed_under_the_name_of_an_op_of_its_own():
    assert set(REPRESENTATIVES) == set(OP_CLASSES)
    assert all(find_op_class(op) == name for name, op in REPRESENTATIVES.items())
