"""Blocks of code and commands of the documentation."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from repository import ROOT

HISTORY = {"decisions", "findings"}  # they name commands of their day
PAGES = (
    ROOT / "README.md",
    ROOT / "deploy/README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not HISTORY & set(page.parts)),
)
_FENCE = re.compile(r"^(?:<!-- needs: ([^\n]*) -->\n)?```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WHOLE_PAGE = re.compile(r"^<!-- all blocks need: (.*) -->$", re.MULTILINE)
_INLINE = re.compile(r"`python -m orchestrator ([^`]+)`")
_TABLE = re.compile(r"^\| `python -m orchestrator \.\.\.` .*\n\|---.*\n((?:\|.*\n)+)", re.MULTILINE)
_ENDS = (">", ">>", "|", "&&", ";")
_PLACEHOLDERS = {"NAME": "smoke", "SWEEP": "smoke", "ID": "my-project", "$PROJECT": "my-project"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block.

    Attributes:
        needs: what a machine must have beyond this one; empty: nothing.
    """

    page: str
    language: str
    text: str
    needs: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines of a shell, those that continue joined, without comments."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return tuple(line for line in joined if line.strip() and not line.lstrip().startswith("#"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line of the orchestrator.

    Attributes:
        needs: as of its block.
    """

    page: str
    words: tuple[str, ...]
    needs: str


def blocks() -> Iterator[Block]:
    """Yield the blocks of all pages."""
    for page in PAGES:
        text = page.read_text()
        whole = _WHOLE_PAGE.search(text)
        for needs, language, body in _FENCE.findall(text):
            yield Block(
                page=_name(page), language=language, text=body, needs=needs or (whole[1] if whole else "")
            )


def lines() -> Iterator[Line]:
    """Yield the command lines in blocks, tables and sentences, with values for placeholders."""
    for block in blocks():
        if block.language == "bash":
            for text in block.lines:
                words = _words(text)
                if words[:3] == ["python", "-m", "orchestrator"]:
                    yield Line(page=block.page, words=tuple(words[3:]), needs=block.needs)
    for page in PAGES:
        text = page.read_text()
        rows = (row for table in _TABLE.findall(text) for row in table.splitlines())
        named = [match for row in rows for match in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
        for words in map(_words, (*_INLINE.findall(text), *named)):
            if "..." not in words and not any("…" in word for word in words):
                yield Line(page=_name(page), words=tuple(words), needs="")


def _words(text: str) -> list[str]:
    words = shlex.split(text, comments=True)
    end = min((words.index(mark) for mark in _ENDS if mark in words), default=len(words))
    return [_filled(word) for word in words[:end] if word != "$WORDS"]  # tests/cli/cluster has these


def _filled(word: str) -> str:
    key, equals, value = word.partition("=")
    return f"{key}{equals}{_PLACEHOLDERS.get(value, value)}" if equals else word


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))
