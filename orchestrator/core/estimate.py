"""Time of a step that was not measured: an estimate with its interval, or by a compiler; or a refusal."""

import math
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError
from orchestrator.core.interval import Spread
from orchestrator.core.memory_fit import MemoryDoubt
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.trial_spec import TrialSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledStep:
    """Parts of the time of one step, in seconds.

    Attributes:
        device_seconds: the compiler's cycles over the clock of the device.
        unpriced_seconds: operations to which the compiler gives no cycles: their bytes over the bandwidth of
            the memory.
        link_seconds: sums over the replicas: bytes over the links between chips.
        host_seconds: the trainer's work on the host, measured here; it overlaps with the device's. None: not
            known.
        compiler: its name and version.
    """

    device_seconds: float
    unpriced_seconds: float
    link_seconds: float
    host_seconds: float | None
    compiler: str

    @property
    def on_device_seconds(self) -> float:
        """Return the time of the device's part."""
        return self.device_seconds + self.unpriced_seconds + self.link_seconds

    @property
    def seconds(self) -> float:
        """Return the time of a step in the steady state: that of the slower of device and host."""
        return max(self.on_device_seconds, self.host_seconds or 0.0)

    @property
    def is_host_bound(self) -> bool:
        """Return whether the device waits for the host."""
        return self.seconds > self.on_device_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompiled:
    """Reason why no time of a step is known from a compiler."""

    reason: str


NOT_ASKED = NotCompiled(reason="compile=full asks the TPU's compiler, for about a minute each")


ONE_RUN_DEVIATION = 0.15
"""Deviation of the logarithm of one run without repeats. It is an assumption, not a measurement: six
times the deviation of published GPU repeats (`repeat` in `default_models.json` of the predictions)."""

EstimateProvenance = Literal["predicted", "compiled"]
"""`compiled`: from the device's own compiler; `predicted`: all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Seconds of one optimizer step in the steady state.

    Attributes:
        low, high: the interval that is to hold 90 of 100 measurements.
        source: measurements or models that the estimate is based on.
        past: how good estimates of that kind were; empty: not tested.
    """

    low: float
    likely: float
    high: float
    source: str
    provenance: EstimateProvenance = "predicted"
    past: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.likely <= self.high < math.inf:
            raise ConfigError(f"no estimate: {self.low} <= {self.likely} <= {self.high} seconds")

    @property
    def spread(self) -> Spread:
        """The likely seconds between the ends of the interval."""
        return Spread(median=self.likely, low=self.low, high=self.high)

    def holds(self, seconds: float) -> bool:
        """Return whether a measurement lies in the interval."""
        return self.low <= seconds <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Reason why nothing is estimated, and the measurement that would change that."""

    reason: str
    to_measure: str


class Misfit(Refusal):
    """Refusal of a step that surely does not fit the memory, so that no measurement of it is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Prediction for trials that differ in their seed alone, given once for all their repeats.

    Attributes:
        trial: the first of them.
        num_phases: phases of its training; only steps of the last one are timed and predicted.
        num_trials: number of equal trials.
        step: time of one step.
        price: price of the hardware that one trial requests.
    """

    trial: TrialSpec
    num_trials: int
    step: Estimate | Refusal
    price: Price | Unpriced
    num_phases: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPrior:
    """The step time of a setting as predicted before its workload was measured: a normal logarithm.

    Attributes:
        hardware: equal for settings that differ in the batch size alone.
        program: how the step is divided there: its sharding, micro batches and recomputation.
        batch_size: samples of a step, all replicas together.
        log_seconds: mean.
        device: deviation of the error that the hardware adds to every network.
        network: deviation of the error of this network on that hardware.
        provenance: that of the estimate.
        doubt: why the step may not fit the memory.
    """

    hardware: str
    batch_size: int
    log_seconds: float
    device: float
    network: float
    provenance: EstimateProvenance = "predicted"
    doubt: MemoryDoubt = ""
    program: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCorrelation:
    """Correlation of one network's prediction errors across settings, in published measurements.

    Attributes:
        devices: correlation of its errors on two devices at one batch size.
        doublings: doublings of the batch size after which the correlation on one device has fallen to 1/e.
    """

    devices: float
    doublings: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorModel:
    """The errors of step predictions.

    Attributes:
        correlation: between settings of one job.
        repeat: deviation of the logarithms of repeats of one trial.
        quantile: deviations to both sides that hold 90 of 100 measurements.
        one_run: deviation of the logarithm of one run without repeats.
        is_pooled: `one_run` holds for every setting, as it is estimated from repeats of all of them.
    """

    correlation: ErrorCorrelation
    repeat: float
    quantile: float
    one_run: float = ONE_RUN_DEVIATION
    is_pooled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """Empirical coverage: share of measured steps that lay in intervals made without own records of their
    workload.

    Attributes:
        num_measured: number of recorded steps on a sweep's devices for which a prediction would have
            existed.
    """

    num_inside: int = 0
    num_measured: int = 0
