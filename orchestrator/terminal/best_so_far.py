"""The fastest setting that a running sweep has measured, and how sure that is. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.analysis.comparison.compare import compute_ratio, verdict_on
from orchestrator.analysis.formatting import count
from orchestrator.core.interval import compute_spread

_WORDS = {
    "faster": "faster",
    "no difference shown": "tie",
    "too few repeats": "too few repeats",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Samples per second of one undisturbed trial.

    Attributes:
        job: workload and data, within which rates compare.
    """

    job: str
    setting: str
    samples_per_second: float


def best_so_far(rates: Iterable[Rate]) -> tuple[str, ...]:
    """Show for every job which setting leads, by how much and how surely; nothing before a measurement."""
    jobs: dict[str, dict[str, list[float]]] = {}
    for rate in rates:
        jobs.setdefault(rate.job, {}).setdefault(rate.setting, []).append(rate.samples_per_second)
    return tuple(
        f"{f'{job}: ' if len(jobs) > 1 else ''}{_lead(settings)}" for job, settings in sorted(jobs.items())
    )


def _lead(settings: dict[str, list[float]]) -> str:
    """Format `cpu bf16, 18,700 samples/s (tie, 1.15x cpu fp32)`: in a narrow terminal the verdict stays."""
    means = {setting: compute_spread(rates).median for setting, rates in settings.items()}
    first, *others = sorted(settings, key=lambda setting: -means[setting])
    fastest = f"{first}, {count(round(means[first]))} samples/s"
    if not others:
        return f"{fastest} (the only setting measured so far)"
    return f"{fastest} ({_against(settings[first], settings[others[0]], others[0])})"


def _against(own: Sequence[float], other: Sequence[float], name: str) -> str:
    ratio = compute_ratio(own, other)
    verdict = verdict_on(ratio, num_repeats=min(len(own), len(other)))
    return f"{_WORDS[verdict]}, {ratio.median:.2f}x {name}"
