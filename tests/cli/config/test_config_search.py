"""`search=…` on a command line: defaults, values, and one line for what cannot be."""

from pathlib import Path

import pytest

from orchestrator.config.loader import load
from orchestrator.core.errors import ConfigError
from orchestrator.core.search import GRID, Search

SWEEP = ("+sweep=smoke", "sweep.repeats=2")


def build_search(*words, folder: Path):
    settings = load([*SWEEP, *words], working_directory=folder)
    return settings.search, settings.sweep.repeats


def test_a_sweep_without_a_search_config_is_a_grid(tmp_path):
    assert build_search(folder=tmp_path) == (GRID, 2)


def test_an_adaptive_search_may_repeat_each_point(tmp_path):
    words = ("search=adaptive", "search.confidence=0.9", "search.tolerance=0.1", "search.repeats=3")
    wanted = Search(name="adaptive", confidence=0.9, tolerance=0.1, repeats=3)
    assert build_search(*words, folder=tmp_path) == (wanted, 3)
    assert build_search("search=adaptive", "sweep.repeats=7", folder=tmp_path)[1] == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search=fast",), "unknown search 'fast'; known: adaptive, grid"),
        (("search.confidence=1",), "search.confidence=1.0 must lie between 0 and 1, as 0.95"),
        (("search.tolerance=0",), "search.tolerance=0.0 must be above 0 and at most 1, as 0.05"),
        (("search.repeats=0",), "search.repeats=0 must be a whole number from 1 to 100"),
        (("search.confidence=high",), "search.confidence='high' must be a number"),
        (("search.confidence=nan",), "search.confidence=nan"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, said, tmp_path):
    with pytest.raises(ConfigError) as refused:
        build_search(*words, folder=tmp_path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
