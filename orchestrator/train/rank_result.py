"""Result of each rank of a trial, and the trial's result made of those of all ranks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from orchestrator.core.peaks import ProductBenchmark
from orchestrator.core.result import DeviceFacts, TrainResult
from orchestrator.train.measurement.calibration import PRODUCT_SIZE
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.measurement.rank_merging import find_longest, list_if_all, merge_fields, sum_known
from orchestrator.train.trainer import EnergyCounter

_NAMES = frozenset(field_.name for field_ in fields(TrainResult))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankResult:
    """One rank's raw measurements and facts; `TrainResult` documents the fields that it has too.

    A type names the rule by which `rank_merging` merges the ranks.

    Attributes:
        versions: versions of its packages, and variables that change results.
        counters: energy counters that it read.
        read_files, written_files: of a script; the hashes of those that it read by their names.
    """

    setup_seconds: Annotated[float, max]
    times: LoopTimes
    samples: Annotated[int, sum]
    train_samples: int | None
    unchecked: tuple[str, ...]
    quality: Mapping[str, float]
    held_out_samples: int | None
    evaluation_seconds: Annotated[float, max]
    flops_per_step: float
    bytes_per_step: float
    data_wait_seconds: Annotated[float | None, find_longest]
    pipeline_samples_per_second: Annotated[float | None, sum_known]
    peak_host_bytes: Annotated[int, tuple]
    exchange_seconds: Annotated[tuple[tuple[float, float], ...], list_if_all]
    product_seconds: tuple[float, ...]
    unmoved: tuple[str, ...]
    device: DeviceFacts
    versions: Mapping[str, str]
    checkpoint_notes: tuple[str, ...] = ()
    counters: tuple[EnergyCounter, ...] = ()
    read_files: Mapping[str, str] = field(default_factory=dict)
    written_files: tuple[str, ...] = ()
    tokens_per_sample: float | None = None


def merge_ranks(ranks: Sequence[RankResult], *, launch_seconds: float) -> TrainResult:
    """Merge the results of all ranks by the rules of their fields, and join those without one."""
    merged: dict[str, Any] = {
        **merge_fields([rank.times for rank in ranks]),
        **merge_fields(ranks),
        "launch_seconds": launch_seconds,
        "devices": tuple(rank.device for rank in ranks),
        "calibration": _find_calibration(ranks),
        "energy_joules": _find_joules(ranks),
        "read_files": _join_read_files(ranks),
        "unmoved": tuple(sorted({name for rank in _list_with_weights(ranks) for name in rank.unmoved})),
    }
    return TrainResult(**{name: value for name, value in merged.items() if name in _NAMES})


def _join_read_files(ranks: Sequence[RankResult]) -> dict[str, str]:
    """Return the files that a rank read and none wrote; of two hashes that of the first rank counts."""
    written = {name for rank in ranks for name in rank.written_files}
    read = {name: hashed for rank in reversed(ranks) for name, hashed in rank.read_files.items()}
    return {name: read[name] for name in sorted(read.keys() - written)}


def _list_with_weights(ranks: Sequence[RankResult]) -> Iterator[RankResult]:
    """Yield all but ranks of a single kernel, which may never learn. The first rank has every weight."""
    first, *others = ranks
    yield first
    for other in others:
        shares = other.device.kernel_shares
        if not shares or sum(share.kernels for share in shares) > 1:
            yield other


def _find_joules(ranks: Sequence[RankResult]) -> dict[str, float]:
    """Counter -> the sum over all that were to read it; absent where one of them has none."""
    readers: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for rank in ranks:
        for counter in rank.counters:
            readers[counter].append(rank.times.energy_joules)
    return {
        counter: sum(counters[counter] for counters in read)
        for counter, read in readers.items()
        if all(counter in counters for counters in read)
    }


def _find_calibration(ranks: Sequence[RankResult]) -> ProductBenchmark | None:
    if not ranks[0].product_seconds:
        return None
    return ProductBenchmark(size=PRODUCT_SIZE, seconds=tuple(rank.product_seconds for rank in ranks))
