"""A latency table -> how well each method predicts what it never saw, side by side."""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

from orchestrator.core.errors import ConfigError
from orchestrator.core.interval import Spread
from orchestrator.extensions.profile_transfer.evaluation.held_out import (
    SPLITS,
    HeldOut,
    held_out_predictions,
    with_intervals,
)
from orchestrator.extensions.profile_transfer.evaluation.scores import (
    PartScore,
    RankAccuracy,
    Score,
    collect_rows,
    coverage_by_family,
    difference_over_models,
    find_quartiles,
    part_scores,
    rank_accuracy,
    score_rows,
)
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable
from orchestrator.extensions.profile_transfer.models.ensemble import ORCHESTRATOR, fit_blend
from orchestrator.extensions.profile_transfer.models.pairs import Pair, find_pairs
from orchestrator.extensions.profile_transfer.models.predictor import Fit, fit_log_quadratic, fit_ratio
from orchestrator.extensions.profile_transfer.models.profet import PROFET, fit_profet
from orchestrator.extensions.profile_transfer.models.scalers import AXES, build_curves, held_out_errors
from orchestrator.train.process.signals import die_with_parent

METHODS: tuple[Fit, ...] = (fit_blend, fit_profet, fit_ratio, fit_log_quadratic)
_OF_METHODS = (f"{ORCHESTRATOR}_", f"{PROFET}_")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScore:
    """One method under one split.

    Attributes:
        is_member: True for a member of an ensemble.
        pairs: (anchor, target) -> mean error of the rows of that pair.
        parts: "models", "pairs" and "quartiles" of step time -> name -> score of those rows.
        families: family -> share of its measurements inside their intervals.
        fastest, cheapest: fraction of cases with the right device; None without a ranking.
    """

    method: str
    split: str
    is_member: bool
    score: Score
    pairs: Mapping[tuple[str, str], float]
    parts: Mapping[str, Mapping[str, PartScore]]
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


def evaluate(table: LatencyTable, *, on_progress: Callable[[str], None]) -> PredictorEvaluation:
    """Predict every row of every pair of devices by predictors that saw nothing of its model, or family.

    Args:
        on_progress: receives a progress line per pair, because the evaluation takes minutes.

    Raises:
        ConfigError: a table that nothing can be held out of.
    """
    pairs = find_pairs(table)
    held_out = [out for of_pair in _predict_held_out(pairs, on_progress=on_progress) for out in of_pair]
    if not held_out:
        raise ConfigError(f"{table.source}: one model alone; to hold one out, two are needed")
    names = table.rows[["family", "model"]].drop_duplicates().sort_values(["family", "model"])
    return PredictorEvaluation(
        source=table.source,
        devices=table.devices,
        models={str(family): tuple(rows["model"]) for family, rows in names.groupby("family")},
        standings=_find_standings(held_out, table),
        differences={
            split: _difference(held_out, split) for split in SPLITS if _predict_rows(held_out, PROFET, split)
        },
        scalers=_find_scalers(table),
    )


def _predict_held_out(pairs: Sequence[Pair], *, on_progress: Callable[[str], None]) -> list[list[HeldOut]]:
    """Predict the rows of every pair, the pairs side by side in processes: one takes half a minute."""
    processes = min(len(pairs), len(os.sched_getaffinity(0)))
    if processes == 1:
        return list(_with_progress(pairs, map(_predicted, pairs), on_progress=on_progress))
    spawned = multiprocessing.get_context("spawn")  # a forked child would inherit locks of BLAS threads
    with ProcessPoolExecutor(
        processes, mp_context=spawned, initializer=_begin_worker, initargs=(os.getpid(),)
    ) as pool:
        try:
            return list(_with_progress(pairs, pool.map(_predicted, pairs), on_progress=on_progress))
        except BaseException:  # an interruption too: pairs that wait are not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _with_progress(
    pairs: Sequence[Pair], predicted: Iterable[list[HeldOut]], *, on_progress: Callable[[str], None]
) -> Iterator[list[HeldOut]]:
    """Describe every pair that is done, and about how long the others will take."""
    began = time.monotonic()
    for number, (pair, of_pair) in enumerate(zip(pairs, predicted, strict=True), start=1):
        seconds = (time.monotonic() - began) / number * (len(pairs) - number)
        left = f"; about {seconds:.0f} s left" if seconds >= 1 else ""
        rows = f"{len(pair.models):,} measurements"
        on_progress(f"{number} of {len(pairs)}: {pair.anchor} -> {pair.target}, {rows}{left}")
        yield of_pair


def _begin_worker(parent_pid: int) -> None:
    """End a process with the command, and keep it to one core: there are as many as cores."""
    die_with_parent(parent_pid)
    threadpool_limits(1)


def _predicted(pair: Pair) -> list[HeldOut]:
    return [with_intervals(out) for fit in METHODS for out in held_out_predictions(pair, fit)]


def _predict_rows(held_out: Sequence[HeldOut], method: str, split: str) -> list[HeldOut]:
    return [out for out in held_out if (out.method, out.split) == (method, split)]


def _find_standings(held_out: Sequence[HeldOut], table: LatencyTable) -> tuple[MethodScore, ...]:
    keys = dict.fromkeys((out.method, out.split) for out in held_out)
    order = sorted(keys, key=lambda key: SPLITS.index(key[1]))
    prices = {device: usd for device in table.devices if (usd := table.usd_per_hour(device)) is not None}
    return tuple(_rank_one(_predict_rows(held_out, *key), prices=prices) for key in order)


def _rank_one(held_out: Sequence[HeldOut], *, prices: Mapping[str, float]) -> MethodScore:
    rows = collect_rows(held_out)
    return MethodScore(
        method=held_out[0].method,
        split=held_out[0].split,
        is_member=held_out[0].method.startswith(_OF_METHODS),
        score=score_rows(rows),
        pairs={
            (out.pair.anchor, out.pair.target): score_rows(collect_rows([out])).mape.median
            for out in held_out
        },
        parts={
            "models": part_scores(rows, rows.models),
            "pairs": part_scores(rows, rows.pairs),
            "quartiles": part_scores(rows, find_quartiles(rows)),
        },
        families=coverage_by_family(rows),
        fastest=rank_accuracy(held_out, None),
        cheapest=rank_accuracy(held_out, prices),
    )


def _difference(held_out: Sequence[HeldOut], split: str) -> Spread:
    ours, theirs = (collect_rows(_predict_rows(held_out, method, split)) for method in (ORCHESTRATOR, PROFET))
    return difference_over_models(ours.errors, theirs.errors, ours.models)


def _find_scalers(table: LatencyTable) -> Mapping[tuple[str, str], tuple[float, int]]:
    scalers = {}
    for axis in AXES:
        for device in table.devices:
            errors = held_out_errors(list(build_curves(table, device=device, axis=axis)))
            if len(errors):
                scalers[axis, device] = (float(np.mean(errors)), len(errors))
    return scalers
