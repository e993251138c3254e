"""An evaluation as plain tables, as sentences, and as values for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.analysis.formatting import UNKNOWN, count, share
from orchestrator.analysis.table import Column, Table
from orchestrator.extensions.profile_transfer.evaluation.evaluate import MethodScore, PredictorEvaluation
from orchestrator.extensions.profile_transfer.evaluation.held_out import BY_FAMILY, BY_MODEL
from orchestrator.extensions.profile_transfer.evaluation.scores import PartScore, RankAccuracy
from orchestrator.extensions.profile_transfer.models.ensemble import ORCHESTRATOR
from orchestrator.extensions.profile_transfer.models.profet import PROFET
from orchestrator.extensions.profile_transfer.models.scalers import AXES

_SPLITS = {
    BY_MODEL: ("New models", "each is predicted by training on all others"),
    BY_FAMILY: ("New families", "each model is predicted by training on models of other families"),
}
_SCORES = (
    "mean error [95%]",
    "median error",
    "P90 error",
    "inside 90% interval",
    "worst family",
    "interval's width",
    "fastest named",
    "cheapest named",
    "predictions",
    "out of range",
)
_NOTE = (
    "An error is |predicted / measured - 1|; brackets: 95% over models. Worst family: fewest measurements in "
    "the interval. Width: high less low, of the prediction. Fastest, cheapest named: how often it is named; "
    "brackets: by always naming the same device. Out of range: refused to a user, counted here."
)


def build_tables(evaluation: PredictorEvaluation) -> tuple[Table, ...]:
    """Scores of each split; pairs and families of whole methods, not of their members; then the scalers."""
    splits = dict.fromkeys(standing.split for standing in evaluation.standings)
    by_split = [
        [standing for standing in evaluation.standings if standing.split == split] for split in splits
    ]
    whole = [[standing for standing in standings if not standing.is_member] for standings in by_split]
    return (
        *(_scores_table(scores) for scores in by_split),
        *(_pairs_table(scores) for scores in whole),
        *(_families_table(scores) for scores in whole),
        *([_scalers_table(evaluation)] if evaluation.scalers else []),
    )


def format_sentences(evaluation: PredictorEvaluation) -> tuple[str, ...]:
    """Say of each split how far our method and the published one are off, and whether our intervals hold."""
    score = {(standing.method, standing.split): standing.score for standing in evaluation.standings}
    return tuple(
        f"{_SPLITS[split][0]}: orchestrator is {100 * score[ORCHESTRATOR, split].mape.median:.1f}% off on "
        f"average, PROFET {100 * score[PROFET, split].mape.median:.1f}%, {-100 * less.high:.1f} to "
        f"{-100 * less.low:.1f} points more; {share(score[ORCHESTRATOR, split].coverage)} of orchestrator's "
        "90% intervals hold the measurement."
        for split, less in evaluation.differences.items()
    )


def convert_to_plain(evaluation: PredictorEvaluation) -> dict[str, dict[str, dict[str, Any]]]:
    """{method: {split: {mape_percent, coverage_90, median_width, n, models, pairs, quartiles}}}."""
    plain: dict[str, dict[str, dict[str, Any]]] = {}
    for standing in evaluation.standings:
        plain.setdefault(standing.method, {})[standing.split] = {
            "mape_percent": 100 * standing.score.mape.median,
            "coverage_90": standing.score.coverage,
            "median_width": standing.score.width,
            "n": standing.score.n,
            **{kind: _plain_parts(scores) for kind, scores in standing.parts.items()},
        }
    return plain


def _plain_parts(scores: Mapping[str, PartScore]) -> dict[str, dict[str, float | int]]:
    return {
        name: {
            "mape_percent": 100 * score.mape,
            "coverage_90": score.coverage,
            "median_width": score.width,
            "n": score.n,
        }
        for name, score in scores.items()
    }


def _scores_table(standings: Sequence[MethodScore]) -> Table:
    split = standings[0].split
    return Table(
        title=": ".join(_SPLITS[split]),
        note=_NOTE,
        columns=(Column(header="method"), *(Column(header=score, is_number=True) for score in _SCORES)),
        rows=tuple(_scores_row(standing) for standing in standings),
    )


def _scores_row(standing: MethodScore) -> tuple[str, ...]:
    score = standing.score
    return (
        standing.method,
        f"{100 * score.mape.median:.1f}% [{100 * score.mape.low:.1f}, {100 * score.mape.high:.1f}]",
        share(score.median_error, decimals=1),
        share(score.p90_error, decimals=1),
        share(score.coverage, decimals=1),
        f"{score.worst_family} {share(score.worst_coverage)}",
        share(score.width),
        _rank(standing.fastest),
        _rank(standing.cheapest),
        count(score.n),
        count(score.out_of_range),
    )


def _pairs_table(standings: Sequence[MethodScore]) -> Table:
    pairs = dict.fromkeys(pair for standing in standings for pair in standing.pairs)
    rows = (
        (
            f"{anchor} -> {target}",
            *(_percentage(standing.pairs.get((anchor, target))) for standing in standings),
        )
        for anchor, target in pairs
    )
    return _by_method(f"{_SPLITS[standings[0].split][0]}: mean error by pair", "from -> to", rows, standings)


def _families_table(standings: Sequence[MethodScore]) -> Table:
    families = sorted({family for standing in standings for family in standing.families})
    rows = (
        (family, *(_percentage(standing.families.get(family)) for standing in standings))
        for family in families
    )
    return _by_method(
        f"{_SPLITS[standings[0].split][0]}: share inside the 90% interval", "family", rows, standings
    )


def _by_method(
    title: str, first: str, rows: Iterable[tuple[str, ...]], standings: Sequence[MethodScore]
) -> Table:
    methods = (Column(header=standing.method, is_number=True) for standing in standings)
    return Table(title=title, note="", columns=(Column(header=first), *methods), rows=tuple(rows))


def _scalers_table(evaluation: PredictorEvaluation) -> Table:
    return Table(
        title="New models: mean error of PROFET's scalers between the measured ends",
        note="Brackets: number of predicted latencies.",
        columns=(Column(header="device"), *(Column(header=axis, is_number=True) for axis in AXES)),
        rows=tuple(
            (device, *(_scaler(evaluation.scalers.get((axis, device))) for axis in AXES))
            for device in evaluation.devices
        ),
    )


def _scaler(error: tuple[float, int] | None) -> str:
    return f"{share(error[0], decimals=1)} [{error[1]:,}]" if error else UNKNOWN


def _percentage(fraction: float | None) -> str:
    return UNKNOWN if fraction is None else share(fraction, decimals=1)


def _rank(accuracy: RankAccuracy | None) -> str:
    return f"{share(accuracy.named)} [{share(accuracy.always_one)}]" if accuracy else UNKNOWN
