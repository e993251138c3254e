"""Replay of `predict advise`: cost of finding the best published setting without measuring all.

    python benchmarks/advise.py $ORCHESTRATOR_DATA/profet [--json]

A job is one of the published networks that are known here, at one image size; its settings are devices at one
batch size, or devices and batch sizes together. Their prior is that of the product: of the bundled models,
without any step of the network. The user is one more laboratory.
"Measuring" is looking up the median of its repeats. It costs the price of the device for 100 steps, without
set-up; a share of the cost is one of the cost of measuring every setting.

The rules beside it choose the best of what they measured, know what each measurement will cost, and leave out
what does not fit. Ours goes by the posterior, and a measurement that takes more than is left is lost.
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.analysis.recommendation.model.acquisition import (
    TOLERANCE,
    ScalarObjective,
    assess,
    best_next,
    find_probes,
    mark_good,
)
from orchestrator.analysis.recommendation.model.posterior import (
    FloatArray,
    GaussianPosterior,
    compute_posterior,
)
from orchestrator.config.cluster import load_cluster
from orchestrator.core.estimate import ErrorCorrelation, StepPrior
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.error_model import ErrorPrior
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from held_out_priors import held_out_priors
from model_fitting import errors_by_device, fit_kinship
from published_networks import PublishedLatency, measured_zoo

SHARES = (0.1, 0.25, 0.5)
"""Of the cost of measuring every setting."""

_STEPS = 100
_SECONDS_PER_HOUR = 3600
_ORDERS = 20  # of the random rule
_SEED = 0
_CONFIDENCES = (0.9, 0.95)
_DEADLINES = (1.5, 2.0, 3.0)
"""How many times as long as with the fastest setting a sample may take."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A question about one job.

    Attributes:
        names: [setting] what the rule of the same setting names: a device, or a device and a batch size.
        posterior: of the steps, before anything was measured.
        truth: [setting] logarithm of the seconds of a step.
        usd: [setting] dollars of 100 steps of one second.
        prior: deviations.
        priors: [setting] predicted steps that the posterior joins.
        correlation: correlation of their errors.
        usd_per_hour: [setting] price.
        goal: what is asked for, in words.
        noise: deviation of the logarithm of one run.
    """

    kind: str
    names: tuple[str, ...]
    posterior: GaussianPosterior
    objective: ScalarObjective
    truth: FloatArray
    usd: FloatArray
    prior: ErrorPrior
    priors: tuple[StepPrior, ...]
    correlation: ErrorCorrelation
    usd_per_hour: FloatArray
    goal: str
    noise: float

    @property
    def costs(self) -> FloatArray:
        """[setting] dollars of measuring it."""
        return self.compute_costs(self.truth)

    def compute_costs(self, log_seconds: FloatArray) -> FloatArray:
        """Compute them for steps of that length."""
        costs: FloatArray = self.usd * np.exp(log_seconds)
        return costs

    def regret(self, chosen: int) -> float:
        """Compute how far above the best it lies; infinite: it breaks the limit."""
        value = self.objective.value(self.truth)
        return math.expm1(float(value[chosen] - value.min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The outcome of a rule.

    Attributes:
        share: of the cost of measuring every setting, that was spent.
    """

    regret: float
    share: float

    @property
    def is_good(self) -> bool:
        """True where the choice respects the limit and lies within 5% of the best."""
        return self.regret <= TOLERANCE


Rule = Callable[[Case, float, np.random.Generator], int]
"""(case, most that may be spent) -> the setting that is chosen."""


def advised(case: Case, most: float, *, confidence: float) -> tuple[int, float]:
    """Return the setting that is chosen, and what was spent."""
    posterior, left = case.posterior, most
    measured: dict[int, float] = {}
    while True:
        assessment = assess(posterior, case.objective)
        costs = case.compute_costs(posterior.mean)
        costs[list(measured)] = math.inf
        if assessment.chance >= confidence:
            return assessment.leader, most - left
        measurable = np.flatnonzero(np.isfinite(costs)).tolist()
        probes = find_probes(assessment, measurable, repeat=case.prior.repeat)
        proposal = best_next(assessment, probes, costs, left=left)
        if proposal is None:
            return assessment.leader, most - left
        chosen = proposal.setting
        if case.costs[chosen] > left:
            return assessment.leader, most
        left -= case.costs[chosen]
        measured[chosen] = float(case.truth[chosen])
        posterior = case.posterior.given(measured, deviation=case.prior.repeat)


def in_order(case: Case, most: float, order: Sequence[int]) -> int:
    """Measure one setting after the other, as far as the money goes, and choose the best of them."""
    measured = []
    for setting in order:
        if case.costs[setting] <= most:
            most -= case.costs[setting]
            measured.append(setting)
    among = measured or list(order[:1])  # nothing could be measured: any
    value = case.objective.value(case.truth)
    return min(among, key=lambda setting: (value[setting], case.truth[setting]))


def at_random(case: Case, most: float, random: np.random.Generator) -> int:
    """Measure in any order."""
    return in_order(case, most, random.permutation(len(case.truth)).tolist())


def cheapest_first(case: Case, most: float, _random: np.random.Generator) -> int:
    """Measure in the order of the cost of a measurement."""
    return in_order(case, most, np.argsort(case.costs).tolist())


def always(cases: Sequence[Case]) -> Rule:
    """Choose the setting that is good in most of these very cases, which nobody knows before."""
    counts: dict[str, int] = defaultdict(int)
    for case in cases:
        for name, is_good in zip(case.names, mark_good(case.objective.value(case.truth)), strict=True):
            counts[name] += bool(is_good)
    ranked = sorted(counts, key=lambda name: -counts[name])
    return lambda case, _most, _random: next(case.names.index(name) for name in ranked if name in case.names)


def cases_of(
    measured: Sequence[PublishedLatency], usd_per_hour: dict[str, float], *, is_new: bool
) -> Iterator[Case]:
    """Ask every question about every job.

    Args:
        is_new: the devices were never seen either: the prior of each comes from the others.
    """
    models, errors = default_models(), errors_by_device(measured)
    _, catalogue = load_cluster((), working_directory=Path.cwd())
    prior_of = held_out_priors(measured, models, devices=catalogue.devices, for_new_devices=is_new)
    jobs: dict[tuple[str, int], list[PublishedLatency]] = defaultdict(list)
    for one in measured:
        jobs[one.model, one.image_size].append(one)
    for (model, _), job in jobs.items():
        correlation = fit_kinship([(one, error) for one, error in errors if one.model != model])
        by_batch: dict[int, list[PublishedLatency]] = defaultdict(list)
        for one in job:
            by_batch[one.batch_size].append(one)
        groups = [("device", settings) for settings in by_batch.values()]
        if len(by_batch) > 1:
            groups.append(("device and batch", job))
        for kind, settings in groups:
            if len({one.device for one in settings}) < len(usd_per_hour):
                continue
            priors = [prior_of[one] for one in settings]
            posterior = compute_posterior(priors, correlation)
            prices = np.array([usd_per_hour[one.device] for one in settings]) / _SECONDS_PER_HOUR
            batches = np.array([one.batch_size for one in settings])
            truth = np.log([one.step_seconds for one in settings])
            names = [one.device if kind == "device" else f"{one.device} {one.batch_size}" for one in settings]
            for asked, objective in _objectives(truth, prices, batches):
                yield Case(
                    kind=f"{asked}: {kind}",
                    names=tuple(names),
                    posterior=posterior,
                    objective=objective,
                    truth=truth,
                    usd=_STEPS * prices,
                    prior=models.prior,
                    priors=tuple(priors),
                    correlation=correlation,
                    usd_per_hour=prices * _SECONDS_PER_HOUR,
                    goal=asked,
                    noise=models.prior.repeat,
                )


def _objectives(
    truth: FloatArray, prices: FloatArray, batches: FloatArray
) -> Iterator[tuple[str, ScalarObjective]]:
    """Ask for the least time of a sample, its least cost within a time, and both weighted alike."""
    fastest = float((truth - np.log(batches)).min())

    def objective(*, time: float, cost: float, log_most_seconds: float = math.inf) -> ScalarObjective:
        return ScalarObjective(
            time=time,
            cost=cost,
            log_fixed=np.full(len(truth), -math.inf),
            log_steps=-np.log(batches),
            log_usd=np.log(prices),
            quality_loss=np.zeros(len(truth)),
            log_most_seconds=log_most_seconds,
        )

    yield "fastest", objective(time=1.0, cost=0.0)
    for factor in _DEADLINES:
        yield (
            "cheapest in time",
            objective(time=0.0, cost=1.0, log_most_seconds=fastest + math.log(factor)),
        )
    yield "time x cost", objective(time=0.5, cost=0.5)


def collect_rows(
    cases: Sequence[Case], *, shares: Sequence[float] = SHARES
) -> dict[str, dict[str, list[End]]]:
    """Collect rule -> share -> its outcome in each case; the random one several times."""
    random = np.random.default_rng(_SEED)
    found: dict[str, dict[str, list[End]]] = defaultdict(dict)
    rules: dict[str, tuple[Rule, int]] = {
        "random": (at_random, _ORDERS),
        "cheapest first": (cheapest_first, 1),
        "always the same": (always(cases), 1),
    }
    for share in shares:
        found["advise"][f"{share:.0%}"] = [_end(case, share, confidence=0.99) for case in cases]
        for name, (rule, times) in rules.items():
            found[name][f"{share:.0%}"] = [
                End(regret=case.regret(rule(case, share * case.costs.sum(), random)), share=share)
                for case in cases
                for _ in range(times)
            ]
    found["nothing measured"]["0%"] = [_end(case, 0.0, confidence=1.0) for case in cases]
    for confidence in _CONFIDENCES:
        stopped = [_end(case, 1.0, confidence=confidence) for case in cases]
        found[f"advise, stopped at {confidence:.0%}"]["100%"] = stopped
    return dict(found)


def _end(case: Case, share: float, *, confidence: float) -> End:
    total = float(case.costs.sum())
    chosen, spent = advised(case, share * total, confidence=confidence)
    return End(regret=case.regret(chosen), share=spent / total)


def convert_to_plain(ends: Sequence[End]) -> dict[str, float]:
    """Sum outcomes up; a broken limit counts as 100% of regret."""
    regrets = np.minimum([end.regret for end in ends], 1.0)
    return {
        "good_fraction": float(np.mean([end.is_good for end in ends])),
        "mean_regret": float(regrets.mean()),
        "p95_regret": float(np.quantile(regrets, 0.95)),
        "spent_fraction": float(np.mean([end.share for end in ends])),
        "n": len(ends),
    }


def read_jobs(folder: Path) -> tuple[list[PublishedLatency], dict[str, float]]:
    """Read measurements, and dollars an hour of their devices."""
    table = read_latencies(folder)
    measured = list(measured_zoo(table))
    usd = table.rows.groupby("device")["usd_per_hour"].first().to_dict()
    return measured, {device: usd[device] for device in sorted({one.device for one in measured})}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    measured, usd = read_jobs(arguments.data)
    found = {}
    for is_new in (False, True):
        by_kind: dict[str, list[Case]] = defaultdict(list)
        for case in cases_of(measured, usd, is_new=is_new):
            by_kind[case.kind].append(case)
        found["devices never seen" if is_new else "devices known"] = {
            kind: {
                rule: {share: convert_to_plain(ends) for share, ends in by_share.items()}
                for rule, by_share in collect_rows(cases).items()
            }
            for kind, cases in by_kind.items()
        }
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(list_lines(found)))


def list_lines(found: dict[str, dict[str, dict[str, dict[str, dict[str, float]]]]]) -> Iterator[str]:
    """Write tables: share of the cases within 5% of the best, and the mean regret."""
    for world, kinds in found.items():
        for kind, rules in kinds.items():
            yield f"\n{world}: {kind}, {rules['advise']['25%']['n']} cases"
            for rule, shares in rules.items():
                cells = (
                    f"{share} {told['good_fraction']:.0%} ({told['mean_regret']:.1%}, "
                    f"spent {told['spent_fraction']:.0%})"
                    for share, told in shares.items()
                )
                yield f"  {rule:24} {'   '.join(cells)}"


if __name__ == "__main__":
    main()
