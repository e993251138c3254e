"""One job and the settings that could train it, measured or not."""

import math
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from orchestrator.analysis.measurements.setting import Setting
from orchestrator.core.deciding import find_deciding
from orchestrator.core.errors import FailureKind
from orchestrator.core.estimate import EstimateProvenance, Refusal, StepPrior
from orchestrator.core.interval import compute_spread
from orchestrator.core.memory_fit import MemoryDoubt
from orchestrator.core.placement import Aim
from orchestrator.core.price import Price, Unpriced, find_marks
from orchestrator.core.trial_progress import Target

_SECONDS_PER_HOUR = 3600
_LEAST_USD_PER_SECOND = 1e-12

TimeBasis = Literal["measured"] | EstimateProvenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measured training, with the times from which a longer one is estimated.

    Attributes:
        fixed_seconds: launch, the part of the first step that exceeds a steady one (tracing, compiling), and
            `last_evaluation_seconds`, the evaluation at the end.
        step_seconds: a steady step; of a training in phases, the mean over all of its steps.
        samples: samples that it trained on.
        missed_target: it ended before the target was reached.
        curve: (training seconds, quality) at every evaluation on the way to a target.
        seconds_to_target, samples_to_target: launch, training and evaluations until the target was found
            reached, and the samples trained until then; None: not reached, not known of a resumed run, or the
            job has no target.
        launch_seconds, evaluation_seconds: the parts of `seconds_to_target` beside the training.
        quality: on held-out data at its end, of the metric that counts; None: not measured.
        trial_seconds: time of the whole attempt.
        is_noisy: something else disturbed it, by the counters in its record.
        is_resumed: it went on from a checkpoint.
        checkpoint_seconds: mean time of a checkpoint; None: it wrote none.
        checkpoint_share: time of all its checkpoints over that of its training.
    """

    fixed_seconds: float
    step_seconds: float
    samples: int
    seconds_to_target: float | None
    samples_to_target: int | None
    quality: float | None
    held_out_samples: int | None
    seed: int
    trial_seconds: float
    is_noisy: bool
    is_resumed: bool = False
    missed_target: bool = False
    curve: tuple[tuple[float, float], ...] = ()
    launch_seconds: float = 0.0
    evaluation_seconds: float = 0.0
    last_evaluation_seconds: float = 0.0
    checkpoint_seconds: float | None = None
    checkpoint_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedRun:
    """A trial that a search ended early, with what it measured of its setting.

    Attributes:
        question: goal, limits and price under which it could not win.
        why: comparison that showed it.
        step_seconds: fastest steady step that it showed; None: none was timed.
        trial_seconds: time of the attempt.
        curve: as in `Run`.
    """

    question: str
    why: str
    step_seconds: float | None
    trial_seconds: float
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSetting:
    """A setting that could train a job: device, workers, trainer, precision and batch size.

    Attributes:
        setting: what its label is made of; its length and timing are left out, as of any setting of a job.
        steps: optimizer steps of one trial in the sweep.
        label: a name that no other setting of the job has; empty until all of them are known.
        words: words of a command line that asks for this setting: `device=t4`.
        runs: measured trainings; empty: none.
        pruned: trials that a search ended early: no results, but measured steps.
        prior: step time as predicted before the workload was measured; None: not predicted.
        refusal: why a setting without runs is not predicted.
        price: None where none was looked up.
        is_rented: a machine starts for its trials: a pool has its devices, or they are not here.
        num_missing: trials of the plan that have no record.
        trial_ids: these trials, in the order of the plan.
        num_failed: trials that failed and may succeed another time.
        failure_kinds: kinds of the failures of its trials.
        fatal: why the setting cannot train the job, as its trials showed: `diverged in 1 of 3 trials`; empty:
            nothing showed that.
        quiet: runs that nothing else disturbed and that agree with each other: these alone decide.
    """

    setting: Setting
    steps: int
    label: str = ""
    words: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    pruned: tuple[PrunedRun, ...] = ()
    prior: StepPrior | None = None
    refusal: Refusal | None = None
    price: Price | Unpriced | None = None
    is_rented: bool = False
    num_missing: int = 0
    trial_ids: tuple[str, ...] = ()
    num_failed: int = 0
    failure_kinds: frozenset[FailureKind] = frozenset()
    fatal: str = ""
    quiet: tuple[Run, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = [1 / run.step_seconds for run in self.runs]
        decides = find_deciding(rates, [not run.is_noisy for run in self.runs])
        quiet = tuple(run for run, counts in zip(self.runs, decides, strict=True) if counts)
        object.__setattr__(self, "quiet", quiet)

    @property
    def precision(self) -> str:
        """Its arithmetic."""
        return self.setting.precision

    @property
    def batch_size(self) -> int:
        """Samples of a step, all replicas together."""
        return self.setting.global_batch_size

    @property
    def step_seconds(self) -> float | None:
        """Seconds of a step of the runs that decide; None: there are none."""
        return compute_spread([run.step_seconds for run in self.quiet]).median if self.quiet else None

    @property
    def fixed_seconds(self) -> float | None:
        """Time beside the steps, the median of these runs; None: there are none."""
        return median(run.fixed_seconds for run in self.quiet) if self.quiet else None

    @property
    def checkpoint_share(self) -> float:
        """Time of checkpoints over that of the training, the median of these runs; 0: there are none."""
        return median(run.checkpoint_share for run in self.quiet) if self.quiet else 0.0

    @property
    def checkpoint_seconds(self) -> float | None:
        """Seconds of a checkpoint, the median of these runs; None: they wrote none."""
        measured = [run.checkpoint_seconds for run in self.quiet if run.checkpoint_seconds is not None]
        return median(measured) if measured else None

    @property
    def seconds_to_target(self) -> float | None:
        """Compute launch, training and evaluations until the target; None: unknown from these runs.

        The training is the geometric mean of these runs, the rest their medians.
        """
        measured = [(run, run.seconds_to_target) for run in self.quiet if run.seconds_to_target is not None]
        if not measured:
            return None
        launch = median(run.launch_seconds for run, _ in measured)
        evaluation = median(run.evaluation_seconds for run, _ in measured)
        trainings = [seconds - run.launch_seconds - run.evaluation_seconds for run, seconds in measured]
        return launch + compute_spread(trainings).median + evaluation

    @property
    def steps_seen(self) -> tuple[float, ...]:
        """Seconds of a step of every quiet run; where there is none, those that pruned trials showed."""
        of_runs = tuple(run.step_seconds for run in self.quiet)
        return of_runs or tuple(one.step_seconds for one in self.pruned if one.step_seconds)

    @property
    def most_step_seconds(self) -> float | None:
        """Upper bound of a quiet step, as disturbed runs show it: disturbances do not make steps faster."""
        return min((run.step_seconds for run in self.runs if run.is_noisy), default=None)

    @property
    def is_seen(self) -> bool:
        """True where a trial of it trained, to its end or not."""
        return bool(self.runs or self.pruned)

    @property
    def num_noisy(self) -> int:
        """Runs that something else disturbed."""
        return sum(run.is_noisy for run in self.runs)

    @property
    def num_outliers(self) -> int:
        """Quiet runs that do not agree with the others."""
        return len(self.runs) - len(self.quiet) - self.num_noisy

    @property
    def has_unclear_runs(self) -> bool:
        """True where runs of it were disturbed or do not agree."""
        return len(self.quiet) < len(self.runs)

    @property
    def provenance(self) -> TimeBasis:
        """TimeBasis of its time."""
        if self.quiet:
            return "measured"
        return self.prior.provenance if self.prior else "predicted"

    @property
    def doubt(self) -> MemoryDoubt:
        """Why it may not fit a machine that is rented for it; empty: nothing is known against it."""
        is_tried = self.runs or self.num_missing or not self.is_rented
        return "" if is_tried or self.prior is None else self.prior.doubt

    @property
    def usd_per_second(self) -> float:
        """NaN: no price is known."""
        return self.price.usd_per_hour / _SECONDS_PER_HOUR if isinstance(self.price, Price) else math.nan

    @property
    def compared_usd_per_second(self) -> float:
        """The same for ratios: a reserved device is far below all others, and the faster of two is better."""
        return max(self.usd_per_second, _LEAST_USD_PER_SECOND)

    @property
    def price_marks(self) -> str:
        """`hypothetical, old`."""
        return ", ".join(find_marks(self.price)) if isinstance(self.price, Price) else ""

    def billed_usd(self, seconds: float) -> float:
        """Compute the bill of an attempt; NaN: no price is known."""
        if not isinstance(self.price, Price):
            return math.nan
        return self.usd_per_second * self.price.billed_seconds(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A training that someone wants done: a workload on data, for a number of samples or to a target.

    Attributes:
        where: workload and data in words.
        sweep: name of the sweep with these settings.
        aim: the quality that counts; None: unknown.
        target: the training ends there; None: after `samples`.
        samples: length of the training, equal for all settings.
        length: source of that number, in words.
        known_length: length that was asked for or declared, `5 epochs`; empty: neither.
        epoch_samples: samples of the training set; None: unknown.
        input: input of its network in words; empty: unknown.
        repeated_words: words that every command about it repeats.
        words: words of the command that planned the sweep; empty: not known.
    """

    where: str
    sweep: str
    aim: Aim | None
    target: Target | None
    samples: int
    length: str
    candidates: tuple[CandidateSetting, ...]
    epoch_samples: int | None = None
    repeated_words: tuple[str, ...] = ()
    known_length: str = ""
    input: str = ""
    words: tuple[str, ...] = ()
