"""Adaptive searches over records that a world makes up: true step seconds of every setting, and one noise."""

import math
from dataclasses import replace

import numpy as np
from budget_builders import uncapped
from builders import placement, record, train_result, trial_spec
from plan_builders import here
from price_builders import price
from report_builders import AIMS, TRAININGS

from orchestrator.core.objective import FASTEST
from orchestrator.core.placement import Cached, Plan
from orchestrator.core.result import Failure
from orchestrator.core.search import Search
from orchestrator.core.trial_progress import Evaluation, Target, TargetRun, TrialProgress
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.execute.scheduling.queue import Queue
from orchestrator.extensions.adaptive_search.sweep_search import SweepSearch

STEPS, LAUNCH = 100, 2.0


def grid(
    *,
    trainers=("torch_ddp", "tensorflow"),
    batches=(16, 64, 256, 1024),
    precisions=("fp32", "bf16"),
    repeats=3,
    target=None,
):
    """Placements of a grid on this CPU, in the order of their repeats."""
    specs = [
        trial_spec(
            trainer=trainer,
            precision=precision,
            global_batch_size=batch,
            repeat=repeat,
            steps=STEPS,
            timing=TimingSpec(target=target),
            data="synthetic:1",
        )
        for repeat in range(repeats)
        for trainer in trainers
        for precision in precisions
        for batch in batches
    ]
    return [placement(spec, cpus=2) for spec in specs]


def true_seconds(spec):
    """A fixed part and one per sample; tensorflow and bf16 are slower, and batches make up for it."""
    factor = {"tensorflow": 1.6}.get(spec.trainer, 1.0) * {"bf16": 1.3}.get(spec.precision, 1.0)
    return factor * (0.02 + 0.0005 * spec.global_batch_size)


class World:
    """A sweep whose trials take what `estimate_seconds` says, with a noise per trial_id.

    Args:
        steps_to_target: trial -> steps after which the quality reaches the trial's target; None: never.
        is_disturbed: trial -> something else took half of the host's time.

    Attributes:
        records: records of the trials that ran, in their order.
        asked: trial_ids in the order in which the search asked for them.
    """

    def __init__(
        self,
        placements,
        *,
        estimate_seconds=true_seconds,
        noise=0.01,
        find_failure=None,
        steps_to_target=lambda _: STEPS,
        stops_on_curve=lambda *_: False,
        is_disturbed=lambda _: False,
        tells=False,
        **search,
    ):
        self.placements = placements
        self.estimate_seconds, self.noise, self.find_failure = estimate_seconds, noise, find_failure
        self.steps_to_target, self.is_disturbed = steps_to_target, is_disturbed
        self.stops_on_curve, self.tells = stops_on_curve, tells
        self.search = Search(name="adaptive", **search)
        self.records, self.asked = [], []

    def plan(self, **changes):
        """The plan: what has a record is cached."""
        done = {one.trial_id for one in self.records}
        left = tuple(one for one in self.placements if one.trial_id not in done)
        cached = tuple(
            Cached(trial=one.trial, trial_id=one.trial_id, provenance="measured")
            for one in self.placements
            if one.trial_id in done
        )
        plan = Plan(
            sweep="example",
            placements=left,
            cached=cached,
            skipped=(),
            aims=AIMS,
            trainings=TRAININGS,
            search=self.search,
            prices={one.trial_id: price() for one in self.placements if not one.trial.repeat},
        )
        return replace(plan, **changes)

    def started(self, objective=FASTEST, **changes):
        """The search of a command that starts now."""
        plan = self.plan(**changes)
        return SweepSearch(
            plan,
            objective,
            placements=plan.placements,
            records=self.records,
            stops_on_curve=self.stops_on_curve,
        )

    def run(self, *, at_once=1, most=10_000, objective=FASTEST, **changes):
        """Run the queue as an executor does, `at_once` trials at a time; stop after so many, as if killed."""
        search = self.started(objective, **changes)
        left = {one.trial_id: one for one in self.plan().placements}
        queue = Queue(
            tuple(left.values()),
            inventory=here(cpus=2 * at_once),
            prior_attempts={},
            retry_limits={},
            budget_tracker=uncapped(),
            chooser=search,
        )
        running = []
        while not queue.is_drained and len(self.records) < most:
            while len(running) < at_once and (attempt := queue.take()):
                running.append(attempt)
                self.asked.append(attempt.placement.trial_id)
            if running:
                attempt = running.pop(0)
                ended = self.told(queue, attempt) if self.tells else None
                ended = ended or self.outcome(attempt.placement)
                self.records.append(ended)
                queue.end(ended)
        return search

    def told(self, queue, attempt):
        """The record of a trial that is ended on its way; None: it is not."""
        whole = self.outcome(attempt.placement).result
        if whole is None:
            return None
        step = whole.training_seconds / whole.steps
        for blocks in range(1, 1 + whole.steps // 10):
            looks = [one for one in self.curve_of(attempt.placement.trial) if one.steps <= 10 * blocks]
            shown = TrialProgress(
                steps=10 * blocks,
                training_seconds=10 * blocks * step,
                step_seconds=(step,) * blocks,
                curve=tuple(replace(one, training_seconds=one.steps * step) for one in looks),
            )
            queue.add_progress(attempt, shown)
            if attempt in queue.leaving():
                stopped = Failure(kind="preempted", message="told to leave")
                ended = record(placement=attempt.placement, failure=stopped, price=price())
                spans = {"started_at": 0.0, "ended_at": LAUNCH + 10 * blocks * step}
                return queue.with_cause(replace(ended, **spans))
        return None

    def curve_of(self, trial):
        """Evaluations after every ten steps of a training to a target, a straight line to it."""
        target = trial.timing.target
        last = self.steps_to_target(trial)
        if target is None:
            return ()
        return tuple(
            Evaluation(
                steps=steps,
                training_seconds=0.0,
                quality=target * steps / last if last else 0.5 * target * steps / STEPS,
            )
            for steps in range(10, 1 + (last or STEPS), 10)
        )

    def outcome(self, placed):
        """The record of a trial."""
        failure = self.find_failure(placed.trial) if self.find_failure else None
        if failure:
            return record(placement=placed, failure=Failure(kind=failure, message="as the test wants"))
        random = np.random.default_rng(int(placed.trial_id[:8], 16))
        step = self.estimate_seconds(placed.trial) * math.exp(self.noise * random.standard_normal())
        blocks = tuple(10 * step for _ in range(8))
        steps, pursuit = STEPS, None
        if placed.trial.timing.target is not None:
            target = placed.trial.timing.target
            steps, quality = self.steps_to_target(placed.trial), target
            if steps is None:
                steps, quality = STEPS, 0.5 * target
            way = [one for one in self.curve_of(placed.trial) if one.steps < steps]
            looks = (
                *(replace(one, training_seconds=one.steps * step) for one in way),
                Evaluation(steps=steps, training_seconds=steps * step, quality=quality),
            )
            goal = Target(metric="accuracy", value=target)
            pursuit = TargetRun(target=goal, curve=looks, evaluation_seconds=0.1)
        result = train_result(
            block_seconds=(blocks,),
            steps=steps,
            samples=steps * placed.trial.global_batch_size,
            launch_seconds=LAUNCH,
            first_step_seconds=step,
            training_seconds=steps * step,
            cpu_seconds=(sum(blocks) * (0.5 if self.is_disturbed(placed.trial) else 1.0),),
            pursuit=pursuit,
        )
        return replace(
            record(placement=placed, result=result, price=price()),
            ended_at=LAUNCH + steps * step + 1.0,
            started_at=0.0,
        )
