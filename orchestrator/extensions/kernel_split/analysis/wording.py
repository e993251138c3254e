"""Names of steps with split convolutions."""

from collections.abc import Iterable

from orchestrator.analysis.formatting import UNKNOWN, Number, counted, marks, number, ratio, share
from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.analysis.calibration import Platform
from orchestrator.extensions.kernel_split.analysis.speedups import (
    KERNELS,
    Margin,
    PlatformResults,
    SplitConfig,
    SplitMeasurement,
    kernels_in,
)


def machine_words(machine: Platform) -> str:
    """`cifar10_cnn on cpu, fp32`."""
    return f"{machine.workload} on {machine.device}, {machine.precision}"


def network_words(workload: str, work: SplitConfig) -> str:
    """`kernels 50:150 kernel_size=3`; empty where kernels are no knob and nothing differs from defaults."""
    parts = _parts(workload, work)
    return " ".join(filter(None, (parts["kernels"], parts["options"])))


def work_words(workload: str, work: SplitConfig, *, without: str = "") -> str:
    """`kernels 50:150, batch 64, 2 workers`.

    Args:
        without: parts to leave out: `kernels`, `batch` or `workers`.
    """
    return ", ".join(words for name, words in _parts(workload, work).items() if words and name != without)


def _parts(workload: str, work: SplitConfig) -> dict[str, str]:
    kernels = kernels_in(workload, work.options)
    others = {name: value for name, value in work.options.items() if name != KERNELS}
    return {
        "kernels": f"kernels {colons(kernels)}" if kernels else "",
        "options": " ".join(f"{name}={value}" for name, value in sorted(others.items())),
        "batch": f"batch {work.batch:,}",
        "workers": counted(work.workers, "worker"),
        "shares": "even shares" if work.is_even else "",
    }


def speed_up_words(split: SplitMeasurement) -> str:
    """Format a speed-up as `1.31x [1.27, 1.35], noisy`, or as a dash if it is missing."""
    if split.speed_up is None:
        return UNKNOWN
    return Number(f"{ratio(split.speed_up)}{speed_up_marks(split)}", split.speed_up.median)


def speed_up_marks(split: SplitMeasurement) -> str:
    """Return the marks of a speed-up: `, noisy`, and the versions where trials of one setting differ, `,
    torch 2.9`.
    """
    ran_with = split.measured.setting.ran_with
    texts = marks(is_noisy=split.is_noisy, is_resumed=split.is_resumed)
    return f"{texts}, {ran_with}" if ran_with else texts


def bound_words(bounds: Iterable[tuple[float, int]]) -> tuple[str, ...]:
    """Explain bounds above their number of workers, where there are any."""
    if all(bound <= workers for bound, workers in bounds):
        return ()
    return (
        "A bound above the number of workers: they were calibrated to be faster than the one that they are "
        "compared with, as other devices are, or where the threads of that one waited for each other.",
    )


def calibrated_words(families: Iterable[PlatformResults]) -> str:
    """List the calibrated layers of every platform."""
    of_machines = {machine_words(family.machine): family.calibrations.values() for family in families}
    calibrated = [
        f"{machine}: {' and '.join(item.words for item in calibrations)}"
        for machine, calibrations in of_machines.items()
        if calibrations
    ]
    return f"Calibrated: {'; '.join(calibrated)}." if calibrated else "Nothing is calibrated."


def link_words(link: KernelLink) -> str:
    """`1.2 GB/s, 45.00 us`."""
    return f"{rate_words(link.bytes_per_second)}, {number(link.latency_seconds * 1e6)} us"


def rate_words(bytes_per_second: float) -> str:
    """`1.2 GB/s`, `150 GB/s`."""
    return f"{number(bytes_per_second / 1e9, digits=2)} GB/s"


def colons(kernels: tuple[int, ...]) -> str:
    """`50:150`."""
    return ":".join(map(str, kernels))


def margin_words(margin: Margin | None) -> str:
    """Explain the intervals of predicted speed-ups, or why there are none."""
    if margin is None:
        return "Without brackets, for too few settings are measured to tell how far the model is off."
    return (
        f"Brackets of what is predicted: how far the model was off in {margin.num_points:,} measured "
        f"settings, each predicted without its own trials; {share(margin.coverage)} of others like these "
        "should be in them."
    )
