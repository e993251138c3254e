"""Replay of `search=adaptive` on published measurements: cost of a clear answer, and how often it is right.

    python benchmarks/adaptive.py $ORCHESTRATOR_DATA/profet [--every N] [--setups 0,60,600] [--json]
        [--confidence 0.95] [--world published|drawn|wrong|near|noisy]

A job is one of the published networks that are known here, at one image size; its settings are devices at one
batch size, or devices and batch sizes together. A trial is 100 steps after a set-up, at the device's price.
Its result is the median of the published repeats, with the spread of one repeat drawn around it. Every
decision is the product's: `next_trial` in `orchestrator/extensions/adaptive_search/decision.py`. It stops by
itself: at a chance of 95% (`--confidence`) that its choice lies within 5% of the best. A first trial of a
setting that cannot win is pruned by the product's rule (`find_pruning` in `pruning.py` there) once the
default protocol has timed two blocks of it; it costs its set-up and the steps until then.

Three states of knowledge: `known`, the devices were measured with other networks; `new`, the devices were
never seen; `cold`, nothing is predicted, as on a CPU with a job of one's own. Rules beside it see the same
noise: random search and cheapest first with the money that the adaptive search spent in that case; successive
halving on steps (4, 12, 36, 100; a third goes on; the set-up is paid again); the whole grid; and the cheapest
good setting alone, which nobody knows before: no rule that measures what it recommends can spend less.

`--world` replaces the published steps by others (`adaptive_worlds.py`): the four devices of the published
data do not show whether a stated chance holds on other ones.
"""

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from adaptive_worlds import WORLDS, case_in
from advise import Case, cases_of, read_jobs

from orchestrator.analysis.measurements.setting import Setting
from orchestrator.analysis.recommendation.answer.judgement import Judgement, judge
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, PrunedRun, Run
from orchestrator.analysis.recommendation.model.criteria import Criteria
from orchestrator.core.estimate import ErrorModel
from orchestrator.core.objective import Objective
from orchestrator.core.price import Price
from orchestrator.core.trial_progress import TrialProgress
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.extensions.adaptive_search.decision import Choice, Leader, next_trial
from orchestrator.extensions.adaptive_search.pruning import find_pruning

TOLERANCE, CONFIDENCE = 0.05, 0.95
KNOWLEDGE = ("known", "new", "cold")
PARTS = ("winner", "losers", "pruned", "repeats")
"""Parts of the cost of a search: the first whole trial of its choice, those of other settings, pruned trials,
and further trials of a setting."""

_STEPS, _SAMPLES = 100, 10**6
_RUNGS, _KEPT = (4, 12, 36, 100), 3
_SECONDS_PER_HOUR = 3600
_BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_MOST_REPEATS = 5
_TIMING = TimingSpec()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one rule in one case.

    Attributes:
        share: of the cost of the whole grid that was spent.
        chance: what the rule says its chance to be right is; NaN where it says nothing.
        looks: share of the settings that were measured.
        pruned: share of the settings that were pruned.
        parts: part of PARTS -> share of the cost of the whole grid.
    """

    is_right: bool
    share: float
    chance: float = math.nan
    looks: float = math.nan
    pruned: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)


class Trials:
    """Trials of one case, with their noise and their bill.

    Args:
        setup: seconds of every trial before its steps.
    """

    def __init__(self, case: Case, *, setup: float, seed: int) -> None:
        self.case, self.setup = case, setup
        self._random = np.random.default_rng(seed)
        self.spent = 0.0

    def cost(self, setting: int, *, steps: int = _STEPS) -> float:
        """Return the dollars of a trial."""
        seconds = self.setup + steps * math.exp(self.case.truth[setting])
        return float(seconds * self.case.usd_per_hour[setting] / _SECONDS_PER_HOUR)

    def step(self, setting: int, *, steps: int = _STEPS) -> float:
        """Run a trial: seconds of a step."""
        self.spent += self.cost(setting, steps=steps)
        return self.noisy_step(setting)

    def noisy_step(self, setting: int) -> float:
        """Return the seconds of a step in a trial of its own, and leave the bill as it is."""
        noise = self.case.noise * self._random.standard_normal()
        return math.exp(float(self.case.truth[setting]) + noise)

    @property
    def grid(self) -> float:
        """Return the cost of one trial of every setting."""
        return sum(self.cost(setting) for setting in range(len(self.case.truth)))


def adaptive(case: Case, *, setup: float, seed: int, is_cold: bool, confidence: float) -> Outcome:
    """Let the product choose trial after trial until it stops."""
    trials = Trials(case, setup=setup, seed=seed)
    job, criteria, errors = build_question(case, is_cold=is_cold, confidence=confidence)
    bills: list[tuple[str, float]] = []
    while True:
        known = judge(job, criteria, errors)
        decided = next_trial(
            job, criteria, errors, running={}, format_obstacle=lambda _: "", in_usd=True, known=known
        )
        if not isinstance(decided, Choice):
            break
        before = trials.spent
        job = _with_trial(job, decided.setting, trials, known, criteria, errors)
        bills.append((decided.setting, trials.spent - before))
    leader = decided.leader
    return Outcome(
        is_right=_is_right(case, leader, job),
        share=trials.spent / trials.grid,
        chance=leader.chance if leader else math.nan,
        looks=sum(bool(one.runs) for one in job.candidates) / len(job.candidates),
        pruned=sum(bool(one.pruned) for one in job.candidates) / len(job.candidates),
        parts=_divide_cost(bills, job, leader, grid=trials.grid),
    )


def _divide_cost(
    bills: Sequence[tuple[str, float]], job: Job, leader: Leader | None, *, grid: float
) -> dict[str, float]:
    """Divide the cost: the pruned trials of a setting come before its whole ones."""
    pruned = {one.label: len(one.pruned) for one in job.candidates}
    seen: Counter[str] = Counter()
    parts = dict.fromkeys(PARTS, 0.0)
    for setting, usd in bills:
        seen[setting] += 1
        if seen[setting] <= pruned[setting]:
            part = "pruned"
        elif seen[setting] > pruned[setting] + 1:
            part = "repeats"
        else:
            part = "winner" if leader is not None and setting == leader.setting else "losers"
        parts[part] += usd / grid
    return parts


def _is_right(case: Case, leader: Leader | None, job: Job) -> bool:
    labels = [one.label for one in job.candidates]
    return leader is not None and case.regret(labels.index(leader.setting)) <= TOLERANCE


def _with_trial(
    job: Job, label: str, trials: Trials, known: Judgement, criteria: Criteria, errors: ErrorModel
) -> Job:
    """Run a trial, as far as the product lets it run."""
    index = next(index for index, one in enumerate(job.candidates) if one.label == label)
    one = job.candidates[index]
    step = trials.noisy_step(index)
    steps = _steps_until_judged(step)
    shown = TrialProgress(steps=steps, training_seconds=steps * step, step_seconds=(step, step))
    pruning = find_pruning(
        job, label, shown, criteria=criteria, errors=errors, known=known, stops_on_curve=_no_curves
    )
    if pruning is None:
        trials.spent += trials.cost(index)
        told = replace(one, runs=(*one.runs, _run_of(one, step, trials.setup)))
    else:
        trials.spent += trials.cost(index, steps=steps)
        seconds = trials.setup + steps * step
        early = PrunedRun(
            question=pruning.question, why=pruning.why, step_seconds=step, trial_seconds=seconds
        )
        told = replace(one, pruned=(*one.pruned, early))
    told = replace(told, trial_ids=one.trial_ids[1:])
    return replace(job, candidates=(*job.candidates[:index], told, *job.candidates[index + 1 :]))


def _steps_until_judged(step_seconds: float) -> int:
    """Count the steps that the default protocol takes before it has two timed blocks.

    Its warm-up is one block or more, and leaves room for the least number of timed blocks.
    """
    first = 1 + _TIMING.warmup_steps
    room = (_STEPS - first) // _TIMING.steps_per_block - _TIMING.min_blocks
    missing = _TIMING.min_warmup_seconds / step_seconds - first
    warmup = min(room, max(1, math.ceil(missing / _TIMING.steps_per_block)))
    return first + (warmup + 2) * _TIMING.steps_per_block


def _no_curves(*_: object) -> bool:
    return False


def _run_of(one: CandidateSetting, step: float, setup: float) -> Run:
    return Run(
        fixed_seconds=0.0,
        step_seconds=step,
        samples=_STEPS * one.batch_size,
        seconds_to_target=None,
        samples_to_target=None,
        quality=None,
        held_out_samples=None,
        seed=0,
        trial_seconds=setup + _STEPS * step,
        is_noisy=False,
    )


def build_question(case: Case, *, is_cold: bool, confidence: float) -> tuple[Job, Criteria, ErrorModel]:
    """Ask the product what the case asks."""
    candidates = tuple(
        CandidateSetting(
            setting=Setting(
                workload="replay",
                device=prior.hardware,
                trainer="",
                precision="fp32",
                num_workers=1,
                num_hosts="",
                replicas="",
                global_batch_size=prior.batch_size,
            ),
            label=f"{prior.hardware} {prior.batch_size}",
            steps=_STEPS,
            words=(f"device={prior.hardware}", f"global_batch_size={prior.batch_size}"),
            prior=None if is_cold else prior,
            price=_price(float(usd)),
            num_missing=_MOST_REPEATS,
            trial_ids=tuple(f"{prior.hardware} {prior.batch_size} {n}" for n in range(_MOST_REPEATS)),
        )
        for prior, usd in zip(case.priors, case.usd_per_hour, strict=True)
    )
    job = Job(
        where="replay",
        sweep="replay",
        aim=None,
        target=None,
        samples=_SAMPLES,
        length="",
        candidates=candidates,
    )
    errors = ErrorModel(
        correlation=case.correlation,
        repeat=case.prior.repeat,
        quantile=case.prior.quantile,
    )
    return job, Criteria(objective=_objective(case), confidence=confidence, learns=True), errors


def _objective(case: Case) -> Objective:
    if case.goal == "fastest":
        return Objective(goal="fastest", samples=_SAMPLES)
    if case.goal == "time x cost":
        return Objective(goal="balanced", weight_quality=0.0, samples=_SAMPLES)
    hours = math.exp(case.objective.log_most_seconds) * _SAMPLES / _SECONDS_PER_HOUR
    return Objective(goal="cheapest", deadline_hours=hours, samples=_SAMPLES)


def _price(usd_per_hour: float) -> Price:
    return Price(
        prices="published",
        instance="published",
        nodes=1,
        region="published",
        provisioning="on_demand",
        currency="USD",
        node_usd_per_hour=usd_per_hour,
        as_of="2022-01-01",
        priced_on="2022-01-01",
        billing_seconds=1e-6,
        source="published",
        is_hypothetical=False,
        max_age_days=180,
        note=None,
    )


def in_order(case: Case, order: Sequence[int], *, setup: float, seed: int, most: float) -> Outcome:
    """Measure one setting after the other, as far as the money goes, and choose the best of them."""
    trials = Trials(case, setup=setup, seed=seed)
    seen: dict[int, float] = {}
    for setting in order:
        if trials.spent + trials.cost(setting) <= most * (1 + 1e-9):
            seen[setting] = math.log(trials.step(setting))
    return _find_best(case, seen or {order[0]: float(case.truth[order[0]])}, trials)


def halving(case: Case, *, setup: float, seed: int) -> Outcome:
    """Measure all with few steps, and the best third with more: successive halving on steps."""
    trials = Trials(case, setup=setup, seed=seed)
    left = list(range(len(case.truth)))
    seen: dict[int, float] = {}
    for steps in _RUNGS:
        seen = {setting: math.log(trials.step(setting, steps=steps)) for setting in left}
        value = _values(case, seen)
        left = sorted(left, key=lambda setting: value[setting])[: max(1, math.ceil(len(left) / _KEPT))]
    return _find_best(case, seen, trials)


def _values(case: Case, seen: dict[int, float]) -> dict[int, tuple[float, float]]:
    logs = case.truth.copy()
    for setting, value in seen.items():
        logs[setting] = value
    value = case.objective.value(logs)
    return {setting: (float(value[setting]), float(logs[setting])) for setting in seen}


def _find_best(case: Case, seen: dict[int, float], trials: Trials) -> Outcome:
    value = _values(case, seen)
    chosen = min(seen, key=lambda setting: value[setting])
    return Outcome(
        is_right=case.regret(chosen) <= TOLERANCE,
        share=trials.spent / trials.grid,
        looks=len(seen) / len(case.truth),
    )


def outcomes_of(
    cases: Sequence[Case], *, setup: float, is_cold: bool, confidence: float = CONFIDENCE
) -> dict[str, list[Outcome]]:
    """Collect rule -> its outcome in each case."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for seed, case in enumerate(cases):
        random = np.random.default_rng(seed)
        ours = adaptive(case, setup=setup, seed=seed, is_cold=is_cold, confidence=confidence)
        trials = Trials(case, setup=setup, seed=seed)
        costs = [trials.cost(setting) for setting in range(len(case.truth))]
        most, any_order = ours.share * trials.grid, random.permutation(len(costs)).tolist()
        found["adaptive"].append(ours)
        found["random"].append(in_order(case, any_order, setup=setup, seed=seed, most=most))
        cheapest = np.argsort(costs).tolist()
        found["cheapest first"].append(in_order(case, cheapest, setup=setup, seed=seed, most=most))
        found["successive halving"].append(halving(case, setup=setup, seed=seed))
        best = [setting for setting in range(len(costs)) if case.regret(setting) <= TOLERANCE]
        oracle = min(best, key=lambda setting: costs[setting])
        found["the best alone"].append(in_order(case, [oracle], setup=setup, seed=seed, most=math.inf))
        found["whole grid"].append(in_order(case, cheapest, setup=setup, seed=seed, most=math.inf))
    return dict(found)


def convert_to_plain(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Sum outcomes up."""
    return {
        "right": float(np.mean([one.is_right for one in outcomes])),
        "share": float(np.mean([one.share for one in outcomes])),
        "median_share": float(np.median([one.share for one in outcomes])),
        "looks": float(np.mean([one.looks for one in outcomes])),
        "pruned": float(np.mean([one.pruned for one in outcomes])),
        **{part: float(np.mean([one.parts.get(part, math.nan) for one in outcomes])) for part in PARTS},
        "said": float(np.mean([one.chance for one in outcomes])),
        "n": len(outcomes),
    }


def calibration_of(outcomes: Sequence[Outcome]) -> list[dict[str, float]]:
    """Compare what was said with what was: one row per bin of the stated chance."""
    rows = []
    for low, high in pairwise(_BINS):
        inside = [one for one in outcomes if low <= one.chance < high or (high == 1.0 == one.chance)]
        if inside:
            said = float(np.mean([one.chance for one in inside]))
            right = float(np.mean([one.is_right for one in inside]))
            rows.append({"low": low, "high": high, "said": said, "right": right, "n": len(inside)})
    return rows


def list_lines(title: str, found: dict[str, list[Outcome]], kinds: Sequence[str]) -> Iterator[str]:
    """Write a table of one state of knowledge and one set-up, and our share by kind of question."""
    yield f"\n{title}, {len(found['adaptive'])} questions"
    yield f"  {'rule':20} right  share of the grid's cost, mean (median)  settings measured, pruned"
    for rule, outcomes in found.items():
        told = convert_to_plain(outcomes)
        yield (
            f"  {rule:20} {told['right']:5.0%}  {told['share']:8.0%} ({told['median_share']:.0%})"
            f"{told['looks']:33.0%}{told['pruned']:8.0%}"
        )
    ours = convert_to_plain(found["adaptive"])
    paid = ", ".join(f"{part} {ours[part]:.1%}" for part in PARTS)
    yield f"  the adaptive search paid for: {paid}; said {ours['said']:.1%}, right {ours['right']:.1%}"
    cells = (
        f"{row['said']:.0%} -> {row['right']:.0%} ({row['n']})" for row in calibration_of(found["adaptive"])
    )
    yield f"  said -> right (questions): {', '.join(cells)}"
    for kind in dict.fromkeys(kinds):
        ours, least = (
            convert_to_plain([one for one, own in zip(found[rule], kinds, strict=True) if own == kind])
            for rule in ("adaptive", "the best alone")
        )
        yield (
            f"  {kind}: {ours['n']} questions, right {ours['right']:.0%}, share {ours['share']:.0%}, "
            f"the best alone {least['share']:.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one question of so many")
    parser.add_argument("--setups", default="0,60,600")
    parser.add_argument("--knowledge", default=",".join(KNOWLEDGE))
    parser.add_argument("--confidence", type=float, default=CONFIDENCE)
    parser.add_argument("--world", choices=WORLDS, default="published")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    measured, usd = read_jobs(arguments.data)
    told: dict[str, object] = {}
    for knowledge in arguments.knowledge.split(","):
        asked = list(cases_of(measured, usd, is_new=knowledge == "new"))[:: arguments.every]
        cases = [case_in(arguments.world, case, seed=seed) for seed, case in enumerate(asked)]
        for setup in map(float, arguments.setups.split(",")):
            title = f"{knowledge}, set-up {setup:g} s"
            found = outcomes_of(
                cases, setup=setup, is_cold=knowledge == "cold", confidence=arguments.confidence
            )
            told[title] = {
                "rules": {rule: convert_to_plain(outcomes) for rule, outcomes in found.items()},
                "calibration": calibration_of(found["adaptive"]),
            }
            kinds = [case.kind.partition(": ")[2] for case in cases]
            for kind in dict.fromkeys(kinds):
                told[f"{title}: {kind}"] = {
                    rule: convert_to_plain([one for one, own in zip(rows, kinds, strict=True) if own == kind])
                    for rule, rows in found.items()
                }
            if not arguments.json:
                print("\n".join(list_lines(title, found, kinds)), flush=True)
    if arguments.json:
        print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
