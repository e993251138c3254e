"""Price lists, and the price of a trial's hardware as its record keeps it, with source and day."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from orchestrator.core.errors import ConfigError, RecordError, UnknownNameError

Provisioning = Literal["on_demand", "spot"]
Currency = Literal["USD"]

MOST_SPOT_FRACTION = 0.75
"""Highest plausible spot price, as a fraction of the on-demand price.

A higher fraction shows that a catalogue lists a discounted price as the on-demand price.
"""


SHORT = "short: "
"""Start of a note on what is hard to get there."""

OWN_SOURCE = "stated as prices.own"
"""Source of a person's own price."""

MARKETPLACES = frozenset({"vast", "runpod_community"})
"""Sellers of what hosts of their own ask at a moment: no firm offer, and often taken when one wants it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow:
    """Price of one instance per hour: its accelerators and their host together.

    Attributes:
        on_demand_usd_per_hour, spot_usd_per_hour: None where the source has no such price.
        as_of: date of the figures, `2026-08-20`.
        source: publisher of the figure.
        note: caveat of costs computed from this row.
    """

    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    as_of: str
    source: str
    note: str | None = None

    def usd_per_hour(self, provisioning: Provisioning) -> float | None:
        """One of the two figures."""
        return self.spot_usd_per_hour if provisioning == "spot" else self.on_demand_usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Prices, and how they are applied.

    Attributes:
        name: name of its file in `conf/prices/`.
        region: region of the rows that count; None in a list without rows.
        billing_seconds: every attempt is billed for a whole number of these.
        max_age_days: a price is marked if it is older than that when it is looked up.
        this_host: the instance that this host is rented as; a price of any other is hypothetical.
        confirmed_spot: instances with a spot price that may be close to that on demand.
        rows: region -> instance -> row.
        least_billing_seconds: shortest time that each start of a machine is billed for; None: unknown.
        start_seconds: range of boot, install and CUDA start of a machine, as stated; None: unknown.
        interruptions_per_day: range of how often a spot machine is lost in a day, as stated; None: unknown.
        seller: who asks the prices of the rows; None: not stated.
        sellers: sellers that count, `all` for every one; None: others count only where a row is missing.
        offer_regions: regions, or groups of them, in which offers of other sellers count; empty: all.
        discount: seller -> share that is taken off its prices on demand.
        own: device -> own price of one of them in an hour, host included; 0: it is reserved, and paid anyway.
        short: device -> regions in which it is hard to get.

    Raises:
        ConfigError: a figure, day or name that cannot be, or a spot price like a catalogue's error.
    """

    name: str
    region: str | None
    provisioning: Provisioning
    currency: Currency
    billing_seconds: float
    max_age_days: int
    this_host: str | None
    confirmed_spot: tuple[str, ...]
    rows: Mapping[str, Mapping[str, PriceRow]]
    least_billing_seconds: float | None = None
    start_seconds: tuple[float, ...] | None = None
    interruptions_per_day: tuple[float, ...] | None = None
    seller: str | None = None
    sellers: tuple[str, ...] | None = None
    offer_regions: tuple[str, ...] = ()
    discount: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[str, float] = field(default_factory=dict)
    short: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_words()
        least, start, lost = self.least_billing_seconds, self.start_seconds, self.interruptions_per_day
        if least is not None and not 0 < least < math.inf:
            raise ConfigError(f"prices.least_billing_seconds={least} must be above 0 and finite")
        if start is not None and not (len(start) == 2 and 0 <= start[0] <= start[1] < math.inf):
            raise ConfigError(f"prices.start_seconds={list(start)} must be a range of seconds, as [60,600]")
        if lost is not None and not (len(lost) == 2 and 0 < lost[0] <= lost[1] < math.inf):
            raise ConfigError(
                f"prices.interruptions_per_day={list(lost)} must be a range above 0, as [0.05,0.16]"
            )
        if not 0 < self.billing_seconds < math.inf:
            raise ConfigError(f"prices.billing_seconds={self.billing_seconds} must be above 0 and finite")
        if self.max_age_days < 0:
            raise ConfigError(f"prices.max_age_days={self.max_age_days} must not be negative")
        if self.rows and self.region not in self.rows:
            raise UnknownNameError("prices.region", str(self.region), known=self.rows)
        instances = dict.fromkeys(instance for rows in self.rows.values() for instance in rows)
        for instance in (*self.confirmed_spot, *((self.this_host,) if self.this_host else ())):
            if instance not in instances:
                raise UnknownNameError(f"instance in prices={self.name}:", instance, known=instances)
        for region, rows in self.rows.items():
            for instance, row in rows.items():
                self._check(row, instance, where=f"conf/prices/{self.name}.yaml: {instance} in {region}")

    def _check_words(self) -> None:
        for seller, share in self.discount.items():
            if not 0 <= share < 1:
                raise ConfigError(
                    f"prices.discount: {seller}={share:g} must be a share from 0 to below 1, as {{gcp: 0.3}}"
                )
        for device, usd in self.own.items():
            if not 0 <= usd < math.inf:
                raise ConfigError(
                    f"prices.own: {device}={usd:g} must be a price as {{h100: 2.5}}, or 0: reserved"
                )
        if self.sellers == ():
            raise ConfigError("prices.sellers=[] names none; possible: [all], or names as [gcp,aws]")

    def includes(self, seller: str | None) -> bool:
        """Return whether a seller's prices count."""
        return self.sellers is None or "all" in self.sellers or seller in self.sellers

    def find_discount(self, provisioning: Provisioning, seller: str | None) -> float:
        """Return the share that the seller takes off, which it does on demand alone."""
        return self.discount.get(seller or "", 0.0) if provisioning == "on_demand" else 0.0

    def _check(self, row: PriceRow, instance: str, *, where: str) -> None:
        on_demand, spot = row.on_demand_usd_per_hour, row.spot_usd_per_hour
        for provisioning, usd in (("on_demand", on_demand), ("spot", spot)):
            if usd is not None and not 0 < usd < math.inf:
                raise ConfigError(f"{where}: {provisioning}={usd} must be above 0 and finite")
        if not is_day(row.as_of):
            raise ConfigError(f"{where}: as_of={row.as_of!r} must be a day, as in 2026-08-20")
        if not row.source:
            raise ConfigError(f"{where}: a price needs a source")
        if on_demand is None or spot is None or instance in self.confirmed_spot:
            return
        if spot > MOST_SPOT_FRACTION * on_demand:
            raise ConfigError(
                f"{where}: spot={spot} is above {MOST_SPOT_FRACTION} x on_demand={on_demand}, which looks "
                f"like a catalogue's error; correct the row, or set prices.confirm_spot=[{instance}]"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of one trial's hardware while it holds it: a price list's row, frozen.

    Attributes:
        prices: name of the price list.
        instance: rented instance type: accelerators and their host.
        nodes: number of nodes.
        node_usd_per_hour: price of one node.
        as_of: date of that figure.
        priced_on: the day on which it was looked up.
        is_hypothetical: the host that ran the trial is not known to be that instance.
        is_repriced: True if a report replaced the stored price.
        beside: other rented instances of a trial with unequal devices; the marks above cover all of them.
        least_billing_seconds, start_seconds, interruptions_per_day: as in the price list; None: unknown.
        other_node_usd_per_hour: price of one node on demand where it is a spot machine, and the other way
            round; None: unknown.
        seller: seller of the nodes; None: not stated, as by older versions.
        unused_devices: devices of the nodes that the trial does not use, and pays.
        elsewhere: price of the next cheapest seller; empty: none is known, or was asked for.
        is_reserved: it is paid anyway, as the user states, and counts 0.

    Raises:
        RecordError: a day or figure that cannot be.
    """

    prices: str
    instance: str
    nodes: int
    region: str
    provisioning: Provisioning
    currency: Currency
    node_usd_per_hour: float
    as_of: str
    priced_on: str
    source: str
    note: str | None
    billing_seconds: float
    max_age_days: int
    is_hypothetical: bool
    is_repriced: bool = False
    beside: tuple["Price", ...] = ()
    least_billing_seconds: float | None = None
    start_seconds: tuple[float, ...] | None = None
    interruptions_per_day: tuple[float, ...] | None = None
    other_node_usd_per_hour: float | None = None
    seller: str | None = None
    unused_devices: int = 0
    elsewhere: tuple["Price", ...] = ()
    is_reserved: bool = False

    def __post_init__(self) -> None:
        for name in ("as_of", "priced_on"):
            if not is_day(getattr(self, name)):
                raise RecordError(f"price of {self.instance}: {name}={getattr(self, name)!r} is not a date")
        is_free = self.is_reserved and self.node_usd_per_hour == 0
        for name in ("nodes", *(() if is_free else ("node_usd_per_hour",)), "billing_seconds"):
            if not 0 < getattr(self, name) < math.inf:
                raise RecordError(f"price of {self.instance}: {name}={getattr(self, name)} is not above 0")

    @property
    def rented(self) -> tuple["Price", ...]:
        """Each kind of node by itself."""
        return (replace(self, beside=()), *self.beside)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all kinds."""
        return self.nodes + sum(price.nodes for price in self.beside)

    @property
    def usd_per_hour(self) -> float:
        """Dollars per hour of all nodes."""
        return self.nodes * self.node_usd_per_hour + sum(price.usd_per_hour for price in self.beside)

    def usd_per_hour_as(self, provisioning: Provisioning) -> float | None:
        """Return the dollars per hour of all nodes, rented in that way; None: unknown of one of them."""
        total = 0.0
        for price in self.rented:
            is_own = price.provisioning == provisioning
            figure = price.node_usd_per_hour if is_own else price.other_node_usd_per_hour
            if figure is None:
                return None
            total += price.nodes * figure
        return total

    def billed_seconds(self, seconds: float) -> float:
        """Round seconds up to the billing increment."""
        return math.ceil(seconds / self.billing_seconds) * self.billing_seconds

    @property
    def age_days(self) -> int:
        """Age in days of the oldest figure when it was looked up."""
        days = [(date.fromisoformat(self.priced_on) - date.fromisoformat(self.as_of)).days]
        return max(days + [price.age_days for price in self.beside])

    @property
    def is_old(self) -> bool:
        """True where the age exceeds the price list's limit."""
        return self.age_days > self.max_age_days


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpriced:
    """Reason in one line why a trial has no price."""

    reason: str


def is_day(text: str) -> bool:
    """Return whether it is a day as `2026-08-20`."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


LISTED = {"hypothetical": "list price"}
"""Mark of a price -> its words beside a price; that dollars are hypothetical is shown once."""


def priced_as(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand in gcp us-central1, $0.73/h of 2026-08-20`, with marks.

    Each price that stands beside it is a further sentence.
    """
    parts = (
        f"{rented(price)} in {find_regions(price)}",
        f"${price.usd_per_hour:g}/h{_describe_age(price)}",
        *(LISTED.get(mark, mark) for mark in find_marks(price)),
    )
    return ". Elsewhere ".join((", ".join(parts), *map(priced_as, price.elsewhere)))


def _describe_age(price: Price) -> str:
    """Describe the day of a price; empty: it is the person's own, which holds on every day."""
    return "" if all(row.source == OWN_SOURCE for row in price.rented) else f" of {find_oldest(price)}"


def rented(price: Price) -> str:
    """Format `n1-standard-8+1xT4 on demand`, `3 x v3-8 spot`, and so on for each kind of node."""
    return " + ".join(map(_describe_nodes, price.rented))


def _describe_nodes(row: Price) -> str:
    devices = "device" if row.unused_devices == 1 else "devices"
    unused = f" with {row.unused_devices} unused {devices}" if row.unused_devices else ""
    return f"{describe_machines(row)} {row.provisioning.replace('_', ' ')}{unused}"


def describe_machines(price: Price) -> str:
    """Format `n1-standard-8+1xT4`, `3 x v3-8`, without other kinds of nodes."""
    return f"{price.nodes} x {price.instance}" if price.nodes > 1 else price.instance


def find_regions(price: Price) -> str:
    """Return the regions of a price's nodes with their sellers, each once: `gcp us-central1`."""
    return ", ".join(dict.fromkeys(" ".join(filter(None, (row.seller, row.region))) for row in price.rented))


def find_oldest(price: Price) -> str:
    """Return the day of the oldest of its figures."""
    return min(row.as_of for row in price.rented)


def is_of_marketplace(price: Price) -> bool:
    """Return whether hosts of their own ask it at a moment, so that it is no firm offer."""
    return any(row.seller in MARKETPLACES for row in price.rented)


def find_marks(price: Price) -> tuple[str, ...]:
    """Return the marks that separate a cost from others: `hypothetical`, `old` and the like."""
    marks = {
        "hypothetical": price.is_hypothetical,
        "old": price.is_old,
        "re-priced": price.is_repriced,
        "reserved": price.is_reserved,
        "marketplace": is_of_marketplace(price),
        "short": any(SHORT in (row.note or "") for row in price.rented),
    }
    return tuple(mark for mark, holds in marks.items() if holds)
