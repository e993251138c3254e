"""Offers of sellers: an instance with its devices in a region, for how much, of which day. Pure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.errors import ConfigError
from orchestrator.core.price import PriceRow, is_day

RegionGroup = Literal["us", "europe", "asia", "other"]

_IN_EUROPE = "at|be|bg|ch|cz|de|dk|ee|es|fi|fr|gb|hr|hu|ie|is|it|lt|lv|nl|no|pl|pt|ro|se|si|sk|ua"
_IN_ASIA = "ae|as|hk|id|il|in|jp|kr|my|ph|sa|sg|th|tw|vn"

GROUPS: Mapping[RegionGroup, str] = {
    "us": r"^us|(east|west|central)us\d?$|, us(,|$)",
    "europe": r"^eu|europe|^(uk|france|germany|italy|sweden|norway|switzerland|spain|poland|austria|fin-)"
    rf"|(^|, )({_IN_EUROPE})(,|$)",
    "asia": r"^(ap|me|il)-|asia|japan|korea|india|indonesia|malaysia|uae|qatar|israel"
    rf"|(^|, )({_IN_ASIA})(,|$)",
    "other": "",
}
"""Group of regions -> names of its regions at all sellers, in small letters; the first that holds counts."""


def find_group(region: str) -> RegionGroup:
    """Return the part of the world that a region is in, by its name."""
    return next(group for group, names in GROUPS.items() if re.search(names, region.lower()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Instance of a seller.

    Attributes:
        seller: as its catalogue is called, `lambda`.
        zone: availability zone; None where the catalogue has none.
        device: name of a device's file.
        count: number of those devices.
        on_demand_usd_per_hour, spot_usd_per_hour: of the whole instance; None: not sold so.
        as_of: day of the figures, `2026-11-28`.
        source: address or file that they were read from.
        note: caveat, as `short: stock was low`.

    Raises:
        ConfigError: figures that no price can have.
    """

    seller: str
    instance: str
    region: str
    zone: str | None
    device: str
    count: int
    on_demand_usd_per_hour: float | None
    spot_usd_per_hour: float | None
    as_of: str
    source: str
    note: str | None = None

    def __post_init__(self) -> None:
        if not is_day(self.as_of):
            raise ConfigError(f"{self.instance} has as_of={self.as_of!r}, which is no day")
        on_demand, spot = self.on_demand_usd_per_hour, self.spot_usd_per_hour
        for name, usd in (("price", on_demand), ("spot price", spot)):
            if usd is not None and not 0 < usd < math.inf:
                raise ConfigError(f"{self.instance} has a {name} of {usd:g}, which is not above 0")
        if on_demand is not None and spot is not None and spot > on_demand:
            raise ConfigError(f"{self.instance} has a spot price of {spot:g}, above {on_demand:g} on demand")

    @property
    def row(self) -> PriceRow:
        """Its prices as a row of a price list."""
        return PriceRow(
            on_demand_usd_per_hour=self.on_demand_usd_per_hour,
            spot_usd_per_hour=self.spot_usd_per_hour,
            as_of=self.as_of,
            source=self.source,
            note=self.note,
        )

    @property
    def cheapest_usd_per_device_hour(self) -> float:
        """Return the lowest of its prices, of one device."""
        prices = [usd for usd in (self.on_demand_usd_per_hour, self.spot_usd_per_hour) if usd is not None]
        return min(prices) / self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferList:
    """All offers that were fetched or imported, as they are kept on disk."""

    offers: tuple[Offer, ...] = ()

    def override(self, others: tuple[Offer, ...]) -> "OfferList":
        """Return the list with these offers in place of all those of their sellers."""
        sellers = {offer.seller for offer in others}
        return OfferList(offers=(*(one for one in self.offers if one.seller not in sellers), *others))
