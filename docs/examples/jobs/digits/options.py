"""Knobs of both jobs; each may be an axis of a sweep."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """Size of the hidden layer, and the learning rate of AdamW."""

    units: int = 64
    learning_rate: float = 3e-3
