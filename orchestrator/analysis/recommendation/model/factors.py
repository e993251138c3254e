"""(settings of a job) -> their factors as numbers: categories as indicators, counts on a log scale. Pure.

The factors are the axes of the sweep, as the words of each setting name them: device, trainer, precision,
batch size, number of workers, and options of trainers.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np

from orchestrator.analysis.recommendation.model.candidate import CandidateSetting
from orchestrator.analysis.recommendation.model.posterior import FloatArray

_COUNTS = ("global_batch_size", "num_workers", "num_hosts")
_NOT_OF_A_SETTING = ("workload", "data", "script", "measure", "steps", "seed")


def find_factors(candidate: CandidateSetting) -> Mapping[str, str]:
    """Return the value of every factor of a setting by its key."""
    return _factors_of_words(candidate.words)


@lru_cache(maxsize=1 << 17)
def _factors_of_words(words: tuple[str, ...]) -> Mapping[str, str]:
    pairs = (word.partition("=") for word in words)
    return {key: value for key, _, value in pairs if value and key.partition(".")[0] not in _NOT_OF_A_SETTING}


def has_new_level(candidate: CandidateSetting, shown: AbstractSet[tuple[str, str]]) -> bool:
    """Check whether a setting has a level of a category that is not among these; its effect is unknown."""
    return any(pair not in shown for pair in find_factors(candidate).items() if pair[0] not in _COUNTS)


def compute_features(candidates: Sequence[CandidateSetting]) -> FloatArray:
    """Compute [setting, feature].

    Two levels of a category are 1 apart. A count spans 1 from its least to its greatest logarithm, so that
    every factor weighs alike. A factor that does not vary has no feature. The array must not be changed.
    """
    return _features_of_words(tuple(candidate.words for candidate in candidates))


@lru_cache(maxsize=16)
def _features_of_words(words: tuple[tuple[str, ...], ...]) -> FloatArray:
    settings = list(map(_factors_of_words, words))
    columns = [
        column
        for key in dict.fromkeys(key for setting in settings for key in setting)
        for column in _columns(key, [setting.get(key, "") for setting in settings])
    ]
    return np.array(columns).T if columns else np.zeros((len(words), 1))


def num_levels(candidates: Sequence[CandidateSetting]) -> int:
    """Count the settings that show the effect of every factor alone: one, and one more for every level."""
    return _num_levels_of_words(tuple(candidate.words for candidate in candidates))


@lru_cache(maxsize=16)
def _num_levels_of_words(words: tuple[tuple[str, ...], ...]) -> int:
    settings = list(map(_factors_of_words, words))
    keys = dict.fromkeys(key for setting in settings for key in setting)
    levels = {key: len({setting.get(key, "") for setting in settings}) for key in keys}
    return 1 + sum(
        min(1, levels[key] - 1) if _is_count(key, [one.get(key, "") for one in settings]) else levels[key] - 1
        for key in keys
    )


def _is_count(key: str, values: Sequence[str]) -> bool:
    return key in _COUNTS and all(value.isdecimal() and int(value) for value in values)


def _columns(key: str, values: Sequence[str]) -> list[FloatArray]:
    levels = list(dict.fromkeys(values))
    if len(levels) < 2:
        return []
    if _is_count(key, values):
        logs = np.log([float(value) for value in values])
        scaled: FloatArray = (logs - logs.min()) / (logs.max() - logs.min())
        return [scaled]
    return [np.array([value == level for value in values]) / math.sqrt(2) for level in levels]
