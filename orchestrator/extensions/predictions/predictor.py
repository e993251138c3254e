"""Predictions that a plan shows, and that budgets and searches use."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from orchestrator.core.estimate import Estimate
from orchestrator.core.memory_fit import NoFit, Verdict, choose_fit
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.result import latest
from orchestrator.core.settings import Settings
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.extensions.predictions.calibrations import host_calibrations
from orchestrator.extensions.predictions.memory_need import MemoryNeed
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.compiled_estimate import estimates_from
from orchestrator.extensions.predictions.step_time.estimator import (
    BasisOf,
    Estimator,
    build_bases,
    build_estimator,
    leave_one_workload_out_estimator,
)
from orchestrator.extensions.predictions.step_time.loader_rates import LoaderRates, collect_loader_rates
from orchestrator.extensions.predictions.step_time.own_records import (
    Shape,
    StepMeasurement,
    step_key,
    step_measurements,
)
from orchestrator.extensions.predictions.step_time.plan_forecasts import (
    build_forecasts,
    count_track_record,
    predict_backtests,
)
from orchestrator.extensions.predictions.step_time.step_priors import fit_error_model, predict_step_priors
from orchestrator.pipeline.preflight import PreflightState
from orchestrator.plan.memory import MemoryKey, memory_key
from workloads.registry import cached_workload


class StepPredictor:
    """Predictor of steps from published measurements, own records and the answers of compilers.

    It is a `pipeline.planning.Predictor`. What takes a while is made when it is first needed.
    """

    def __init__(self, settings: Settings, preflight: PreflightState) -> None:
        self._settings = settings
        self._preflight = preflight
        self._find_compiled = estimates_from(preflight.compiled_steps)
        self._steps: dict[Shape, Estimate | None] = {}

    def add_to_plan(self, decided: Plan) -> Plan:
        """Add predictions of trials without their device, and of measured ones for comparison."""
        basis, own, models = self._basis, self._own, default_models()
        find_memory = self._find_memories(decided)
        blind = leave_one_workload_out_estimator(basis, own, models)
        records = self._preflight.ledgers.get(self._settings.sweep.name, ())
        return replace(
            decided,
            forecasts=build_forecasts(decided, self._preflight.price_book, self._estimator, find_memory),
            hindcasts=predict_backtests(decided, records, blind),
            track_record=count_track_record(own, blind),
            step_priors=predict_step_priors(
                decided, basis, own, models, self._find_compiled, self._loader_rates, find_memory
            ),
            error_model=fit_error_model(models),
        )

    def predict_step(self, placement: Placement) -> Estimate | None:
        """Predict the step of a trial; None: it is refused, or one of several phases."""
        trial, shape = placement.trial, step_key(placement.trial)
        if shape not in self._steps:
            has_phases = len(cached_workload(trial.workload, trial.workload_options).phases) > 1
            step = None if has_phases else self._estimator(trial)  # it is that of the last phase alone
            self._steps[shape] = step if isinstance(step, Estimate) else None
        return self._steps[shape]

    @cached_property
    def _own(self) -> tuple[StepMeasurement, ...]:
        """Own measurements."""
        return step_measurements(self._preflight.records, devices=self._preflight.price_book.devices)

    @cached_property
    def _loader_rates(self) -> LoaderRates:
        """Rates of the input loaders of own workloads."""
        return collect_loader_rates(latest(self._preflight.records).values())

    @cached_property
    def _basis(self) -> BasisOf:
        """Estimates from published data."""
        calibrations, network_gbps = host_calibrations(self._settings), self._settings.network_gbps
        devices = self._preflight.price_book.devices
        return build_bases(devices, default_models(), calibrations, network_gbps=network_gbps)

    @cached_property
    def _estimator(self) -> Estimator:
        """The same, corrected by own measurements."""
        return build_estimator(
            self._basis, self._own, default_models(), self._find_compiled, self._loader_rates
        )

    def _find_memories(self, decided: Plan) -> Callable[[TrialSpec], MemoryNeed | None]:
        """Return a function that finds what is known about a step's memory, whichever trainer counted it."""

        def build_key(trial: TrialSpec) -> MemoryKey:
            return memory_key(replace(trial, trainer="", trainer_options={}))

        fits: dict[MemoryKey, list[Verdict | NoFit]] = defaultdict(list)
        skipped = (one.trial for one in decided.skipped if one.trial)
        for trial in (*(one.trial for one in decided.asked), *skipped):
            if fit := self._preflight.memory_fits.get(memory_key(trial)):
                fits[build_key(trial)].append(fit)

        def find_memory(trial: TrialSpec) -> MemoryNeed | None:
            need = None if trial.other_devices else self._basis(trial).query.memory
            return need and replace(need, counted=choose_fit(fits.get(build_key(trial), ())))

        return find_memory
