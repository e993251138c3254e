"""(placements, what is wanted) -> the order in which they are started. Pure."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from orchestrator.core.device import Device
from orchestrator.core.peaks import find_peaks
from orchestrator.core.placement import Placement
from orchestrator.core.price import Price
from orchestrator.core.sweep import Order
from orchestrator.core.trial_spec import Option, TrialSpec
from orchestrator.plan.pricing import PriceBook
from workloads.cost import find_cost
from workloads.registry import cached_workload

_UNPUBLISHED_FLOPS_PER_SECOND = 1e11
"""Order of magnitude for a host with a few cores. It serves to sort trials only."""

TrialWeight = Callable[[Placement], float]
"""Sort key of a trial. Trials with the smallest weight start first."""


def running_order(
    placements: Iterable[Placement], *, seed: int | None, weight: TrialWeight = lambda _: 0.0
) -> tuple[Placement, ...]:
    """Measured trials before rehearsals, by weight, and in rounds: each point once, shuffled, then repeats.

    So a host that grows slower for an hour does so for all points, and repeats of one point lie apart: what
    they vary by holds that drift. A trial's place in its round is drawn from the seed and its id alone: what
    is left of a sweep runs in the order in which it would have run. Without a seed, rounds keep their order.
    """
    return tuple(
        sorted(
            placements,
            key=lambda placement: (
                placement.provenance == "rehearsed",
                weight(placement),
                placement.trial.repeat,
                _drawn(placement.trial_id, seed),
            ),
        )
    )


def choose_weight(order: Order, price_book: PriceBook) -> TrialWeight:
    """Return the weight function of an order: the bound of a trial's time, that times its price, or none."""

    def seconds(placement: Placement) -> float:
        trial = placement.trial
        names = trial.devices if trial.other_devices else (trial.device,)
        return seconds_at_peak(trial, [price_book.devices[name] for name in names])

    def usd(placement: Placement) -> float:
        price = price_book.find_price(placement)
        return seconds(placement) * price.usd_per_hour if isinstance(price, Price) else math.inf

    weights: Mapping[Order, TrialWeight] = {
        "shuffled": lambda _: 0.0,
        "longest_first": lambda placement: -seconds(placement),
        "cheapest_first": usd,
    }
    return weights[order]


def seconds_at_peak(trial: TrialSpec, devices: Sequence[Device]) -> float:
    """Return the seconds of the trial's steps at its devices' peak: a lower bound, used to order trials only.

    Args:
        devices: devices of the workers; one if all are equal.
    """
    together = sum(_flops_per_second(device, trial.precision) for device in devices)
    options = tuple(sorted(trial.workload_options.items()))
    flops = trial.steps * _step_flops(trial.workload, options, trial.global_batch_size)
    return flops / (together * trial.num_workers / len(devices))


def _flops_per_second(device: Device, precision: str) -> float:
    """Return the device's peak; without a published one for the precision, the lowest published peak."""
    peaks = find_peaks(device, precision, count=1)
    lowest = min(device.peak_flops_per_second.values(), default=_UNPUBLISHED_FLOPS_PER_SECOND)
    return (peaks and peaks.flops_per_second) or lowest


@cache
def _step_flops(name: str, options: tuple[tuple[str, Option], ...], global_batch_size: int) -> float:
    cost = find_cost(cached_workload(name, dict(options)))
    return cost.step_flops(global_batch_size) if cost else 0.0


def _drawn(trial_id: str, seed: int | None) -> bytes:
    """The place of a trial in its round; equal for all without a seed."""
    return b"" if seed is None else hashlib.sha256(f"{seed} {trial_id}".encode()).digest()
