"""Text written by others, as a terminal receives it."""

import pytest

from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.printable import MOST_CHARACTERS, one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("as it is, é ³", "as it is, é ³"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[2J\x9b\x7f", r"\x1b[2J\x9b\x7f"),
        ("\ud800 \u202e", r"\ud800 \u202e"),
    ],
)
def test_what_cannot_be_shown_is_escaped(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_lines_of_a_text_of_several_are_left() -> None:
    assert printable("a\n\x1b[2Jb\n") == "a\n\\x1b[2Jb\n"


def test_a_long_text_keeps_its_ends() -> None:
    cut = one_line("a" * 10_000_000 + "z")
    assert (len(cut), cut[0], cut[-1]) == (MOST_CHARACTERS + 3, "a", "z")


def test_an_error_with_any_text_is_one_line() -> None:
    assert str(ConfigError("steps='a\n\x1b[2Jb' is not a number")) == r"steps='a\n\x1b[2Jb' is not a number"
    assert len(str(UnknownNameError("key", "x" * 10_000, known=()))) == MOST_CHARACTERS + 3
