"""Names for addresses and files."""

import re

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.report.figures import names_for


def test_a_title_is_a_name_of_small_letters_and_dashes():
    assert list(names_for(["Time, cost and quality", "Measured"])) == ["time-cost-and-quality", "measured"]


def test_titles_that_would_be_named_alike_are_numbered():
    assert list(names_for(["A b", "a-b", "a b 2", "A,b"])) == ["a-b", "a-b-2", "a-b-2-2", "a-b-3"]


@given(st.lists(st.text(), max_size=8))
def test_anchors_of_any_titles_are_plain_and_distinct(titles):
    names = list(names_for(titles))
    assert len(set(names)) == len(titles)
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
