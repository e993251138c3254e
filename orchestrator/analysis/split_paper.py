"""The speed-ups that are known of Marques, Falcao, Alexandre 2018, and what Amdahl's law makes of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis.split_calibration import Machine
from orchestrator.analysis.split_time import least_fraction, most_speed_up
from orchestrator.analysis.split_words import machine_words, network_words
from orchestrator.analysis.splits import SplitFamily, Work
from orchestrator.analysis.tables import Column, Table
from orchestrator.analysis.wording import Number, count, share
from orchestrator.core.estimate import Refusal

PAPER = "Marques, Falcao, Alexandre 2018"
_WORKLOAD = "cifar10_cnn"
_NOTE = (
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
        """What convolutions took at least, of the step of one of equal devices."""
        return least_fraction(self.speed_up, self.devices)


PAPER_POINTS = (
    PaperPoint(speed_up=3.28, devices=4, kind="CPUs"),
    PaperPoint(speed_up=2.45, devices=3, kind="GPUs"),
)


def is_of_paper(machine: Machine) -> bool:
    """Whether its workload is the paper's network."""
    return machine.workload == _WORKLOAD


def paper_table(families: Sequence[SplitFamily]) -> Table:
    """The paper's points beside the setting with the most convolutions of each machine; none without one."""
    own = [row for each in families if is_of_paper(each.machine) for row in _rows_of(each)]
    paper = [
        (
            f"the paper, {each.words}",
            count(each.devices),
            _times(each.speed_up),
            share(each.least_fraction, decimals=1),
        )
        for each in PAPER_POINTS
    ]
    return Table(
        title="What Amdahl's law says of the paper",
        note=_NOTE,
        columns=(
            Column(header="of"),
            *(Column(header=each, is_number=True) for each in ("devices", "speed-up", "convolutions")),
        ),
        rows=tuple([*paper, *own] if own else ()),
    )


def _rows_of(family: SplitFamily) -> Iterator[tuple[str, ...]]:
    modelled = [(each.work, each.model) for each in family.splits if not isinstance(each.model, Refusal)]
    if not modelled:
        return
    work, model = max(modelled, key=lambda each: each[1].convolution_fraction)
    for each in PAPER_POINTS:
        yield (
            _words(family, work),
            count(each.devices),
            f"at most {most_speed_up(model.convolution_fraction, each.devices):.2f}x",
            share(model.convolution_fraction, decimals=1),
        )


def _words(family: SplitFamily, work: Work) -> str:
    network = network_words(family.machine.workload, work)
    return f"{machine_words(family.machine)}, {network}, batch {work.batch:,}"


def _times(value: float) -> Number:
    return Number(f"{value:.2f}x", value)
