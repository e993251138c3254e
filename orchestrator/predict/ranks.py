"""How often predictions from one anchor name the device that is really the fastest, or the cheapest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.predict.held_out import HeldOut
from orchestrator.predict.pairs import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RankAccuracy:
    """Shares of workloads and anchors for which all devices are known.

    Attributes:
        named: for which predictions name the best device; the anchor counts as it was measured.
        always_one: for which the device that is best most often is the best: what no prediction at all gives.
    """

    named: float
    always_one: float


def rank_accuracy(found: Sequence[HeldOut], usd_per_hour: Mapping[str, float] | None) -> RankAccuracy | None:
    """Of one method under one split, all pairs.

    Args:
        usd_per_hour: device -> price, to find the cheapest; None: to find the fastest.

    Returns:
        None where there are fewer than three devices, for two make no rank, or a price is not known.
    """
    devices = sorted({device for each in found for device in (each.pair.anchor, each.pair.target)})
    if len(devices) < 3 or (usd_per_hour is not None and not set(devices) <= set(usd_per_hour)):
        return None
    price = {device: usd_per_hour[device] if usd_per_hour else 1.0 for device in devices}
    costs = [costs for anchor in devices if (costs := _costs(found, anchor, price)) is not None]
    if not costs:
        return None
    best = np.concatenate([true.argmin(axis=1) for true, _ in costs])
    named = np.concatenate([predicted.argmin(axis=1) for _, predicted in costs])
    return RankAccuracy(
        named=float(np.mean(best == named)), always_one=float(np.bincount(best).max() / len(best))
    )


def _costs(found: Sequence[HeldOut], anchor: str, price: Mapping[str, float]) -> tuple[Floats, Floats] | None:
    """[workload, device] true and predicted, of the workloads that every pair of this anchor has."""
    of_anchor = {each.pair.target: each for each in found if each.pair.anchor == anchor}
    if set(of_anchor) != set(price) - {anchor}:
        return None
    true: dict[str, dict[str, float]] = {}
    predicted: dict[str, dict[str, float]] = {}
    for target, each in of_anchor.items():
        true[target] = _by_workload(each, each.pair.target_seconds)
        predicted[target] = _by_workload(each, each.predicted.step_seconds)
        true[anchor] = predicted[anchor] = _by_workload(each, each.pair.profiles.step_seconds)
    shared = sorted(set.intersection(*(set(each) for each in true.values())))
    if not shared:
        return None

    def costs(seconds: Mapping[str, Mapping[str, float]]) -> Floats:
        return np.array([[seconds[device][each] * price[device] for device in price] for each in shared])

    return costs(true), costs(predicted)


def _by_workload(found: HeldOut, seconds: Floats) -> dict[str, float]:
    """Workload -> median of its repeats."""
    together: dict[str, list[float]] = defaultdict(list)
    for workload, each in zip(found.pair.workloads.tolist(), seconds.tolist(), strict=True):
        together[workload].append(each)
    return {workload: float(np.median(each)) for workload, each in together.items()}
