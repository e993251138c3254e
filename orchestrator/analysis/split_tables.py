"""Split convolutions as a table: what was measured beside what the model of time says."""

from collections.abc import Iterable, Sequence

from orchestrator.analysis.predicted import origin_of
from orchestrator.analysis.split_model import SplitModel
from orchestrator.analysis.split_words import (
    bound_words,
    calibrated_words,
    link_words,
    machine_words,
    margin_words,
    network_words,
    speed_up_words,
)
from orchestrator.analysis.splits import Split, SplitFamily
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import UNKNOWN, Number, Spread, count, ratio, share

_NOTE = (
    "Speed-up: samples/s over those of one worker that is alike in all else, with its 95% interval over "
    "repeats. Held: kernels of each worker in the convolution with the most work. Predicted, not measured: "
    "by the model of time (docs/prediction.md) from the calibrations of all other settings. Bound: Amdahl's, "
    "with free traffic. Convolutions: their part of the step of one worker, predicted."
)


def split_table(families: Sequence[SplitFamily]) -> Table:
    """One row for each setting of several workers."""
    margins = dict.fromkeys(margin_words(each.margin) for each in families if each.splits)
    return Table(
        title="Split convolutions",
        note=" ".join((_NOTE, calibrated_words(families), *margins, *bound_words(_bounds(families)))),
        columns=(
            *(Column(header=each) for each in ("where", "network")),
            *(Column(header=each, is_number=True) for each in ("batch", "workers")),
            Column(header="held"),
            Column(header="over"),
            *(
                Column(header=each, is_number=True)
                for each in ("speed-up", "predicted", "off by", "bound", "convolutions")
            ),
            Column(header="link", is_detail=True),
            Column(header="remark, or why not", is_detail=True),
        ),
        rows=tuple(_row(family, each) for family in families for each in family.splits),
    )


def _bounds(families: Iterable[SplitFamily]) -> list[tuple[float, int]]:
    splits = [each for family in families for each in family.splits]
    return [(each.model.bound, each.work.workers) for each in splits if isinstance(each.model, SplitModel)]


def _row(family: SplitFamily, split: Split) -> tuple[str, ...]:
    work, model = split.work, split.model
    where = f"{machine_words(family.machine)}{', even shares' if work.is_even else ''}"
    return (
        where,
        network_words(family.machine.workload, work) or UNKNOWN,
        count(work.batch),
        count(work.workers),
        ":".join(map(str, split.held)) or UNKNOWN,
        _baseline(split),
        speed_up_words(split),
        *(_predicted(family, split, model) if isinstance(model, SplitModel) else (UNKNOWN,) * 5),
        model.stretched if isinstance(model, SplitModel) else origin_of(model),
    )


def _predicted(family: SplitFamily, split: Split, model: SplitModel) -> tuple[str, ...]:
    return (
        ratio(family.bracketed(model.speed_up)),
        UNKNOWN if split.error is None else off_by(split.error),
        ratio(_alone(model.bound)),
        share(model.convolution_fraction),
        link_words(model.link),
    )


def off_by(error: float) -> Number:
    """`+12%`: the model said more."""
    return Number(f"{round(100 * error):+d}%", error)


def _alone(value: float) -> Spread:
    return Spread(median=value, low=value, high=value)


def _baseline(split: Split) -> str:
    if split.baseline is None:
        return "not measured"
    trainer = split.baseline.setting.trainer
    return "1 worker" if trainer == split.measured.setting.trainer else f"1 worker of {trainer}"
