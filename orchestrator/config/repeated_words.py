"""Words of a command line that a later command about the same sweep repeats. Pure."""

from collections.abc import Iterable
from dataclasses import fields

from orchestrator.config.places import PRIMARY_NAME, SEARCH_PATH
from orchestrator.config.workload_overrides import VARIABLES
from orchestrator.core.objective import Objective
from orchestrator.core.settings import TrainerSettings

_GROUPS = ("executor", "cluster", "pools", "tracking", "record", "retry", "checkpoint", "prices", "budget")
_QUESTION = tuple(f"report.{field_.name}" for field_ in fields(Objective))
_KEYS = (
    "outputs",
    "data_folder",
    *_QUESTION,
    SEARCH_PATH,
    PRIMARY_NAME,
    *VARIABLES,
    *(f"trainer.{field_.name}" for field_ in fields(TrainerSettings)),
)


def repeated_words(overrides: Iterable[str]) -> tuple[str, ...]:
    """Return the words with the places of trials, code and records, the question, and the caps.

    Words that choose the measured points are not among them.
    """
    return tuple(word for word in overrides if _is_repeated(word.lstrip("+").partition("=")[0]))


def _is_repeated(key: str) -> bool:
    return key.partition(".")[0] in _GROUPS or key in _KEYS
