"""The answer for one job: which setting to take, how sure that is, and what to measure next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.analysis.metrics.quality import QualityInterval
from orchestrator.analysis.recommendation.model.candidate import TimeBasis
from orchestrator.core.interval import Spread, compute_spread
from orchestrator.core.memory_fit import MemoryDoubt
from orchestrator.core.placement import Aim
from orchestrator.core.price import Price, Unpriced

_MILLION = 1e6

AnswerState = Literal["settled", "tie", "not settled", "none"]
"""`settled`: one measured setting is good with the requested confidence, and better than its rivals ·
`tie`: measured settings share the lead · `none`: no setting keeps to the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSetting:
    """A setting with its measurements and predictions.

    Attributes:
        num_runs, num_noisy, num_outliers, num_resumed: all measured trainings, those that something else
            disturbed, quiet ones that do not agree with the others, and those that went on from a checkpoint.
        factors: value of every axis by its key: `device` -> `t4`.
        low, likely, high: seconds of a step; 90 of 100 measurements are to lie between them.
        rates, noisy_rates: samples per second of each run that decides, and of each disturbed one.
        fixed_seconds: launch, first step and `evaluation_seconds`, an evaluation at the end, the medians of
            the runs that decide; of settings that were not measured those of the measured ones, 0 without.
        usd_per_second: price of the hardware; None: no price is known.
        price_marks: `hypothetical, old`.
        is_rented: a machine starts for its trials: a pool has its devices, or they are not here.
        chance: probability that it keeps to the limits and lies within the tolerance of the best.
        chance_within_limits: probability that it keeps to them.
        seconds, usd: of the job, `fixed_seconds` included, without boot of a machine (`describe_setup`): of
            measured settings with the 95% interval of the mean, of predicted ones with their 90% interval;
            None: no price is known. Without a target the seconds are `fixed_seconds` and the samples of the
            job over `samples_per_second`, and `checkpoint_share` of those for checkpoints.
        quality: quality with its 95% interval, after `quality_samples`; None: not measured.
        price: price of its hardware; None: none was looked up.
        checkpoint_seconds: mean time of a checkpoint; None: not measured.
        doubt: why it may not fit the memory; empty: nothing is known against it.
        on_front: no other measured setting is shown better in one criterion and no worse in the others.
    """

    setting: str
    provenance: TimeBasis
    num_runs: int
    num_noisy: int
    num_outliers: int
    num_resumed: int
    factors: Mapping[str, str]
    batch_size: int
    low: float
    likely: float
    high: float
    rates: tuple[float, ...]
    noisy_rates: tuple[float, ...]
    fixed_seconds: float
    usd_per_second: float | None
    price_marks: str
    chance: float
    chance_within_limits: float
    seconds: Spread
    usd: Spread | None
    quality: QualityInterval | None
    quality_samples: int
    on_front: bool = False
    is_rented: bool = False
    price: Price | Unpriced | None = None
    checkpoint_seconds: float | None = None
    checkpoint_share: float = 0.0
    evaluation_seconds: float = 0.0
    doubt: MemoryDoubt = ""

    @property
    def device(self) -> str:
        """Its device; of workers that are not alike, those of all: `t4+cpu`."""
        return self.factors.get("device") or self.factors.get("devices", "").strip("[]").replace(",", "+")

    @property
    def samples_per_second(self) -> Spread:
        """Steady rate: mean and range of the runs that decide; without one, the rate of a step."""
        if self.rates:
            return compute_spread(self.rates)
        return Spread(median=self.likely, low=self.low, high=self.high).dividing(self.batch_size)

    @property
    def usd_per_million_samples(self) -> Spread | None:
        """Cost of a million samples at that rate, steps alone; None: no price is known."""
        if self.usd_per_second is None:
            return None
        return self.samples_per_second.dividing(self.usd_per_second * _MILLION)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextTrial:
    """A trial to measure.

    Attributes:
        hours, usd: expected length and cost, with `price_marks`; None without a price.
        chance: probability that its setting is good.
        gain: expected rise of the leader's chance after it, or after it and the setting it is compared with.
        chance_then: probability of the leader, if this trial and those before it come out as predicted.
        command: command that runs it.
    """

    setting: str
    hours: float
    usd: float | None
    price_marks: str
    chance: float
    gain: float
    chance_then: float
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedSetting:
    """A setting that is not judged.

    Attributes:
        to_measure: measurement that would include it; empty if only a price is missing.
        may_be_best: True if the answer cannot be settled without it.
        is_noisy: True if it was measured, but on a busy host alone.
    """

    setting: str
    reason: str
    to_measure: str
    may_be_best: bool = True
    is_noisy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """Measurement or command that would settle the answer.

    Attributes:
        why: reason, in words.
        command: command that does it; empty if none does.
        usd, hours: likely cost and time; None: not known, with `price_marks` of that price.
        is_without_setup: these are of the steps alone, as no record has the other parts of a trial.
        start: what a machine that is rented for it takes and costs beside them, in words; empty: it is not
            known to need one.
        is_here: False for a trial on a device that is not here.
    """

    why: str
    command: str = ""
    usd: float | None = None
    hours: float | None = None
    price_marks: str = ""
    is_without_setup: bool = False
    start: str = ""
    is_here: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The answer for one job.

    Attributes:
        job: workload and data in words.
        asked: goal and limits in words.
        aim: the quality that counts; None: unknown.
        basis: basis of the comparison: the length of the job and its source.
        samples: that length; None: a target ends the job.
        length: the same in words, `5 epochs`; empty where no one asked for it or declared it.
        epoch_samples: samples of the training set; None: unknown.
        standings: judged settings, the leader first, then by chance.
        chosen: the measured setting to take, also as long as a setting that was not measured may be better;
            None: no measured setting is good.
        tied: measured settings that share their lead; empty: no tie.
        chosen_by: criterion that decides among tied settings.
        runner_up: the next best measured setting; empty without one.
        ahead: its seconds, or where `is_by_cost` its dollars, over those of the chosen one, with the 95%
            interval.
        reasons: why the answer is not settled.
        is_by_quality: quality alone decides.
        caveats: effects that the comparison ignores.
        errands: trials in the order to measure them.
        left_out: settings that are not judged.
        tolerance: how far above the best a good setting may lie, as a share.
        budget_usd: the most that all further measurements may cost; None: no cap.
        is_limit: a target may end trials before all of their steps, so hours and dollars are upper bounds.
        besides_seconds: set-up and other time of a trial besides its steps; None: unknown.
        num_trials, num_noisy: measured trainings of the job, and those that something else disturbed.
        input: input of the job's network in words; empty: unknown.
    """

    job: str
    asked: str
    aim: Aim | None
    basis: str
    samples: int | None
    epoch_samples: int | None
    confidence: float
    tolerance: float
    budget_usd: float | None
    state: AnswerState
    standings: tuple[RankedSetting, ...]
    chosen: str | None
    tied: tuple[str, ...]
    chosen_by: str
    runner_up: str
    ahead: Spread | None
    is_by_cost: bool
    is_by_quality: bool
    reasons: tuple[str, ...]
    caveats: tuple[str, ...]
    next_step: NextStep | None
    errands: tuple[NextTrial, ...]
    left_out: tuple[ExcludedSetting, ...]
    is_limit: bool
    besides_seconds: float | None
    num_trials: int
    num_noisy: int
    length: str = ""
    input: str = ""

    @property
    def winner(self) -> RankedSetting | None:
        """The setting to take; as long as that is not settled, the one with the highest chance."""
        return self.standings[0] if self.standings and self.state != "none" else None

    @property
    def best_measured(self) -> RankedSetting | None:
        """The measured setting to take if no other one could be measured."""
        return next((one for one in self.standings if one.setting == self.chosen), None)

    @property
    def is_only_one(self) -> bool:
        """True where there is no other setting to choose."""
        return self.state == "settled" and len(self.standings) == 1 and not self.left_out

    @property
    def is_clear(self) -> bool:
        """True where nothing needs to be measured."""
        return self.state == "settled"
