"""(own records) -> rates of their input loaders, which no device trains faster than. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from orchestrator.analysis.formatting import number
from orchestrator.analysis.measurements.noise import estimate_slowdown
from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.placement import task_name
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.plan.trial_specs import is_current


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRates:
    """Rates of the loaders of own workloads, as measured on the hosts of their records.

    Attributes:
        of_process: workload with its options, by `task_name` -> samples per second of one process: measured,
            and what it may reach without the other work on its host; equal where that was quiet.
    """

    of_process: Mapping[str, tuple[float, float]]

    def rate(self, of: Point | TrialSpec) -> float | None:
        """Return the samples that all processes may load in a second; None: not measured."""
        rates = self.of_process.get(_key(of))
        return None if rates is None else rates[1] * of.num_workers

    def seconds(self, of: Point | TrialSpec) -> float | None:
        """Return the seconds that a batch takes to load at that rate; None: not measured."""
        rate = self.rate(of)
        return None if rate is None else of.global_batch_size / rate

    def limit(self, step: Estimate | Refusal, of: Point | TrialSpec) -> Estimate | Refusal:
        """Make a step as long as its batch takes to load; its interval is not tested.

        After a busy host that is the rate alone there, and the interval reaches to the measured one. A
        refusal names the limit, which holds for every device.
        """
        rates = [one * of.num_workers for one in self.of_process.get(_key(of), ())]
        if not rates:
            return step
        measured, quiet = map(_rate_words, rates)
        limit = f"limited by your loader above {measured}"
        if rates[0] < rates[1]:
            limit = f"maybe {limit} to {quiet}, measured on a busy host"
        if isinstance(step, Refusal):
            return replace(step, reason=f"{step.reason}; every device is {limit}")
        most, likely = (max(of.global_batch_size / rate, step.likely) for rate in rates)
        if most == step.likely:
            return step
        return replace(
            step,
            low=likely / step.likely * step.low,
            likely=likely,
            high=most / step.likely * step.high,
            source=f"{limit}; else {step.source}",
            past="",
        )


NO_LOADERS = LoaderRates(of_process={})


def collect_loader_rates(records: Iterable[TrialRecord]) -> LoaderRates:
    """Take the median of rates that no training on the same cores disturbed, of quiet hosts if there are any.

    The loader of a native job is measured after its training; the pipeline of a declared workload while it
    trains, so that a training on the CPU would make it slower than it is.
    """
    rates: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        rate = record.result.pipeline_samples_per_second if record.result else None
        is_alone = record.spec.data.startswith("own:") or record.spec.host_cpu is None
        if rate and is_alone and is_run(record) and is_current(record.spec):
            measured = rate / record.spec.num_workers
            rates[_key(record.spec)].append((measured, measured * estimate_slowdown(record)))
    chosen = {key: [one for one in found if one[0] == one[1]] or found for key, found in rates.items()}
    return LoaderRates(
        of_process={
            key: (median(measured for measured, _ in found), median(quiet for _, quiet in found))
            for key, found in chosen.items()
        }
    )


def _key(of: Point | TrialSpec) -> str:
    return task_name(of.workload, of.workload_options)


def _rate_words(rate: float) -> str:
    return f"{number(rate / 1000, digits=3)} k samples/s" if rate >= 1000 else f"{number(rate)} samples/s"
