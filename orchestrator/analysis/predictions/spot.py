"""(price of rented machines, time of a training) -> its time and cost on spot machines, in words. Pure."""

import math
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse

from orchestrator.analysis.formatting import about, digits_for, duration, number
from orchestrator.analysis.predictions.spot_training import SpotTraining, predict_spot
from orchestrator.core.interval import Spread, exactly
from orchestrator.core.price import (
    Price,
    Provisioning,
    Unpriced,
    describe_machines,
    find_regions,
    is_of_marketplace,
)

_SECONDS_PER_HOUR = 3600
_SECONDS_PER_DAY = 86_400

ASSUMED_CHECKPOINT_SECONDS = 20.0
"""Seconds of a checkpoint where none was measured: the usual `checkpoint.grace_seconds`, its upper bound."""

_SURE = 0.995

LEAST_SHOWN_SECONDS = 3600.0
"""A shorter training is hardly ever interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotCost:
    """A training on spot machines, with all that interruptions cost.

    Attributes:
        seconds, usd: mean, and the range of 90 of 100 worlds around that of the training; infinite: no end.
        slowdown: (low, high) of its time over that without interruptions, in the same worlds.
        chance_cheaper: share of the worlds in which it costs less than on demand.
        checkpoint_every_seconds: training between two checkpoints that makes it shortest; None: none pays.
        checkpoint_seconds: time of one, as measured or assumed.
        interruptions_per_day: range of the rate of one machine, as stated.
        is_without_boot: a restart has no boot, for it is not stated.
        machine: what is rented, where that is another one than on demand; empty: the same.
    """

    seconds: Spread
    usd: Spread
    slowdown: tuple[float, float]
    chance_cheaper: float
    checkpoint_every_seconds: float | None
    checkpoint_seconds: float
    is_checkpoint_measured: bool
    interruptions_per_day: tuple[float, float]
    is_without_boot: bool
    machine: str = ""


def predict_spot_cost(
    price: Price | Unpriced | None,
    *,
    training: Spread,
    setup_seconds: float = 0.0,
    checkpoint_seconds: float | None = None,
) -> SpotCost | None:
    """Predict it on the cheapest spot machines, beside the cheapest on demand, which another seller may have;
    None: prices or interruptions are unknown. Neither more machines nor a marketplace beside `price` count.

    Args:
        training: seconds of the whole training without interruptions.
        setup_seconds: launch and first step, once more after each interruption.
        checkpoint_seconds: time of a checkpoint; None: not measured.
    """
    if not isinstance(price, Price) or training.median <= 0:
        return None
    sellers = [price, *(p for p in filterfalse(is_of_marketplace, price.elsewhere) if p.nodes <= price.nodes)]
    rented = min(sellers, key=partial(_find_usd, provisioning="spot"))
    spot, on_demand = _find_usd(rented, "spot"), min(_find_usd(one, "on_demand") for one in sellers)
    if rented.interruptions_per_day is None or math.inf in (spot, on_demand):
        return None
    boots = price.start_seconds or (0.0, 0.0)
    one_checkpoint = ASSUMED_CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    low, high = rented.interruptions_per_day
    per_second = rented.num_nodes / _SECONDS_PER_DAY
    outlook = predict_spot(
        SpotTraining(
            work_seconds=training.median,
            checkpoint_seconds=one_checkpoint,
            restart_seconds=(boots[0] + setup_seconds, boots[1] + setup_seconds),
            interruptions_per_second=(per_second * low, per_second * high),
        ),
        price_ratio=spot / on_demand,
    )
    (least, most), interval = outlook.slowdown, outlook.interval_seconds
    mean = training.median * outlook.expected_slowdown
    seconds = Spread(median=mean, low=training.low * least, high=max(training.high * most, mean))
    return SpotCost(
        seconds=seconds,
        usd=seconds.times(spot / _SECONDS_PER_HOUR),
        slowdown=outlook.slowdown,
        chance_cheaper=outlook.chance_cheaper,
        checkpoint_every_seconds=None if interval >= training.median else interval,
        checkpoint_seconds=one_checkpoint,
        is_checkpoint_measured=checkpoint_seconds is not None,
        interruptions_per_day=(low, high),
        is_without_boot=price.start_seconds is None,
        machine="" if rented is price else f"{describe_machines(rented)} in {find_regions(rented)}",
    )


def _find_usd(price: Price, provisioning: Provisioning) -> float:
    usd = price.usd_per_hour_as(provisioning)
    return math.inf if usd is None else usd


def describe_spot(cost: SpotCost | None) -> str:
    """Format `As a spot machine: 10 h (10 to 11), $3.1 (3.0 to 3.4). Cheaper in 94 of 100 worlds, 1.00 to
    1.04 times as long ...`; empty: unknown, or a training of less than an hour.
    """
    if cost is None or cost.seconds.median < LEAST_SHOWN_SECONDS:
        return ""
    low, high = cost.interruptions_per_day
    basis = f"Stated: {low:g} to {high:g} interruptions a day of a machine"
    where = f" ({cost.machine})" if cost.machine else ""
    if cost.seconds.high == math.inf:
        return f"As a spot machine{where} it would not come to its end. {basis}."
    longer = " to ".join(dict.fromkeys(f"{end:.2f}" for end in cost.slowdown))
    known = "measured" if cost.is_checkpoint_measured else "assumed"
    every = cost.checkpoint_every_seconds
    checkpoint = (
        "No checkpoint pays"
        if every is None
        else f"Best: a checkpoint every {duration(exactly(every), digits=2)} "
        f"({duration(exactly(cost.checkpoint_seconds), digits=2)} each, {known})"
    )
    return (
        f"As a spot machine{where}: {about(cost.seconds)}, {_dollars(cost.usd)}. Cheaper in "
        f"{_worlds(cost.chance_cheaper)} of 100 worlds, {longer} times as long. {checkpoint}. {basis}"
        f"{', boot not included' if cost.is_without_boot else ''}."
    )


def _worlds(chance: float) -> str:
    if chance > _SURE:
        return "more than 99"
    return "less than 1" if chance < 1 - _SURE else f"{100 * chance:.0f}"


def _dollars(usd: Spread) -> str:
    digits = digits_for(usd)
    middle, low, high = (number(end, digits=digits) for end in (usd.median, usd.low, usd.high))
    return f"${middle} ({low} to {high})" if low != high else f"${middle}"
