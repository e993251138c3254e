"""A latency table -> how well each method predicts what it never saw, side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.core.errors import ConfigError
from orchestrator.core.interval import Spread
from orchestrator.predict.evaluation.held_out import SPLITS, HeldOut, held_out_predictions, with_intervals
from orchestrator.predict.evaluation.scores import (
    RankAccuracy,
    Score,
    coverage_by_family,
    difference_over_models,
    rank_accuracy,
    rows_of,
    score_of,
)
from orchestrator.predict.latency_data.table import LatencyTable
from orchestrator.predict.profile_transfer.ensemble import ORCHESTRATOR, fit_blend
from orchestrator.predict.profile_transfer.pairs import pairs_of
from orchestrator.predict.profile_transfer.predictor import Fit, fit_log_quadratic, fit_ratio
from orchestrator.predict.profile_transfer.profet import PROFET, fit_profet
from orchestrator.predict.profile_transfer.scalers import AXES, curves_of, held_out_errors

METHODS: tuple[Fit, ...] = (fit_blend, fit_profet, fit_ratio, fit_log_quadratic)
_OF_METHODS = (f"{ORCHESTRATOR}_", f"{PROFET}_")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScore:
    """One method under one split.

    Attributes:
        is_member: True for a member of an ensemble.
        pairs: (anchor, target) -> mean error of the rows of that pair.
        families: family -> share of its measurements inside their intervals.
        fastest, cheapest: fraction of cases with the right device; None without a ranking.
    """

    method: str
    split: str
    is_member: bool
    score: Score
    pairs: Mapping[tuple[str, str], float]
    families: Mapping[str, float]
    fastest: RankAccuracy | None
    cheapest: RankAccuracy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictorEvaluation:
    """Evaluation of every predictor on one latency table.

    Attributes:
        models: family -> models of the table.
        standings: our own method and the published one first.
        differences: split -> mean error of our method less that of PROFET, with a 95% interval over models.
        scalers: (axis, device) -> mean error of PROFET's scaler between measured ends, and how many points.
    """

    source: str
    devices: tuple[str, ...]
    models: Mapping[str, tuple[str, ...]]
    standings: tuple[MethodScore, ...]
    differences: Mapping[str, Spread]
    scalers: Mapping[tuple[str, str], tuple[float, int]]


def evaluate(table: LatencyTable, *, tell: Callable[[str], None]) -> PredictorEvaluation:
    """Predict every row of every pair of devices by predictors that saw nothing of its model, or family.

    Args:
        tell: receives a progress line per pair, because the evaluation takes minutes.

    Raises:
        ConfigError: a table that nothing can be held out of.
    """
    held_out: list[HeldOut] = []
    pairs = pairs_of(table)
    for number, pair in enumerate(pairs, start=1):
        tell(f"{number} of {len(pairs)}: {pair.anchor} -> {pair.target}, {len(pair.models):,} measurements")
        for fit in METHODS:
            held_out += map(with_intervals, held_out_predictions(pair, fit))
    if not held_out:
        raise ConfigError(f"{table.source}: one model alone; to hold one out, two are needed")
    return PredictorEvaluation(
        source=table.source,
        devices=table.devices,
        models=_models_of(table),
        standings=_standings_of(held_out, table),
        differences={split: _difference(held_out, split) for split in SPLITS if _of(held_out, PROFET, split)},
        scalers=_scalers_of(table),
    )


def _of(held_out: Sequence[HeldOut], method: str, split: str) -> list[HeldOut]:
    return [out for out in held_out if (out.method, out.split) == (method, split)]


def _standings_of(held_out: Sequence[HeldOut], table: LatencyTable) -> tuple[MethodScore, ...]:
    keys = dict.fromkeys((out.method, out.split) for out in held_out)
    order = sorted(keys, key=lambda key: SPLITS.index(key[1]))
    prices = {device: usd for device in table.devices if (usd := table.usd_per_hour(device)) is not None}
    return tuple(_standing_of(_of(held_out, *key), prices=prices) for key in order)


def _standing_of(held_out: Sequence[HeldOut], *, prices: Mapping[str, float]) -> MethodScore:
    rows = rows_of(held_out)
    return MethodScore(
        method=held_out[0].method,
        split=held_out[0].split,
        is_member=held_out[0].method.startswith(_OF_METHODS),
        score=score_of(rows),
        pairs={(out.pair.anchor, out.pair.target): score_of(rows_of([out])).mape.median for out in held_out},
        families=coverage_by_family(rows),
        fastest=rank_accuracy(held_out, None),
        cheapest=rank_accuracy(held_out, prices),
    )


def _difference(held_out: Sequence[HeldOut], split: str) -> Spread:
    ours, theirs = (rows_of(_of(held_out, method, split)) for method in (ORCHESTRATOR, PROFET))
    return difference_over_models(ours.errors, theirs.errors, ours.models)


def _models_of(table: LatencyTable) -> Mapping[str, tuple[str, ...]]:
    names = table.rows[["family", "model"]].drop_duplicates().sort_values(["family", "model"])
    return {str(family): tuple(rows["model"]) for family, rows in names.groupby("family")}


def _scalers_of(table: LatencyTable) -> Mapping[tuple[str, str], tuple[float, int]]:
    scalers = {}
    for axis in AXES:
        for device in table.devices:
            errors = held_out_errors(list(curves_of(table, device=device, axis=axis)))
            if len(errors):
                scalers[axis, device] = (float(np.mean(errors)), len(errors))
    return scalers
