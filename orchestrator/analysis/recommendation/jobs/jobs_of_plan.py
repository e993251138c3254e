"""(records and plan of a sweep) -> its jobs, each with all settings that could train it. Pure."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.analysis.measurements.setting import (
    DETAILS,
    Setting,
    build_setting,
    find_differing_facts,
    format_label,
    setting_of_job,
    varying,
    with_environment,
)
from orchestrator.analysis.recommendation.jobs.command import list_words
from orchestrator.analysis.recommendation.jobs.length import JobLength, job_length
from orchestrator.analysis.recommendation.jobs.settings_of_records import (
    JobKey,
    build_job_key,
    fatal_failures,
    grouped,
    is_failed_run,
    is_fatal,
    is_run,
    read_pruned_run,
    read_run,
)
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job, PrunedRun
from orchestrator.analysis.recommendation.model.model import INDEPENDENT
from orchestrator.core.estimate import Estimate, Forecast, Refusal, StepPrior
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Aim, Plan, task_name
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_progress import Target
from orchestrator.core.trial_spec import TrialSpec, point_id, trial_id

_OF_JOB = ("workload", "workload_options", "workload_version", "data")
_OF_TRAINER = ("trainer", "trainer_options", "process_model", "trainer_version", "ran_with")
_NOT_SHOWN = (*_OF_JOB, "steps", "timing")


@dataclass(slots=True, kw_only=True)
class _Found:
    """Trials and records of one job in a sweep."""

    records: list[TrialRecord] = field(default_factory=list)
    pending: list[TrialSpec] = field(default_factory=list)
    forecasts: list[Forecast] = field(default_factory=list)
    rented: set[Setting] = field(default_factory=set)
    """Settings with trials on nodes of pools."""

    @property
    def specs(self) -> list[TrialSpec]:
        """Every trial of it."""
        recorded = [record.spec for record in self.records]
        return [*recorded, *self.pending, *(forecast.trial for forecast in self.forecasts)]


def jobs_of_plan(records: Sequence[TrialRecord], plan: Plan, objective: Objective) -> tuple[Job, ...]:
    """Collect the settings of every job of a sweep that was measured or predicted, in the order of the plan.

    Args:
        records: records that stand, of trials of the plan.
    """
    jobs: dict[JobKey, _Found] = defaultdict(_Found)
    recorded = {record.trial_id for record in records if not record.is_pruned}
    for record in records:
        if is_run(record) or is_failed_run(record) or record.is_pruned:
            jobs[build_job_key(record.spec)].records.append(record)
            if record.placement.pools:
                jobs[build_job_key(record.spec)].rented.add(setting_of_job(record.spec))
    for placement in plan.placements:
        if placement.provenance == "measured" and placement.trains and placement.trial_id not in recorded:
            jobs[build_job_key(placement.trial)].pending.append(placement.trial)
            if placement.pools:
                jobs[build_job_key(placement.trial)].rented.add(setting_of_job(placement.trial))
    for forecast in plan.forecasts:
        jobs[build_job_key(forecast.trial)].forecasts.append(forecast)
    settings = [build_setting(draft.specs[0]) for draft in jobs.values()]
    where = ("workload", *varying(settings, _OF_JOB[1:]))
    return tuple(
        _build_job(key, draft, plan, objective, where=format_label(setting, where))
        for (key, draft), setting in zip(jobs.items(), settings, strict=True)
    )


def _build_job(key: JobKey, draft: _Found, plan: Plan, objective: Objective, *, where: str) -> Job:
    target_value, trial = key[4], draft.specs[0]
    aim = plan.find_aim(trial)
    candidates = named(_candidates(draft, aim, plan))
    target = None
    if target_value is not None and aim is not None:
        target = Target(metric=aim.metric, value=target_value, higher_is_better=aim.higher_is_better)
    training = plan.find_training(trial)
    job = job_from(
        where=where,
        sweep=plan.sweep,
        repeated_words=plan.repeated_words,
        words=plan.words,
        aim=aim,
        target=target,
        candidates=candidates,
        length=job_length(
            training,
            objective,
            recorded_samples=[run.samples for one in candidates for run in one.runs]
            or [spec.steps * spec.global_batch_size for spec in draft.specs],
        ),
    )
    described = plan.inputs.get(task_name(trial.workload, trial.workload_options), "")
    return replace(job, epoch_samples=plan.count_epoch_samples(trial), input=described)


def measured_candidates(records: Iterable[TrialRecord], aim: Aim | None) -> list[CandidateSetting]:
    """Make one candidate of all runs of a setting."""
    candidates = []
    for group in grouped(records).values():
        runs = tuple(run for record in group if (run := read_run(record, aim)))
        if runs:
            candidate = unmeasured(group[0].spec)
            setting = with_environment(candidate.setting, group[0])
            newest = max(group, key=lambda record: record.ended_at)
            candidates.append(replace(candidate, setting=setting, runs=runs, price=newest.price))
    return candidates


def unmeasured(spec: TrialSpec) -> CandidateSetting:
    """Make a candidate about which nothing but its trial is known."""
    return CandidateSetting(
        setting=setting_of_job(spec),
        steps=spec.steps,
        words=list_words(spec, data_source=spec.data.partition(":")[0], devices=spec.devices),
    )


def named(candidates: Sequence[CandidateSetting]) -> tuple[CandidateSetting, ...]:
    """Label candidates by the fields that differ."""
    settings = [one.setting for one in candidates]
    distinct = varying(settings, [name for name in DETAILS if name not in (*_NOT_SHOWN, "ran_with")])
    if len({setting.host for setting in settings if setting.host}) < 2:
        distinct = tuple(name for name in distinct if name != "host")
    names = ("device", "trainer", "precision", *distinct)
    hardware_names = [name for name in names if name not in _OF_TRAINER]  # predictions are for all trainers
    alike: dict[str, list[Setting]] = defaultdict(list)
    for setting in settings:
        alike[format_label(setting, names if setting.trainer else hardware_names)].append(setting)
    labels = {}
    for label, group in alike.items():
        facts = [setting.ran_with for setting in group]
        for setting, own in zip(group, facts, strict=True):
            apart = "" if len(group) == 1 else f", {find_differing_facts(own, facts)}"
            labels[setting] = f"{label}{apart}"
    return tuple(replace(one, label=labels[one.setting]) for one in candidates)


def _candidates(draft: _Found, aim: Aim | None, plan: Plan) -> list[CandidateSetting]:
    """Make candidates of settings with trials here, and of hardware that is absent."""
    with_trials = build_candidates(draft.records, draft.pending, aim)
    measured = {without_trainer(one.setting) for one in with_trials if one.runs}
    tried = {replace(one.setting, ran_with="") for one in with_trials}
    elsewhere = [one for one in draft.forecasts if setting_of_job(one.trial) not in tried]
    absent = [one for one in elsewhere if without_trainer(setting_of_job(one.trial)) not in measured]
    unmeasured_trainers = build_candidates(  # predictions do not tell trainers apart
        (), [one.trial for one in elsewhere if one not in absent], aim
    )
    firsts = {setting_of_job(spec): point_id(spec) for spec in draft.specs}

    forecast = {setting_of_job(one.trial) for one in elsewhere}

    def predicted(one: CandidateSetting) -> CandidateSetting:
        bare = replace(one.setting, ran_with="")
        first = firsts.get(bare, "")
        prior, price = plan.step_priors.get(first), one.price or plan.prices.get(first)
        return replace(one, prior=prior, price=price, is_rented=bare in draft.rented or bare in forecast)

    own = list(map(predicted, (*with_trials, *unmeasured_trainers)))
    return [*own, *_predicted(absent, plan.step_priors)]


def build_candidates(
    records: Sequence[TrialRecord], pending: Sequence[TrialSpec], aim: Aim | None
) -> list[CandidateSetting]:
    """Make candidates of settings that were measured, failed, or have trials without a record."""
    pruned: dict[Setting, list[PrunedRun]] = defaultdict(list)
    failures: dict[Setting, list[TrialRecord]] = defaultdict(list)
    for record in records:
        if early := read_pruned_run(record):
            pruned[setting_of_job(record.spec)].append(early)
        elif not is_run(record) and not record.is_pruned:
            failures[setting_of_job(record.spec)].append(record)
    missing: dict[Setting, list[str]] = defaultdict(list)
    for spec in pending:
        missing[setting_of_job(spec)].append(trial_id(spec))
    candidates = measured_candidates(filter(is_run, records), aim)
    measured = {replace(one.setting, ran_with="") for one in candidates}
    specs = {
        setting_of_job(spec): spec for spec in (*(one.spec for one in records if not is_run(one)), *pending)
    }
    candidates += [unmeasured(spec) for bare, spec in specs.items() if bare not in measured]

    # of equal settings that ran with other versions, the last one has the trials that are left
    owners = {replace(one.setting, ran_with=""): one for one in candidates}

    def completed(one: CandidateSetting) -> CandidateSetting:
        bare = replace(one.setting, ran_with="")
        of_setting = failures.get(bare, [])
        left = missing.get(bare, ()) if owners[bare] is one else ()
        return replace(
            one,
            pruned=tuple(pruned.get(bare, ())) if owners[bare] is one else (),
            num_missing=len(left),
            trial_ids=tuple(left),
            num_failed=sum(not is_fatal(record) for record in of_setting),
            failure_kinds=frozenset(record.failure.kind for record in of_setting if record.failure),
            fatal=fatal_failures(of_setting, len(of_setting) + len(one.runs)),
        )

    return list(map(completed, candidates))


def _predicted(forecasts: Iterable[Forecast], priors: Mapping[str, StepPrior]) -> list[CandidateSetting]:
    """Make one candidate of all trainers on the same hardware; a compiled step precedes predicted ones."""
    by_setting: dict[Setting, CandidateSetting] = {}
    for forecast in sorted(forecasts, key=lambda forecast: not _is_compiled(forecast)):
        bare = without_trainer(setting_of_job(forecast.trial))
        refusal = _find_refusal(forecast)
        candidate = replace(
            unmeasured(forecast.trial),
            setting=bare,
            price=forecast.price,
            is_rented=True,
            prior=None if refusal else _find_prior(forecast, priors),
            refusal=refusal,
        )
        by_setting.setdefault(bare, candidate)
    return list(by_setting.values())


def _is_compiled(forecast: Forecast) -> bool:
    return isinstance(forecast.step, Estimate) and forecast.step.provenance == "compiled"


def without_trainer(setting: Setting) -> Setting:
    """Return the hardware setting without its trainer."""
    return replace(setting, trainer="", trainer_options="", process_model="", trainer_version=0, ran_with="")


def _find_refusal(forecast: Forecast) -> Refusal | None:
    if forecast.num_phases > 1:
        return in_phases(forecast.num_phases)
    return forecast.step if isinstance(forecast.step, Refusal) else None


def in_phases(count: int) -> Refusal:
    """Explain why a predicted step is no estimate of a whole training in phases."""
    return Refusal(
        reason=f"it trains in {count} phases, and steps of the last alone are timed",
        to_measure="the whole training",
    )


def _find_prior(forecast: Forecast, priors: Mapping[str, StepPrior]) -> StepPrior | None:
    """Take the prior of the plan; plans that were stored without any have an estimate, which stands alone."""
    trial, step = forecast.trial, forecast.step
    if isinstance(step, Refusal):
        return None
    return priors.get(point_id(trial)) or StepPrior(
        hardware=f"{trial.device_label} {trial.precision} {trial.num_workers} {trial.num_hosts}",
        batch_size=trial.global_batch_size,
        log_seconds=math.log(step.likely),
        device=math.log(step.high / step.likely) / INDEPENDENT.quantile,
        network=0.0,
        provenance=step.provenance,
    )


def job_from(
    *,
    where: str,
    sweep: str,
    repeated_words: tuple[str, ...],
    words: tuple[str, ...],
    aim: Aim | None,
    target: Target | None,
    candidates: tuple[CandidateSetting, ...],
    length: JobLength,
) -> Job:
    """Put a job together, with its length in words."""
    if target is None:
        source = length.source
    else:
        source = f"a training until {target.metric} {target.value:g}"
        where = f"{where} to {target.metric} {target.value:g}"
        if not any(run.samples_to_target is not None for one in candidates for run in one.quiet):
            source += f", which no training reached yet: compared on {length.source}"
    return Job(
        where=where,
        sweep=sweep,
        repeated_words=repeated_words,
        words=words,
        aim=aim,
        target=target,
        samples=length.samples,
        length=source,
        known_length=length.label,
        candidates=candidates,
    )
