"""Time, cost and quality of whole trainings, and which of them no other one beats in everything. Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.compare import told_of
from orchestrator.analysis.measured import Measured
from orchestrator.analysis.setting import label_of
from orchestrator.core.placement import Aim

_JOB = ("workload", "workload_options", "workload_version", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One setting's whole training, medians over its repeats.

    Attributes:
        seconds: from the request for workers to the end of the evaluation.
        quality: on held-out data; None where none was measured.
        cost_usd: None where no price is known, or the repeats have several.
        cost_marks: what keeps that cost apart from others: `hypothetical, old`.
        all_seconds, all_usd: of each repeat, where they are known.
        is_noisy: something else disturbed a repeat.
        is_resumed: a repeat went on from a checkpoint.
        on_front: no other one of its job is as good in everything and better in something.
    """

    label: str
    seconds: float
    quality: float | None = None
    cost_usd: float | None = None
    cost_marks: str = ""
    all_seconds: tuple[float, ...] = ()
    all_usd: tuple[float, ...] = ()
    is_noisy: bool = False
    is_resumed: bool = False
    on_front: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The same workload on the same data, trained in several ways.

    Attributes:
        where: workload and data, in words.
        aim: of the workload; None where it is not known.
        candidates: the fastest first.
    """

    where: str
    aim: Aim | None
    candidates: tuple[Candidate, ...]


def jobs_of(measured: Sequence[Measured], aims: Mapping[str, Aim]) -> tuple[Job, ...]:
    """Every workload and data that something was trained with."""
    training = [each for each in measured if each.trains]
    groups: dict[tuple[object, ...], list[Measured]] = defaultdict(list)
    for each in training:
        groups[tuple(getattr(each.setting, name) for name in _JOB)].append(each)
    told = told_of(training)
    return tuple(_job_of(group, aims.get(group[0].setting.workload), told=told) for group in groups.values())


def _job_of(group: Sequence[Measured], aim: Aim | None, *, told: Sequence[str]) -> Job:
    own = ("device", "trainer", "precision", *(name for name in told if name not in _JOB))
    found = [
        Candidate(
            label=label_of(each.setting, dict.fromkeys(own)),
            seconds=each.job_seconds.median,
            quality=_quality_of(each, aim),
            cost_usd=each.job_usd.median if each.price else None,
            cost_marks=each.price_marks,
            all_seconds=each.all_job_seconds,
            all_usd=each.all_job_usd,
            is_noisy=bool(each.num_noisy),
            is_resumed=bool(each.num_resumed),
        )
        for each in group
    ]
    return Job(
        where=label_of(group[0].setting, [name for name in told if name in _JOB]),
        aim=aim,
        candidates=with_front(found, aim),
    )


def _quality_of(each: Measured, aim: Aim | None) -> float | None:
    return each.quality[aim.metric].median if aim and aim.metric in each.quality else None


def with_front(candidates: Sequence[Candidate], aim: Aim | None) -> tuple[Candidate, ...]:
    """The candidates, the fastest first, with those marked that no other one beats.

    One that lacks a quality or a cost that another one has is not judged, and not on the front.
    """
    wanted = [
        name for name in ("quality", "cost_usd") if any(_known(getattr(each, name)) for each in candidates)
    ]
    judged = [each for each in candidates if all(_known(getattr(each, name)) for name in wanted)]
    losses = {each: _losses_of(each, aim) for each in judged}
    front: list[Candidate] = []
    for each in sorted(judged, key=losses.__getitem__):  # who beats another one comes before it
        if not any(_beats(losses[other], losses[each]) for other in front):
            front.append(each)
    unbeaten = frozenset(front)
    marked = (replace(each, on_front=each in unbeaten) for each in candidates)
    return tuple(sorted(marked, key=lambda each: (each.seconds, each.label)))


def _losses_of(each: Candidate, aim: Aim | None) -> tuple[float, ...]:
    """What is to be small: seconds, dollars, and the quality turned so that less is better."""
    known = (each.seconds, each.cost_usd, loss_of(each.quality, aim))
    return tuple(value for value in known if value is not None)


def loss_of(quality: float | None, aim: Aim | None) -> float | None:
    """The quality as something of which less is better; None where it or its direction is not known."""
    if aim is None or not _known(quality) or quality is None:
        return None
    return -quality if aim.higher_is_better else quality


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
