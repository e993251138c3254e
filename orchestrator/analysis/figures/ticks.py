"""Ticks of logarithmic axes. Pure."""

import math

_MOST_TICKS = 7
_LEAST_TICKS = 3
_DIGITS: tuple[tuple[int, ...], ...] = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7))


def log_ticks(low: float, high: float) -> list[float]:
    """Choose ticks between two positive ends: digits of each decade, or round steps within one decade."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in _DIGITS:
        ticks = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= _LEAST_TICKS:
            return inside[:: math.ceil(len(inside) / _MOST_TICKS)]
    if math.isclose(low, high):
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(high - low))
    step = next(
        size
        for size in (magnitude * factor for factor in (5.0, 2.0, 1.0, 0.5, 0.2, 0.1))
        if math.floor(high / size) - math.ceil(low / size) + 1 >= _LEAST_TICKS
    )
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]
