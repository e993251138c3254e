"""(prices of rented machines) -> time and cost of their start beside a training, in words. Pure."""

from collections.abc import Callable, Iterable

from orchestrator.analysis.formatting import duration, number
from orchestrator.core.interval import exactly
from orchestrator.core.price import Price, Unpriced

_SECONDS_PER_HOUR = 3600
_WITHOUT_BOOT = "Boot and install of a rented machine are not included"


def describe_start(prices: Iterable[Price | Unpriced | None]) -> str:
    """Show what the start of rented machines takes and costs; no trial measures that. Empty: none is rented.

    Args:
        prices: price of each machine that is rented; None: not known.
    """
    rented = list(prices)
    if not rented:
        return ""
    known = [price for price in rented if isinstance(price, Price)]
    if not known:
        return f"{_WITHOUT_BOOT}."
    starts = [(price.start_seconds, price) for price in known if price.start_seconds is not None]
    if len(starts) < len(known):
        words = f"{_WITHOUT_BOOT} (prices.start_seconds=[LOW,HIGH] adds them)"
    else:
        ends = [(seconds, price) for both, price in starts for seconds in both]
        time = _range((seconds for seconds, _ in ends), lambda end: duration(exactly(end), digits=2))
        usd = _range((_usd(price, seconds) for seconds, price in ends), _dollars)
        words = f"Boot and install of a rented machine come on top: {time}, {usd}, as stated"
    if least := [
        (price.least_billing_seconds, price) for price in known if price.least_billing_seconds is not None
    ]:
        seconds = _range((seconds for seconds, _ in least), "{:g}".format)
        usd = _range((_usd(price, seconds) for seconds, price in least), _dollars)
        words += f". Each start is billed for at least {seconds} s, {usd}"
    return f"{words}."


def _range(values: Iterable[float], shown: Callable[[float], str]) -> str:
    """`$0.12 to $0.60`, or `$0.12` where both ends look alike."""
    numbers = sorted(values)
    return " to ".join(dict.fromkeys((shown(numbers[0]), shown(numbers[-1]))))


def _dollars(usd: float) -> str:
    return f"${number(usd, digits=2)}"


def _usd(price: Price, seconds: float) -> float:
    return price.usd_per_hour / _SECONDS_PER_HOUR * seconds
