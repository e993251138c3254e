"""How soon `predict advise` finds the best of published settings, before all of them are measured.

    python benchmarks/advise.py $ORCHESTRATOR_DATA/profet [--json]

A job is one of the published networks that are known here, at one image size; its settings are devices at one
batch size, or devices and batch sizes together. What is thought of them comes from fits that saw nothing of
the network. "Measuring" is looking up the median of its repeats. It costs the price of the device for 100
steps, without set-up; a share of the cost is one of the cost of measuring every setting.

The rules beside it choose the best of what they measured, know what each measurement will cost, and leave out
what does not fit. Ours goes by what is thought, and a measurement that takes more than is left is lost.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.predict.advise import TOLERANCE, Question, judge, next_of
from orchestrator.predict.analytic import Measured
from orchestrator.predict.belief import Belief, Thought, belief_of
from orchestrator.predict.defaults import default_models
from orchestrator.predict.fit_analytic import held_out_logs
from orchestrator.predict.fit_kinship import Errors, deviations_of, errors_by_device, fit_kinship
from orchestrator.predict.pairs import Floats
from orchestrator.predict.prior import Prior
from orchestrator.predict.read import read_latencies
from orchestrator.predict.zoo import measured_zoo

SHARES = (0.1, 0.25, 0.5)
"""Of the cost of measuring every setting."""

_STEPS = 100
_SECONDS_PER_HOUR = 3600
_ORDERS = 20  # of the random rule
_SEED = 0
_DEADLINES = (1.5, 2.0, 3.0)
"""How many times as long as the fastest setting a sample may take."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A question about one job.

    Attributes:
        names: [setting] what the rule of the same setting names: a device, or a device and a batch size.
        belief: before anything was measured.
        truth: [setting] log of the seconds of a step.
        usd: [setting] of a step of one second, 100 times.
        prior: deviations.
    """

    kind: str
    names: tuple[str, ...]
    belief: Belief
    question: Question
    truth: Floats
    usd: Floats
    prior: Prior

    @property
    def costs(self) -> Floats:
        """[setting] of measuring it."""
        return self.costs_of(self.truth)

    def costs_of(self, log_seconds: Floats) -> Floats:
        """Likewise, if steps took so long."""
        found: Floats = self.usd * np.exp(log_seconds)
        return found

    def regret(self, chosen: int) -> float:
        """How far above the best it lies; infinite: it breaks the limit."""
        value = self.question.value(self.truth)
        return math.expm1(float(value[chosen] - value.min()))


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Where a rule came to.

    Attributes:
        share: of the cost of measuring every setting, that was spent.
    """

    regret: float
    share: float

    @property
    def is_good(self) -> bool:
        """Within 5% of the best, and within the limit."""
        return self.regret <= TOLERANCE


Rule = Callable[[Case, float, np.random.Generator], int]
"""(case, most that may be spent) -> the setting that is chosen."""


def advised(case: Case, most: float, *, confidence: float) -> tuple[int, float]:
    """The setting chosen, and what was spent."""
    belief, left = case.belief, most
    measured: dict[int, float] = {}
    while True:
        judgement = judge(belief, case.question, repeat=case.prior.repeat)
        costs = case.costs_of(belief.mean)
        costs[list(measured)] = math.inf
        proposal = next_of(judgement, costs, left=left) if judgement.chance < confidence else None
        if proposal is None:
            return judgement.winner, most - left
        chosen = proposal.setting
        if case.costs[chosen] > left:
            return judgement.winner, most
        left -= case.costs[chosen]
        measured[chosen] = float(case.truth[chosen])
        belief = case.belief.given(measured, deviation=case.prior.repeat)


def in_order(case: Case, most: float, order: Sequence[int]) -> int:
    """The best of those that were measured one after the other, as far as the money went."""
    measured = []
    for each in order:
        if case.costs[each] <= most:
            most -= case.costs[each]
            measured.append(each)
    among = measured or list(order[:1])  # nothing could be measured: any
    value = case.question.value(case.truth)
    return min(among, key=lambda each: (value[each], case.truth[each]))


def at_random(case: Case, most: float, random: np.random.Generator) -> int:
    """Any order."""
    return in_order(case, most, random.permutation(len(case.truth)).tolist())


def cheapest_first(case: Case, most: float, _random: np.random.Generator) -> int:
    """By what a measurement costs."""
    return in_order(case, most, np.argsort(case.costs).tolist())


def always(cases: Sequence[Case]) -> Rule:
    """The setting that is good in most of these very cases, which nobody knows before."""
    counts: dict[str, int] = defaultdict(int)
    for case in cases:
        for name, is_good in zip(case.names, case.question.good(case.truth[None])[0], strict=True):
            counts[name] += bool(is_good)
    ranked = sorted(counts, key=lambda name: -counts[name])
    return lambda case, _most, _random: next(case.names.index(each) for each in ranked if each in case.names)


def cases_of(measured: Sequence[Measured], usd_per_hour: dict[str, float], *, is_new: bool) -> Iterator[Case]:
    """Every question about every job.

    Args:
        is_new: the devices were never seen either: what is thought comes from the others alone.
    """
    prior, known = default_models().prior, errors_by_device(measured)
    logs = dict(_errors_on_new(measured)) if is_new else dict(known)
    jobs: dict[tuple[str, int], list[Measured]] = defaultdict(list)
    for each in measured:
        jobs[each.model, each.image_size].append(each)
    for (model, _), job in jobs.items():
        others = [(each, error) for each, error in known if each.model != model]
        by_batch: dict[int, list[Measured]] = defaultdict(list)
        for each in job:
            by_batch[each.batch_size].append(each)
        groups = [("device", each) for each in by_batch.values()]
        if len(by_batch) > 1:
            groups.append(("device and batch", job))
        for kind, settings in groups:
            if len({each.device for each in settings}) < len(usd_per_hour):
                continue
            base = _base(settings, logs, others, prior=prior, is_new=is_new)
            prices = np.array([usd_per_hour[each.device] for each in settings]) / _SECONDS_PER_HOUR
            batches = np.array([each.batch_size for each in settings])
            truth = np.log([each.step_seconds for each in settings])
            names = [
                each.device if kind == "device" else f"{each.device} {each.batch_size}" for each in settings
            ]
            for asked, question in _questions(truth, prices, batches):
                yield Case(
                    kind=f"{asked}: {kind}",
                    names=tuple(names),
                    belief=base,
                    question=question,
                    truth=truth,
                    usd=_STEPS * prices,
                    prior=prior,
                )


def _errors_on_new(measured: Sequence[Measured]) -> Iterator[tuple[Measured, float]]:
    """By fits to other networks on other devices."""
    for (device, model), errors in held_out_logs(measured, for_new_devices=True).items():
        rows = (each for each in measured if (each.device, each.model) == (device, model))
        yield from zip(rows, errors.tolist(), strict=True)


def _base(
    settings: Sequence[Measured],
    logs: dict[Measured, float],
    others: Errors,
    *,
    prior: Prior,
    is_new: bool,
) -> Belief:
    deviations = deviations_of(others)
    thoughts = [
        Thought(
            hardware=each.device,
            batch_size=each.batch_size,
            log_seconds=math.log(each.step_seconds) - logs[each],
            device=prior.device if is_new else 0.0,
            network=prior.workload if is_new else deviations[each.device],
        )
        for each in settings
    ]
    return belief_of(thoughts, fit_kinship(others))


def _questions(truth: Floats, prices: Floats, batches: Floats) -> Iterator[tuple[str, Question]]:
    """All of a sample: its time, its cost within a time, time and cost weighed alike."""
    free = np.full(len(truth), math.inf)
    per_sample, cost = -np.log(batches), np.log(prices)
    yield "fastest", Question(exponent=1.0, unit=per_sample, most=free)
    fastest = float((truth + per_sample).min())
    for factor in _DEADLINES:
        most = fastest + math.log(factor) - per_sample
        yield "cheapest in time", Question(exponent=1.0, unit=per_sample + cost, most=most)
    yield "time x cost", Question(exponent=1.0, unit=per_sample + cost / 2, most=free)


def rows_of(cases: Sequence[Case], *, shares: Sequence[float] = SHARES) -> dict[str, dict[str, list[End]]]:
    """Rule -> share -> where it came to in each case; the random one several times."""
    random, found = np.random.default_rng(_SEED), defaultdict(dict)
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
    found["advise, stopped at 90%"]["100%"] = [_end(case, 1.0, confidence=0.9) for case in cases]
    return dict(found)


def _end(case: Case, share: float, *, confidence: float) -> End:
    total = float(case.costs.sum())
    chosen, spent = advised(case, share * total, confidence=confidence)
    return End(regret=case.regret(chosen), share=spent / total)


def plain_of(ends: Sequence[End]) -> dict[str, float]:
    """What is told of them; a broken limit counts as 100% of regret."""
    regrets = np.minimum([each.regret for each in ends], 1.0)
    return {
        "good_fraction": float(np.mean([each.is_good for each in ends])),
        "mean_regret": float(regrets.mean()),
        "p95_regret": float(np.quantile(regrets, 0.95)),
        "spent_fraction": float(np.mean([each.share for each in ends])),
        "n": len(ends),
    }


def read_jobs(folder: Path) -> tuple[list[Measured], dict[str, float]]:
    """Measurements, and dollars an hour of their devices."""
    table = read_latencies(folder)
    measured = list(measured_zoo(table))
    usd = table.rows.groupby("device")["usd_per_hour"].first().to_dict()
    return measured, {each: usd[each] for each in sorted({one.device for one in measured})}


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
                rule: {share: plain_of(ends) for share, ends in by_share.items()}
                for rule, by_share in rows_of(cases).items()
            }
            for kind, cases in by_kind.items()
        }
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(lines_of(found)))


def lines_of(found: dict[str, dict[str, dict[str, dict[str, dict[str, float]]]]]) -> Iterator[str]:
    """Tables: share of the cases within 5% of the best, and the mean regret."""
    for world, kinds in found.items():
        for kind, rules in kinds.items():
            yield f"\n{world}: {kind}, {rules['advise']['25%']['n']} cases"
            for rule, shares in rules.items():
                told = (
                    f"{share} {each['good_fraction']:.0%} ({each['mean_regret']:.1%}, "
                    f"spent {each['spent_fraction']:.0%})"
                    for share, each in shares.items()
                )
                yield f"  {rule:24} {'   '.join(told)}"


if __name__ == "__main__":
    main()
