"""Records and plan -> findings of a sweep, with every trial of the plan in exactly one place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from orchestrator.analysis.comparison.baseline import (
    AgainstBaseline,
    against_baseline,
    baseline_table,
    compared_table,
)
from orchestrator.analysis.comparison.compare import Comparison, compare_fastest
from orchestrator.analysis.comparison.scaling import Scaling, compute_scaling, scaling_table
from orchestrator.analysis.comparison.speedup_matrix import find_matrices, matrix_table
from orchestrator.analysis.comparison.step_cost import fit_step_costs, step_cost_table
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import Measurement, find_measured
from orchestrator.analysis.measurements.setting import names_in
from orchestrator.analysis.metrics.cost import find_attempts
from orchestrator.analysis.predictions.backtest import BacktestRow, hindsight_table, pair_backtests
from orchestrator.analysis.predictions.forecasts import Predicted, list_predicted, predicted_table
from orchestrator.analysis.recommendation.answer.answer import Recommendation
from orchestrator.analysis.recommendation.recommend import build_recommendations
from orchestrator.analysis.recommendation.tables import left_out_table, next_table, ranked_table
from orchestrator.analysis.recommendation.time_to_target import compute_times_to_target, target_table
from orchestrator.analysis.section import ReportSection, build_sections
from orchestrator.analysis.table import Table
from orchestrator.analysis.tables.costs import Cost, cost_table, costs_by_setting, prices_table
from orchestrator.analysis.tables.measurements import measured_table
from orchestrator.analysis.tables.outcomes import (
    failed_table,
    find_runs,
    pruned_table,
    rehearsed_table,
    runs_table,
    skipped_table,
    stale_table,
    warnings_table,
)
from orchestrator.analysis.tables.utilisation import utilisation_table
from orchestrator.core.objective import FASTEST, Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord, latest
from orchestrator.plan.cache import without_outdated


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Results that the records give for a plan.

    Attributes:
        objective: goal of the recommendation.
        records: the record that stands of each trial of the plan that has one.
        frame: one row for each of these, `frame.COLUMNS`.
        measured: results of the devices that were asked for, seeds and repeats together.
        runs: records of scripts that reported no step and were measured as a whole.
        against: every setting and the baseline of the sweep, if it names one.
        scaling: speed-ups over numbers of workers.
        sections: what extensions add.
        recommendations: the answer for every workload and data that something was measured or predicted of.
        compared: in every set of measurements that differ in one factor, the fastest against the others.
        predicted: predictions for devices that are not available, and refusals.
        hindsights: measurements with what would have been predicted without them.
        rehearsed: records of devices that are not there, failed ones too.
        failed: records without a result, rehearsals too.
        pruned: records of trials that a search ended early.
        attempts: billed attempts of all trials of the plan.
        costs: costs of these attempts, by setting.
        num_measured: trials that the measured results and runs come from.
        num_missing: trials of the plan without a record.
        num_others: trials that have a record and are not in the plan.
    """

    plan: Plan
    objective: Objective
    records: tuple[TrialRecord, ...]
    frame: pd.DataFrame
    measured: tuple[Measurement, ...]
    runs: tuple[TrialRecord, ...]
    against: AgainstBaseline
    scaling: tuple[Scaling, ...]
    sections: tuple[ReportSection, ...]
    recommendations: tuple[Recommendation, ...]
    compared: tuple[tuple[Comparison, ...], ...]
    predicted: tuple[Predicted, ...]
    hindsights: tuple[BacktestRow, ...]
    rehearsed: tuple[TrialRecord, ...]
    failed: tuple[TrialRecord, ...]
    pruned: tuple[TrialRecord, ...]
    attempts: tuple[TrialRecord, ...]
    costs: tuple[Cost, ...]
    num_measured: int
    num_missing: int
    num_others: int

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Tables that have rows: measurements and comparisons, then the outcomes of all other trials."""
        plan = self.plan
        build_name = names_in(plan)
        tables = (
            ranked_table(self.recommendations),
            next_table(self.recommendations),
            measured_table(self.measured),
            runs_table(self.runs, build_name),
            compared_table([comparison for group in self.compared for comparison in group]),
            baseline_table(self.against),
            matrix_table(find_matrices(self.measured, plan.baseline)),
            scaling_table(self.scaling),
            *(table for section in self.sections for table in section.tables),
            step_cost_table(fit_step_costs(self.measured)),
            left_out_table(self.recommendations),
            predicted_table(self.predicted),
            hindsight_table(self.hindsights, plan.track_record),
            target_table(compute_times_to_target(self.records)),
            utilisation_table(self.records, build_name),
            cost_table(self.costs, build_name),
            prices_table(
                {(one.trial_id, one.price): (one.spec, one.price) for one in self.attempts}.values()
            ),
            warnings_table(self.records, build_name),
            failed_table(self.failed, build_name),
            pruned_table(self.pruned, build_name),
            rehearsed_table(self.rehearsed),
            skipped_table(plan.skipped),
            stale_table(plan.cached, build_name),
        )
        return tuple(table for table in tables if table.rows)


def _with_epoch(record: TrialRecord, plan: Plan) -> TrialRecord:
    samples = plan.count_epoch_samples(record.spec) if record.epoch_samples is None else None
    return record if samples is None else replace(record, epoch_samples=samples)


def collect_findings(records: Sequence[TrialRecord], plan: Plan, objective: Objective = FASTEST) -> Findings:
    """Sort a ledger's records by what the plan asks for, without those that it calls outdated.

    Records from before they had it get the epoch of the plan's job.
    """
    records = [_with_epoch(record, plan) for record in without_outdated(records, plan.outdated)]
    standing = latest(records)
    trials = dict.fromkeys(trial.trial_id for trial in plan.asked)
    places = {trial: place for place, trial in enumerate(trials)}
    own = tuple(standing[trial_id] for trial_id in places if trial_id in standing)
    wanted = sorted(  # ledger and tracking server have them in other orders
        (record for record in records if record.trial_id in places),
        key=lambda record: places[record.trial_id],
    )
    attempts = find_attempts(wanted)
    frame = build_frame(wanted)
    measured, predicted = find_measured(frame), list_predicted(plan.forecasts)
    return Findings(
        plan=plan,
        objective=objective,
        records=own,
        frame=frame,
        measured=measured,
        runs=find_runs(own),
        against=against_baseline(measured, plan.baseline),
        scaling=compute_scaling(measured),
        sections=build_sections(measured, own),
        recommendations=build_recommendations(own, plan, objective),
        compared=compare_fastest(measured),
        predicted=predicted,
        hindsights=pair_backtests(measured, plan.hindcasts),
        rehearsed=tuple(record for record in own if record.provenance == "rehearsed"),
        failed=tuple(record for record in own if record.failure is not None and not record.is_pruned),
        pruned=tuple(record for record in own if record.is_pruned),
        attempts=tuple(record for of_trial in attempts.values() for record in of_trial),
        costs=costs_by_setting(attempts.values()),
        num_measured=sum(measurement.num_repeats for measurement in measured) + len(find_runs(own)),
        num_missing=len(places) - len(own),
        num_others=len(standing.keys() - places.keys()),
    )
