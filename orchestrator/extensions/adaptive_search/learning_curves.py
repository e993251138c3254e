"""Ray Tune's successive halving (ASHA) on learning curves: is a training behind the better half?"""

from collections.abc import Sequence
from types import SimpleNamespace

Point = tuple[float, float]

_FACTOR = 2.0
_RUNGS = 3  # at a quarter, a half and the whole of what the best training used


def stops_on_curve(others: Sequence[Sequence[Point]], own: Sequence[Point], most: float) -> bool:
    """Return whether asynchronous successive halving ends a training: Li and others 2020, MLSys.

    The trainings are played back to Tune's scheduler one after the other, so that a decision depends on what
    was recorded alone.

    Args:
        others: (used, quality) at every evaluation of other trainings; more quality is better.
        own: the same of the training so far.
        most: what the best training used until its target.
    """
    from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler  # takes seconds to import

    scheduler = AsyncHyperBandScheduler(
        time_attr="used",
        metric="quality",
        mode="max",
        grace_period=most / _FACTOR ** (_RUNGS - 1),  # type: ignore[arg-type] # any unit, Ray's text says
        max_t=most * _FACTOR,  # type: ignore[arg-type]
        reduction_factor=_FACTOR,
        stop_last_trials=False,
    )
    decision = TrialScheduler.CONTINUE
    for number, curve in enumerate((*others, own)):
        trial = SimpleNamespace(trial_id=str(number))
        scheduler.on_trial_add(None, trial)  # type: ignore[arg-type] # neither asks for more of them
        decision = TrialScheduler.CONTINUE
        for used, quality in curve:
            decision = scheduler.on_trial_result(
                None,  # type: ignore[arg-type]
                trial,  # type: ignore[arg-type]
                {"used": used, "quality": quality},
            )
            if decision == TrialScheduler.STOP:
                break
    return bool(decision == TrialScheduler.STOP)
