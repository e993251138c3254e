"""The search of a sweep's last run: a report names it, and does not take it over."""

from pathlib import Path

import pytest

from orchestrator.config.loader import load
from orchestrator.core.codec import to_json
from orchestrator.core.search import Search, SearchProgress
from orchestrator.pipeline.search_progress import FILE_NAME, other_search


@pytest.mark.parametrize(
    ("words", "other"),
    [
        ((), ("search=adaptive", "search.repeats=2")),
        (("search=grid",), ()),
        (("search=adaptive",), ()),
        (("search.confidence=0.9",), ()),
    ],
)
def test_the_words_of_the_last_search_are_named_unless_the_command_names_one(
    words: tuple[str, ...], other: tuple[str, ...], tmp_path: Path
) -> None:
    settings = load(["+sweep=smoke", *words], working_directory=tmp_path)
    assert other_search(settings) == ()
    file = tmp_path / "outputs/smoke" / FILE_NAME
    file.parent.mkdir(parents=True)
    file.write_text(to_json(SearchProgress(search=Search(name="adaptive", repeats=2), jobs=())))
    assert other_search(settings) == other
    assert settings.search.is_adaptive == ("search=adaptive" in words)
