"""Table of split convolutions: measured speed-ups beside those of the model of time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis.formatting import UNKNOWN, Number, count, ratio, share
from orchestrator.analysis.predictions.forecasts import find_origin
from orchestrator.analysis.table import Column, Table
from orchestrator.core.estimate import Refusal
from orchestrator.core.interval import exactly
from orchestrator.extensions.kernel_split.analysis.calibration import Platform
from orchestrator.extensions.kernel_split.analysis.model import SplitModel
from orchestrator.extensions.kernel_split.analysis.speedups import (
    PlatformResults,
    SplitConfig,
    SplitMeasurement,
)
from orchestrator.extensions.kernel_split.analysis.step_time import least_fraction, most_speed_up
from orchestrator.extensions.kernel_split.analysis.wording import (
    bound_words,
    calibrated_words,
    link_words,
    machine_words,
    margin_words,
    network_words,
    speed_up_words,
)

_NOTE = (
    "Speed-up: samples/s over those of one worker that is alike in all else, with its 95% interval over "
    "repeats. Held: kernels of each worker in the convolution with the most work. Predicted, not measured: "
    "by the model of time (docs/explanation/predictions.md) from the calibrations of all other settings. "
    "Bound: Amdahl's, with free traffic. Convolutions: their part of the step of one worker, predicted."
)


def split_table(families: Sequence[PlatformResults]) -> Table:
    """One row for each setting of several workers."""
    margins = dict.fromkeys(margin_words(family.margin) for family in families if family.splits)
    return Table(
        title="Split convolutions",
        note=" ".join((_NOTE, calibrated_words(families), *margins, *bound_words(_bounds(families)))),
        columns=(
            *(Column(header=name) for name in ("where", "network")),
            *(Column(header=name, is_number=True) for name in ("batch", "workers")),
            Column(header="held"),
            Column(header="over"),
            *(
                Column(header=text, is_number=True)
                for text in ("speed-up", "predicted", "off by", "bound", "convolutions")
            ),
            Column(header="link", is_detail=True),
            Column(header="remark, or why not", is_detail=True),
        ),
        rows=tuple(_row(family, split) for family in families for split in family.splits),
    )


def _bounds(families: Iterable[PlatformResults]) -> list[tuple[float, int]]:
    splits = [split for family in families for split in family.splits]
    return [
        (split.model.bound, split.work.workers) for split in splits if isinstance(split.model, SplitModel)
    ]


def _row(family: PlatformResults, split: SplitMeasurement) -> tuple[str, ...]:
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
        model.stretched if isinstance(model, SplitModel) else find_origin(model),
    )


def _predicted(family: PlatformResults, split: SplitMeasurement, model: SplitModel) -> tuple[str, ...]:
    return (
        ratio(family.bracketed(model.speed_up)),
        UNKNOWN if split.error is None else off_by(split.error),
        ratio(exactly(model.bound)),
        share(model.convolution_fraction),
        link_words(model.link),
    )


def off_by(error: float) -> Number:
    """Format the relative error of the model: `+12%` if it predicted more than was measured."""
    return Number(f"{round(100 * error):+d}%", error)


def _baseline(split: SplitMeasurement) -> str:
    if split.baseline is None:
        return "not measured"
    trainer = split.baseline.setting.trainer
    return "1 worker" if trainer == split.measured.setting.trainer else f"1 worker of {trainer}"


PAPER = "Marques, Falcao, Alexandre 2018"
_WORKLOAD = "cifar10_cnn"
_PAPER_NOTE = (
    f"Of {PAPER} (arxiv.org/abs/1712.02546) the abstract is known: these speed-ups at 500 and 1,500 kernels, "
    "and that convolutions take 60 to 90% of a training, but not which devices they are of. By Amdahl's law, "
    "1 / (1 - p + p / n) with free traffic, they take at least this part p of the step of one of n equal "
    "devices; with less, the added ones were faster than the one that they are compared with. Rows of trials "
    "here are predicted, not measured: what the law allows the setting with the most convolutions."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPoint:
    """A speed-up of the abstract."""

    speed_up: float
    devices: int
    kind: str

    @property
    def words(self) -> str:
        """`4 CPUs`."""
        return f"{self.devices} {self.kind}"

    @property
    def least_fraction(self) -> float:
        """Least share of convolutions in the step of one of several equal devices."""
        return least_fraction(self.speed_up, self.devices)


PAPER_POINTS = (
    PaperPoint(speed_up=3.28, devices=4, kind="CPUs"),
    PaperPoint(speed_up=2.45, devices=3, kind="GPUs"),
)


def is_of_paper(machine: Platform) -> bool:
    """Return whether the platform's workload is the paper's network."""
    return machine.workload == _WORKLOAD


def paper_table(families: Sequence[PlatformResults]) -> Table:
    """The paper's points beside the setting with the most convolutions of each machine; none without one."""
    own = [row for family in families if is_of_paper(family.machine) for row in _build_rows(family)]
    paper = [
        (
            f"the paper, {paper_point.words}",
            count(paper_point.devices),
            _times(paper_point.speed_up),
            share(paper_point.least_fraction, decimals=1),
        )
        for paper_point in PAPER_POINTS
    ]
    return Table(
        title="What Amdahl's law says of the paper",
        note=_PAPER_NOTE,
        columns=(
            Column(header="of"),
            *(Column(header=name, is_number=True) for name in ("devices", "speed-up", "convolutions")),
        ),
        rows=tuple([*paper, *own] if own else ()),
    )


def _build_rows(family: PlatformResults) -> Iterator[tuple[str, ...]]:
    modelled = [(split.work, split.model) for split in family.splits if not isinstance(split.model, Refusal)]
    if not modelled:
        return
    work, model = max(modelled, key=lambda pair: pair[1].convolution_fraction)
    for paper_point in PAPER_POINTS:
        yield (
            _words(family, work),
            count(paper_point.devices),
            f"at most {most_speed_up(model.convolution_fraction, paper_point.devices):.2f}x",
            share(model.convolution_fraction, decimals=1),
        )


def _words(family: PlatformResults, work: SplitConfig) -> str:
    network = network_words(family.machine.workload, work)
    return f"{machine_words(family.machine)}, {network}, batch {work.batch:,}"


def _times(value: float) -> Number:
    return Number(f"{value:.2f}x", value)
