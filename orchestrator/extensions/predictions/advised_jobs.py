"""(points of one job, records and predictions of each) -> the job with its candidate settings. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.measurements.setting import Setting
from orchestrator.analysis.recommendation.jobs.command import list_words
from orchestrator.analysis.recommendation.jobs.jobs_of_plan import build_candidates, job_from, named
from orchestrator.analysis.recommendation.jobs.length import job_length
from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.core.estimate import Refusal, StepPrior
from orchestrator.core.objective import Objective
from orchestrator.core.placement import Aim, FullTraining
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Point
from orchestrator.core.trial_progress import Target
from orchestrator.plan.inputs import describe_input
from orchestrator.plan.planner import build_full_training
from workloads.spec import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSetting:
    """A hardware setting with its records and its prediction.

    Attributes:
        points: points of the sweep in this setting, one per trainer; at least one.
        spec: spec of its workload; None if the workload refuses the input size.
        train_samples: samples of the full training set; None: unknown.
        num_hosts: machines of its workers.
        records: measured or failed trainings in this setting, of all sweeps and trainers.
        prior: prediction of its step without measurements of the workload; None: refused.
        price: current price of its device.
        is_repriced: True if that price replaces the stored price of records.
        is_rented: a machine starts for it: a pool has its devices, or they are not here.
    """

    points: tuple[Point, ...]
    spec: Workload | None
    train_samples: int | None
    num_hosts: int
    records: tuple[TrialRecord, ...]
    prior: StepPrior | None
    refusal: Refusal | None
    price: Price | Unpriced
    is_repriced: bool
    is_rented: bool


def build_job(
    name: str,
    settings: Sequence[KnownSetting],
    *,
    objective: Objective,
    sweep: str,
    repeated_words: tuple[str, ...],
    words: tuple[str, ...],
) -> Job:
    """Make a job of the settings of one workload."""
    spec = next((one.spec for one in settings if one.spec is not None), None)
    quality = spec.quality if spec else None
    aim = Aim(metric=quality.metric, higher_is_better=quality.higher_is_better) if quality else None
    target = _find_target(settings[0].points[0], spec, aim)
    candidates = named([candidate for one in settings for candidate in _candidates(one, target, aim)])
    recorded = [run.samples for candidate in candidates for run in candidate.runs]
    samples = [point.steps * point.global_batch_size for one in settings for point in one.points]
    job = job_from(
        where=name,
        sweep=sweep,
        repeated_words=repeated_words,
        words=words,
        aim=aim,
        target=target,
        candidates=candidates,
        length=job_length(_full_training(settings), objective, recorded_samples=recorded or samples),
    )
    known = next((one.points[0] for one in settings if one.spec is not None), None)
    return replace(job, input=describe_input(known) if known else "")


def _candidates(setting: KnownSetting, target: Target | None, aim: Aim | None) -> list[CandidateSetting]:
    """Make candidates of trainers with records, as a report does, and of the others.

    Predictions are the same for all trainers: the others are one candidate, unless one of them was measured.
    """
    value = None if target is None else target.value
    records = [one for one in setting.records if value is None or one.spec.timing.target == value]
    tried = build_candidates(records, (), aim)
    trainers = {one.setting.trainer for one in tried}
    others = [point for point in setting.points if point.trainer not in trainers]
    has_runs = any(one.runs for one in tried)
    if has_runs:
        untried = [_untried(setting, point, trainer=point.trainer, num_missing=1) for point in others]
    else:
        untried = [_untried(setting, point, trainer="", num_missing=0) for point in others[:1]]
    return [
        replace(one, prior=setting.prior, price=_find_price(setting, one), is_rented=setting.is_rented)
        for one in (*tried, *untried)
    ]


def _find_price(setting: KnownSetting, one: CandidateSetting) -> Price | Unpriced:
    kept = one.price
    return kept if isinstance(kept, Price) and not setting.is_repriced else setting.price


def _untried(setting: KnownSetting, point: Point, *, trainer: str, num_missing: int) -> CandidateSetting:
    return CandidateSetting(
        setting=Setting(
            workload=point.workload,
            device=point.device_label,
            trainer=trainer,
            precision=point.precision,
            num_workers=point.num_workers,
            num_hosts="" if setting.num_hosts == 1 else str(setting.num_hosts),
            replicas="" if point.replicas == point.num_workers else str(point.replicas),
            global_batch_size=point.global_batch_size,
            memory_settings=point.memory_settings.words,
        ),
        steps=point.steps,
        words=list_overrides(point),
        refusal=setting.refusal,
        num_missing=num_missing,
    )


def _find_target(point: Point, spec: Workload | None, aim: Aim | None) -> Target | None:
    target = point.timing.target
    if target is None or spec is None or spec.quality is None or aim is None:
        return None
    value = spec.quality.target if target == "workload" else float(target)
    if value is None:
        return None
    return Target(metric=aim.metric, value=value, higher_is_better=aim.higher_is_better)


def _full_training(settings: Sequence[KnownSetting]) -> FullTraining | None:
    """Take what the first setting declares, as a plan does."""
    first = next((one for one in settings if one.spec is not None), None)
    if first is None or first.spec is None:
        return None
    return build_full_training(first.spec, first.points[0], first.train_samples)


def list_overrides(point: Point) -> tuple[str, ...]:
    """List the words of a command that asks for the point alone."""
    devices = tuple(device.name for device in point.devices)
    return list_words(point, data_source=point.data_source, devices=devices)
