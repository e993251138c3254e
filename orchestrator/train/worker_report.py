"""Report of each worker of a trial, and the result made of all reports."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.core.peaks import Calibration
from orchestrator.core.result import DeviceFacts, TrainResult
from orchestrator.core.target import TargetRun
from orchestrator.train.measurement.calibration import PRODUCT_SIZE
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.trainer import EnergyCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """One rank's raw measurements and facts.

    Attributes:
        versions: versions of its packages, and variables that change results.
        checkpoint_notes: refused checkpoints, with reasons.
        counters: energy counters that it read.
        read_files, written_files: of a script; the hashes of those that it read by their names.
    """

    setup_seconds: float
    times: LoopTimes
    steps_per_block: int
    samples: int
    train_samples: int | None
    unchecked: tuple[str, ...]
    quality: Mapping[str, float]
    held_out_samples: int | None
    evaluation_seconds: float
    flops_per_step: float
    bytes_per_step: float
    data_wait_seconds: float | None
    pipeline_samples_per_second: float | None
    peak_host_bytes: int
    exchange_seconds: tuple[tuple[float, float], ...]
    product_seconds: tuple[float, ...]
    unmoved: tuple[str, ...]
    device: DeviceFacts
    versions: Mapping[str, str]
    checkpoint_notes: tuple[str, ...] = ()
    counters: tuple[EnergyCounter, ...] = ()
    read_files: Mapping[str, str] = field(default_factory=dict)
    written_files: tuple[str, ...] = ()
    tokens_per_sample: float | None = None


def merge_reports(reports: Sequence[WorkerReport], *, launch_seconds: float) -> TrainResult:
    """Merge the reports of all ranks: samples add up, of times the slowest counts, the rest they share."""
    first, times = reports[0], [report.times for report in reports]
    return TrainResult(
        launch_seconds=launch_seconds,
        setup_seconds=max(report.setup_seconds for report in reports),
        first_step_seconds=max(time.first_step_seconds for time in times),
        warmup_steps=first.times.warmup_steps,
        warmup_seconds=max(time.warmup_seconds for time in times),
        steps_per_block=first.steps_per_block,
        block_seconds=tuple(time.block_seconds for time in times),
        reading_seconds=tuple(time.reading_seconds for time in times),
        stopped_because=first.times.stopped_because,
        compile_counts=_most_compiled([time.compile_counts for time in times]),
        steps=first.times.steps,
        samples=sum(report.samples for report in reports),
        train_samples=first.train_samples,
        tokens_per_sample=first.tokens_per_sample,
        unchecked=first.unchecked,
        read_files=_join_read_files(reports),
        run_seconds=tuple(time.run_seconds for time in times if time.run_seconds is not None),
        training_seconds=max(time.training_seconds for time in times),
        phase_seconds=_slowest([time.phase_seconds for time in times]),
        losses=first.times.losses,
        network_losses=first.times.network_losses,
        quality=first.quality,
        held_out_samples=first.held_out_samples,
        evaluation_seconds=max(report.evaluation_seconds for report in reports),
        flops_per_step=first.flops_per_step,
        bytes_per_step=first.bytes_per_step,
        data_wait_seconds=_longest([report.data_wait_seconds for report in reports]),
        pipeline_samples_per_second=_sum_parts([report.pipeline_samples_per_second for report in reports]),
        cpu_seconds=tuple(time.cpu_seconds for time in times),
        block_cpu_seconds=_of_all(time.block_cpu_seconds for time in times),
        core_wait_seconds=_of_all(time.core_wait_seconds for time in times),
        busy_core_seconds=_of_all(time.busy_core_seconds for time in times),
        load_average=first.times.load_average,
        peak_host_bytes=tuple(report.peak_host_bytes for report in reports),
        energy_joules=_find_joules(reports),
        exchange_seconds=_find_exchange(reports),
        unmoved=tuple(sorted({name for report in _telling_of_weights(reports) for name in report.unmoved})),
        devices=tuple(report.device for report in reports),
        calibration=_find_calibration(reports),
        pursuit=_slowest_pursuit([time.pursuit for time in times]),
        resumed_from_step=first.times.resumed_from_step,
        resumed_seconds=first.times.resumed_seconds,
        checkpoint_seconds=max(time.checkpoint_seconds for time in times),
        num_checkpoints=first.times.num_checkpoints,
        checkpoint_notes=first.checkpoint_notes,
    )


def _join_read_files(reports: Sequence[WorkerReport]) -> dict[str, str]:
    """Return the files that a rank read and none wrote; of two hashes that of the first rank counts."""
    written = {name for report in reports for name in report.written_files}
    read = {name: hashed for report in reversed(reports) for name, hashed in report.read_files.items()}
    return {name: read[name] for name in sorted(read.keys() - written)}


def _of_all(of_ranks: Iterable[tuple[float, ...]]) -> tuple[tuple[float, ...], ...]:
    """[rank][block], or nothing where a rank does not know it."""
    blocks = tuple(of_ranks)
    return blocks if all(blocks) else ()


def _telling_of_weights(reports: Sequence[WorkerReport]) -> Iterator[WorkerReport]:
    """Yield all but ranks of a single kernel, which may never learn. The first rank has every weight."""
    first, *others = reports
    yield first
    for other in others:
        shares = other.device.kernel_shares
        if not shares or sum(share.kernels for share in shares) > 1:
            yield other


def _find_joules(reports: Sequence[WorkerReport]) -> dict[str, float]:
    """Counter -> the sum over all that were to read it; absent where one of them has none."""
    readers: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for report in reports:
        for counter in report.counters:
            readers[counter].append(report.times.energy_joules)
    return {
        counter: sum(counters[counter] for counters in read)
        for counter, read in readers.items()
        if all(counter in counters for counters in read)
    }


def _find_exchange(reports: Sequence[WorkerReport]) -> tuple[tuple[tuple[float, float], ...], ...]:
    """[rank][pair], or nothing where nothing was left out."""
    return tuple(report.exchange_seconds for report in reports) if reports[0].exchange_seconds else ()


def _find_calibration(reports: Sequence[WorkerReport]) -> Calibration | None:
    if not reports[0].product_seconds:
        return None
    return Calibration(size=PRODUCT_SIZE, seconds=tuple(report.product_seconds for report in reports))


def _most_compiled(counts: Sequence[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the counts of the rank that compiled most while it was timed."""
    given = [count for count in counts if count is not None]
    return max(given, key=lambda span: span[1] - span[0]) if given else None


def _slowest(seconds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: max(second[name] for second in seconds) for name in seconds[0]}


def _slowest_pursuit(pursuits: Sequence[TargetRun | None]) -> TargetRun | None:
    """Rank 0's qualities, which decided, with the times of the slowest rank."""
    given = [pursuit for pursuit in pursuits if pursuit is not None]
    if not given:
        return None
    return replace(
        given[0],
        curve=tuple(
            replace(ranks[0], training_seconds=max(rank.training_seconds for rank in ranks))
            for ranks in zip(
                *(pursuit.curve for pursuit in given), strict=False
            )  # `agreement` compares lengths
        ),
        evaluation_seconds=max(pursuit.evaluation_seconds for pursuit in given),
    )


def _longest(seconds: Sequence[float | None]) -> float | None:
    return max((second for second in seconds if second is not None), default=None)


def _sum_parts(rates: Sequence[float | None]) -> float | None:
    given = [rate for rate in rates if rate is not None]
    return sum(given) if given else None
