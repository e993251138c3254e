"""Settings of one job, estimated or measured -> what is thought of them, and what is asked. Pure."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.cost import marks_of
from orchestrator.analysis.wording import counted
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.sweep import Point
from orchestrator.predict.advise import Question
from orchestrator.predict.belief import Belief, Kinship, Thought, belief_of
from orchestrator.predict.own import Own, repeated
from orchestrator.predict.prior import Prior
from orchestrator.predict.terms import Terms

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A setting of a job, whatever its trainer.

    Attributes:
        hardware: equal for those that differ in the batch size alone.
        network: deviation of what is left of a network there.
        step: as if nothing of its workload had been measured.
        measured: repeats of it; none: it was not measured.
    """

    point: Point
    hardware: Hashable
    network: float
    step: Estimate | Refusal
    measured: tuple[Own, ...]
    price: Price | Unpriced

    @property
    def setting(self) -> str:
        """`v100, fp32, 2 workers, batch 64`."""
        point = self.point
        hosts = f" on {counted(point.num_hosts, 'host')}" if point.num_hosts else ""
        workers = f"{point.num_workers} workers{hosts}, " if point.num_workers > 1 else ""
        return f"{point.device.name}, {point.precision}, {workers}batch {point.global_batch_size}"

    @property
    def usd_per_second(self) -> float:
        """NaN: no price is known."""
        return self.price.usd_per_hour / _SECONDS_PER_HOUR if isinstance(self.price, Price) else math.nan

    @property
    def price_marks(self) -> str:
        """`hypothetical, old`."""
        return ", ".join(marks_of(self.price)) if isinstance(self.price, Price) else ""

    def usd_of(self, seconds: float) -> float:
        """What so long is billed; NaN: no price is known."""
        if isinstance(self.price, Unpriced):
            return math.nan
        return self.usd_per_second * self.price.billed_seconds(seconds)

    def thought(self, prior: Prior) -> Thought | None:
        """Before its workload was measured, or of what was measured alone; None: nothing is known of it."""
        if isinstance(self.step, Estimate):
            deviation = math.log(self.step.high / self.step.likely) / prior.quantile
            network = min(deviation, self.network)
            return Thought(
                hardware=self.hardware,
                batch_size=self.point.global_batch_size,
                log_seconds=math.log(self.step.likely),
                device=math.sqrt(deviation**2 - network**2),
                network=network,
            )
        if not self.measured:
            return None
        found = repeated(self.measured, prior)
        return Thought(
            hardware=(self.hardware, self.point.global_batch_size),  # it teaches nothing of others
            batch_size=self.point.global_batch_size,
            log_seconds=found.mean,
            device=found.of_mean,
            network=0.0,
        )


def why_not(each: Contender, terms: Terms, prior: Prior) -> Refusal | None:
    """Why a setting cannot be judged; None: it can."""
    if terms.needs_prices and isinstance(each.price, Unpriced):
        return Refusal(reason=each.price.reason, to_measure="nothing: it needs a price")
    if each.thought(prior) is None and isinstance(each.step, Refusal):
        return each.step
    return None


def belief_in(known: Sequence[Contender], prior: Prior, kinship: Kinship) -> Belief:
    """What is thought of settings that can be judged, with what was measured of them."""
    thoughts = [thought for each in known if (thought := each.thought(prior))]
    found = {
        index: repeated(each.measured, prior)
        for index, each in enumerate(known)
        if each.measured and isinstance(each.step, Estimate)  # others are thought of as they were measured
    }
    return belief_of(thoughts, kinship).given(
        {index: each.mean for index, each in found.items()},
        deviation=[each.of_mean for each in found.values()],
    )


def question_of(contenders: Sequence[Contender], terms: Terms) -> Question:
    """Time^a x cost^b of a sample is to be least; limits are of one trial, its steps alone."""
    time, cost = terms.weights
    batch = np.log([each.point.global_batch_size for each in contenders])
    steps = np.log([each.point.steps for each in contenders])
    usd = np.log([each.usd_per_second for each in contenders])
    most = np.full(len(contenders), math.inf)
    if terms.wish.deadline_hours is not None:
        most = np.minimum(most, math.log(terms.wish.deadline_hours * _SECONDS_PER_HOUR) - steps)
    if terms.wish.budget_usd is not None:
        most = np.minimum(most, math.log(terms.wish.budget_usd) - steps - usd)
    unit = -(time + cost) * batch + (cost * usd if cost else 0.0)
    return Question(exponent=time + cost, unit=unit, most=most)
