"""Which models a test holds out of training: one, or all that are built alike. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator.predict.pairs import Pair

BY_MODEL = "leave_one_model_out"
BY_FAMILY = "leave_one_family_out"
SPLITS = (BY_MODEL, BY_FAMILY)
"""By model it is flattered by siblings: VGG16 is trained on when VGG19 is asked for. By family it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is tested, and by whom.

    Attributes:
        tested: models whose rows are predicted.
        held_out: models that training does not see; holds `tested`.
    """

    tested: frozenset[str]
    held_out: frozenset[str]


def folds_of(pair: Pair) -> Mapping[str, tuple[Fold, ...]]:
    """Split -> folds that test each model once. A split that leaves nothing to train on has none."""
    members = members_of(pair)
    models = tuple(frozenset({model}) for names in members.values() for model in names)
    families = tuple(members.values())
    return {
        split: tuple(Fold(tested=each, held_out=each) for each in held_out) if len(held_out) > 1 else ()
        for split, held_out in ((BY_MODEL, models), (BY_FAMILY, families))
    }


def members_of(pair: Pair) -> Mapping[str, frozenset[str]]:
    """Family -> its models, in alphabetical order of the families."""
    return {
        str(family): frozenset(pair.models[pair.families == family].tolist())
        for family in np.unique(pair.families)
    }
