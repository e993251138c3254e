"""Price of a trial's hardware by device, count, price list and day, or the reason for none. Pure."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from orchestrator.core.device import Device
from orchestrator.core.placement import Placement, Plan
from orchestrator.core.pool import Pool, parse_region
from orchestrator.core.price import OWN_SOURCE, Price, PriceList, Unpriced, is_of_marketplace
from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec
from orchestrator.plan.offer import Offer
from orchestrator.plan.offer_prices import find_offer_prices, rank_price
from orchestrator.plan.rented_nodes import RentedNodes, build_price

_NO_SELLER = (
    "no other seller that counts is known to have {what}; `prices refresh` fetches more, and "
    "'prices.own={{{device}: USD}}' states what one quotes"
)


def find_price(
    device: Device,
    count: int,
    *,
    prices: PriceList,
    today: str,
    pool: Pool | None = None,
    num_hosts: int = 1,
    instance: str = "",
    load_offers: Callable[[], Iterable[Offer]] = tuple,
) -> Price | Unpriced:
    """Return the price of that many devices and their hosts: that of the list, or of the cheapest seller.

    An own price comes before all others. Offers of other sellers count where the list has no price, or
    compete with it where `prices.sellers` is given. Hardware in a pool, and an instance that this host is
    known to be, have the price of the list.

    Args:
        today: `2026-11-21`.
        pool: pool of the trial; None: the hardware is not known to be rented.
        num_hosts: nodes that it asks for; where it asks for one, as many count as its devices take.
        instance: the device was asked for by its name, and it comes before cheaper ones; empty: by none.
        load_offers: reads the offers of all sellers, where a price needs them.
    """
    if device.name in prices.own:
        count = num_hosts * pool.count if pool else count
        return _find_own_price(device, count, prices=prices, today=today, num_hosts=num_hosts)
    if prices.region is None or not prices.rows:
        return Unpriced(reason=f"prices={prices.name} has no prices")
    listed = _find_listed_price(device, count, prices=prices, today=today, pool=pool, num_hosts=num_hosts)
    is_enough = isinstance(listed, Price) or prices.seller is None
    is_here = isinstance(listed, Price) and not listed.is_hypothetical
    if pool or is_here or (is_enough and prices.sellers is None):
        return listed
    if not prices.includes(prices.seller):
        listed = Unpriced(reason=f"prices.sellers leaves out {prices.seller}")
    rank = partial(rank_price, instance=instance, sellers=prices.sellers or ())
    offers = tuple(load_offers())
    offered, spots = (
        find_offer_prices(device.name, count, offers, prices=one, today=today, num_hosts=num_hosts, rank=rank)
        for one in (prices, replace(prices, provisioning="spot"))
    )
    if isinstance(listed, Price):
        offered = (listed, *offered)
    elif not offered:
        what = "a spot price of one" if prices.provisioning == "spot" else "one"
        return Unpriced(reason=f"{listed.reason}, and {_NO_SELLER.format(what=what, device=device.name)}")
    return _with_elsewhere(sorted(offered, key=rank), spots)


def _with_elsewhere(ranked: Sequence[Price], spots: Sequence[Price]) -> Price:
    """Return the first price, and beside it the second, the cheapest and the cheapest as spot machines.

    Spot machines are no more than those of the first price, cheaper, and of no marketplace.
    """
    first, *others = ranked
    cheapest = min(ranked, key=lambda one: one.usd_per_hour)
    firm = (one for one in (*ranked, *spots) if one.nodes <= first.nodes and not is_of_marketplace(one))
    usd = {one: one.usd_per_hour_as("spot") or math.inf for one in firm}
    spot = [one for one in sorted(usd, key=usd.__getitem__) if usd[one] < first.usd_per_hour]
    shown = (*others[:1], cheapest, *spot[:1])
    return replace(first, elsewhere=tuple(one for one in dict.fromkeys(shown) if one != first))


def _find_own_price(device: Device, count: int, *, prices: PriceList, today: str, num_hosts: int) -> Price:
    per_host = 1 if device.kind == "cpu" else math.ceil(count / num_hosts)
    return Price(
        prices=prices.name,
        instance=f"{per_host} x {device.name}",
        nodes=num_hosts,
        region="your account",
        provisioning=prices.provisioning,
        currency=prices.currency,
        node_usd_per_hour=prices.own[device.name] * per_host,
        as_of=today,
        priced_on=today,
        source=OWN_SOURCE,
        note=None,
        billing_seconds=prices.billing_seconds,
        max_age_days=prices.max_age_days,
        is_hypothetical=False,
        start_seconds=prices.start_seconds,
        is_reserved=prices.own[device.name] == 0,
    )


def _find_listed_price(
    device: Device,
    count: int,
    *,
    prices: PriceList,
    today: str,
    pool: Pool | None,
    num_hosts: int,
) -> Price | Unpriced:
    """Return the price of the list's row.

    They are rented as the instance that holds exactly as many; if none does, as several of the largest one
    with a number that divides theirs. Over several hosts, each is the smallest instance that holds its part,
    and is paid whole. A trial on CPUs has one instance a host for any number of workers. A trial in a pool
    has its nodes whole, as they are rented there.
    """
    rented = _in_pool(pool, num_hosts) if pool else _rented_on_request(device, count, prices, num_hosts)
    if isinstance(rented, Unpriced):
        return rented
    row = prices.rows.get(rented.region, {}).get(rented.instance)
    if row is None:
        return Unpriced(reason=_no_row(rented, prices))
    price = build_price(row, rented, seller=prices.seller, prices=prices, today=today)
    if price is None:
        return Unpriced(
            reason=f"prices={prices.name} has no {rented.provisioning} price of {rented.instance} in "
            f"{rented.region}"
        )
    return replace(price, least_billing_seconds=prices.least_billing_seconds)


def price_together(prices: Sequence[Price | Unpriced]) -> Price | Unpriced:
    """Add the prices of all parts of a trial; Unpriced where one has none."""
    known_prices = [price for price in prices if isinstance(price, Price)]
    if len(known_prices) < len(prices):
        return next(price for price in prices if isinstance(price, Unpriced))
    first, *others = known_prices
    is_hypothetical = any(price.is_hypothetical for price in known_prices)
    if not others:
        return first
    return replace(first, beside=tuple(others), is_hypothetical=is_hypothetical, elsewhere=())


def find_node_prices(placement: Placement, price: Price) -> tuple[Price, ...]:
    """Return the price of each node, in the order of the hosts."""
    pools = dict.fromkeys(part.pool for part in placement.parts)
    of_pool = dict(zip(pools, price.rented, strict=False))
    return tuple(
        replace(of_pool.get(part.pool, price), nodes=1, beside=(), elsewhere=()) for part in placement.parts
    )


def _in_pool(pool: Pool, num_hosts: int) -> RentedNodes:
    return RentedNodes(
        device=pool.device.name,
        instance=pool.instance,
        nodes=num_hosts,
        region=parse_region(pool.zone),
        provisioning=pool.provisioning,
        is_hypothetical=False,
    )


def _rented_on_request(
    device: Device, count: int, prices: PriceList, num_hosts: int
) -> RentedNodes | Unpriced:
    count = num_hosts if device.kind == "cpu" else count
    part = math.ceil(count / num_hosts)
    large = [size for size in device.instances if size >= part] if num_hosts > 1 else []
    exact = [size for size in device.instances if count % size == 0 and count // size >= num_hosts]
    if not large and not exact:
        return Unpriced(
            reason=f"conf/device/{device.name}.yaml names no instance with {part} x {device.name}"
        )
    size, nodes = (min(large), num_hosts) if large else (max(exact), count // max(exact))
    instance = device.instances[size]
    return RentedNodes(
        device=device.name,
        instance=instance,
        nodes=nodes,
        region=str(prices.region),
        provisioning=prices.provisioning,
        is_hypothetical=nodes > 1 or instance != prices.this_host,
        unused_devices=nodes * size - count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBook:
    """All that decides what trials cost.

    Attributes:
        devices: name -> device, at least those of the trials.
        pools: name -> pool of the cluster.
        today: `2026-11-21`.
        load_offers: reads the offers of all sellers, where a price needs them.
    """

    devices: Mapping[str, Device]
    prices: PriceList
    today: str
    pools: Mapping[str, Pool] = field(default_factory=dict)
    load_offers: Callable[[], Sequence[Offer]] = tuple
    _found: dict[Hashable, Price | Unpriced] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def find_price(self, placement: Placement) -> Price | Unpriced:
        """Return the price of the requested hardware, also where the trial is only rehearsed."""
        trial = placement.trial
        hardware = (placement.pool, placement.unequal, trial.devices, trial.num_hosts)
        if hardware not in self._found:
            self._found[hardware] = self._look_up(placement)
        return self._found[hardware]

    def _look_up(self, placement: Placement) -> Price | Unpriced:
        pools = Counter(part.pool for part in placement.unequal if part.pool is not None)
        if pools and pools.keys() <= self.pools.keys():
            return price_together([self._price_in(pool, num_hosts) for pool, num_hosts in pools.items()])
        pool = None if pools else self.pools.get(placement.pool or "")
        return self._find_price(placement.trial, pool=pool)

    def price_where_it_is(
        self, device: str, count: int, *, num_hosts: int, instance: str = ""
    ) -> Price | Unpriced:
        """Return the price of hardware that is not at hand: of the first pool that has it, if one does."""
        pool = next((pool for pool in self.pools.values() if pool.device.name == device), None)
        if pool and pool.device.kind != "cpu":
            num_hosts = max(num_hosts, math.ceil(count / pool.count))
        return self._find(self.devices[device], count, pool=pool, num_hosts=num_hosts, instance=instance)

    def price_of_absent(self, trial: TrialSpec) -> Price | Unpriced:
        """Return the same of a trial; devices that are not alike have no pool in common."""
        if trial.other_devices:
            return self._find_price(trial, pool=None)
        return self.price_where_it_is(trial.device, trial.num_workers, num_hosts=trial.num_hosts)

    def _find_price(self, trial: TrialSpec, *, pool: Pool | None) -> Price | Unpriced:
        counts = Counter(trial.devices) if trial.other_devices else {trial.device: trial.num_workers}
        accelerators = {name: count for name, count in counts.items() if self.devices[name].kind != "cpu"}
        # the host of an accelerator has a processor
        rented = accelerators if trial.num_hosts == 1 and accelerators else counts
        num_hosts = 1 if trial.other_devices else trial.num_hosts  # each kind of device has hosts of its own
        return price_together(
            [
                self._find(self.devices[name], count, pool=pool, num_hosts=num_hosts)
                for name, count in rented.items()
            ]
        )

    def _price_in(self, pool: str, num_hosts: int) -> Price | Unpriced:
        node_pool = self.pools[pool]
        return self._find(node_pool.device, node_pool.count, pool=node_pool, num_hosts=num_hosts)

    @property
    def _find(self) -> Callable[..., Price | Unpriced]:
        return partial(find_price, prices=self.prices, today=self.today, load_offers=self.load_offers)


def prices_by_trial(plan: Plan, price_book: PriceBook) -> dict[str, Price | Unpriced]:
    """Return the price of every setting that a plan would run, by the trial_id of its first repeat."""
    return {
        placement.trial_id: price_book.find_price(placement)
        for placement in plan.placements
        if placement.trial.repeat == 0
    }


def prices_in(plan: Plan, price_book: PriceBook) -> tuple[tuple[TrialSpec, Price | Unpriced], ...]:
    """Return the price of every trial that a plan would run, also of trials for absent devices."""
    return tuple((placement.trial, price_book.find_price(placement)) for placement in plan.placements)


def priced(record: TrialRecord, price_book: PriceBook) -> TrialRecord:
    """Return the record with the price of its hardware. A rehearsal uses no rented device and has none."""
    if record.provenance != "measured":
        return record
    return replace(record, price=price_book.find_price(record.placement))


def repriced(records: Iterable[TrialRecord], price_book: PriceBook) -> tuple[TrialRecord, ...]:
    """Records with other prices than those that they were kept with, marked as such; for a report alone.

    Records of a device that is not among `devices` stay as they are.
    """
    return tuple(
        _marked(priced(record, price_book)) if _is_known(record.spec, price_book) else record
        for record in records
    )


def forecasts_repriced(plan: Plan, price_book: PriceBook) -> Plan:
    """Return the plan with what trials would cost now where their devices are, for a report alone."""
    forecasts = (
        replace(forecast, price=price_book.price_of_absent(forecast.trial))
        if _is_known(forecast.trial, price_book)
        else forecast
        for forecast in plan.forecasts
    )
    return replace(plan, forecasts=tuple(forecasts))


def _is_known(trial: TrialSpec, price_book: PriceBook) -> bool:
    return trial.device in price_book.devices and all(
        device in price_book.devices for device in trial.other_devices
    )


def _marked(record: TrialRecord) -> TrialRecord:
    if not isinstance(record.price, Price):
        return record
    return replace(record, price=replace(record.price, is_repriced=True))


def _no_row(rented: RentedNodes, prices: PriceList) -> str:
    elsewhere = [region for region, rows in prices.rows.items() if rented.instance in rows]
    elsewhere_text = f"; it has one in: {', '.join(elsewhere)}" if elsewhere else ""
    return f"prices={prices.name} has no row of {rented.instance} in {rented.region}{elsewhere_text}"
