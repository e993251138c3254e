"""Own measurements on a device -> what they teach of other steps there. Pure."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.spec import TrialSpec
from orchestrator.predict.analytic import around
from orchestrator.predict.basis import Basis
from orchestrator.predict.own import Own
from orchestrator.predict.prior import Prior, learned_from

BasisOf = Callable[[TrialSpec], Basis]
"""Of a trial on one of the devices that are asked about."""

Corrected = Callable[[Basis, str | None], Estimate | Refusal]
"""(basis, trainer; None: any) -> the estimate, after own measurements on that device were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Peer:
    """A measurement, and the logarithm of what it took over its sum of parts."""

    own: Own
    log: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """A ratio to multiply a sum of parts by, and the factor of its interval to both sides."""

    ratio: float
    factor: float
    source: str


def corrector_of(basis_of_trial: BasisOf, own: Iterable[Own], prior: Prior) -> Corrected:
    """Own measurements correct the sums of parts of all other steps with the same `Basis.peers`."""
    peers: dict[Hashable, list[_Peer]] = defaultdict(list)
    for each in own:
        basis = basis_of_trial(each.trial)
        if basis.seconds is not None:
            peers[basis.peers].append(_Peer(own=each, log=math.log(each.step_seconds / basis.seconds)))

    @cache  # the same for all steps with these peers
    def lesson(key: Hashable, trainer: str | None, device: float, workload: float) -> _Lesson:
        known = peers[key]
        chosen = [each for each in known if each.own.trial.trainer == trainer] or known
        return _lesson_of(chosen, device=device, workload=workload, prior=prior)

    def corrected(basis: Basis, trainer: str | None) -> Estimate | Refusal:
        if basis.seconds is None or basis.peers not in peers:
            return basis.step
        learned = lesson(basis.peers, trainer, basis.device, basis.workload)
        source = f"{learned.source}; {basis.source}"
        return around(learned.ratio * basis.seconds, factor=learned.factor, source=source)

    return corrected


def _lesson_of(peers: Sequence[_Peer], *, device: float, workload: float, prior: Prior) -> _Lesson:
    by_workload: dict[str, list[float]] = defaultdict(list)
    for each in peers:
        by_workload[each.own.trial.workload].append(each.log)
    logs = [fmean(found) for found in by_workload.values()]
    found = learned_from(logs, device=device, workload=workload, freedom=prior.freedom)
    told = told_of([each.own for each in peers])
    return _Lesson(
        ratio=math.exp(found.mean),
        factor=math.exp(prior.quantile * found.deviation),
        source=f"own records there of {', '.join(sorted(by_workload))}: {told}",
    )


def told_of(own: Sequence[Own]) -> str:
    """`3 of sweep zoo`, `4 of sweeps smoke, zoo`."""
    sweeps = sorted({each.sweep for each in own})
    return f"{len(own):,} of sweep{'s' if len(sweeps) > 1 else ''} {', '.join(sweeps)}"
