"""Titles -> names for addresses and files, whatever the titles hold, and no two of them alike."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, count

_MOST_CHARACTERS = 60


def names_for(titles: Iterable[str]) -> Iterator[str]:
    """One name per title, of small letters, digits and dashes: `Time, cost` -> `time-cost`."""
    taken: set[str] = set()
    for title in titles:
        plain = "-".join(re.findall("[a-z0-9]+", title.lower()))[:_MOST_CHARACTERS].strip("-") or "untitled"
        wanted = chain([plain], (f"{plain}-{number}" for number in count(2)))
        name = next(each for each in wanted if each not in taken)
        taken.add(name)
        yield name
