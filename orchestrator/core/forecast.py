"""What is thought of trials whose device is not at hand, and how such thoughts fared, as a plan keeps it."""

from dataclasses import dataclass

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.spec import TrialSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Of trials that differ in their seed alone, once for all repeats of each.

    Attributes:
        trial: the first of them.
        num_phases: of its training; steps of the last one are what is timed and predicted.
        num_trials: how many they are.
        step: of each.
        price: of what each asks for.
    """

    trial: TrialSpec
    num_trials: int
    step: Estimate | Refusal
    price: Price | Unpriced
    num_phases: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """How often intervals held a step that was measured, made without own records of its workload.

    Attributes:
        num_measured: steps in all ledgers, on a sweep's devices, of which something would have been
            predicted.
    """

    num_inside: int = 0
    num_measured: int = 0
