"""(own records) -> rates of their input loaders, which no device trains faster than. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median

from orchestrator.analysis.formatting import number
from orchestrator.analysis.recommendation.jobs.settings_of_records import is_run
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.placement import task_name
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.predict.step_time.own_records import is_current


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRates:
    """Rates of the loaders of own workloads, as measured on the hosts of their records.

    Attributes:
        of_process: workload with its options, by `task_name` -> samples per second of one process.
    """

    of_process: Mapping[str, float]

    def rate(self, of: Point | TrialSpec) -> float | None:
        """Return the samples that all processes load in a second; None: not measured."""
        rate = self.of_process.get(_key(of))
        return None if rate is None else rate * of.num_workers

    def seconds(self, of: Point | TrialSpec) -> float | None:
        """Return the seconds that a batch takes to load; None: not measured."""
        rate = self.rate(of)
        return None if rate is None else of.global_batch_size / rate

    def limit(self, step: Estimate | Refusal, of: Point | TrialSpec) -> Estimate | Refusal:
        """Make a step as long as its batch takes to load; its interval stays as wide, and is not tested.

        A refusal names the limit, which holds for every device.
        """
        rate, seconds = self.rate(of), self.seconds(of)
        if rate is None or seconds is None:
            return step
        limit = f"limited by your loader above {_rate_words(rate)}"
        if isinstance(step, Refusal):
            return replace(step, reason=f"{step.reason}; every device is {limit}")
        if seconds <= step.likely:
            return step
        longer = seconds / step.likely
        return replace(
            step,
            low=longer * step.low,
            likely=seconds,
            high=longer * step.high,
            source=f"{limit}; else {step.source}",
            past="",
        )


NO_LOADERS = LoaderRates(of_process={})


def collect_loader_rates(records: Iterable[TrialRecord]) -> LoaderRates:
    """Take the median of what was measured without a training that wants the same cores.

    The loader of a native job is measured after its training; the pipeline of a declared workload while it
    trains, so that a training on the CPU would make it slower than it is.
    """
    rates: dict[str, list[float]] = defaultdict(list)
    for record in records:
        rate = record.result.pipeline_samples_per_second if record.result else None
        is_alone = record.spec.data.startswith("own:") or record.spec.host_cpu is None
        if rate and is_alone and is_run(record) and is_current(record.spec):
            rates[_key(record.spec)].append(rate / record.spec.num_workers)
    return LoaderRates(of_process={key: median(found) for key, found in rates.items()})


def _key(of: Point | TrialSpec) -> str:
    return task_name(of.workload, of.workload_options)


def _rate_words(rate: float) -> str:
    return f"{number(rate / 1000, digits=3)} k samples/s" if rate >= 1000 else f"{number(rate)} samples/s"
