"""(device, count, price list, day) -> the price of a trial's hardware, or why there is none. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator.core.device import Device
from orchestrator.core.placement import Plan
from orchestrator.core.price import Price, PriceList, Unpriced
from orchestrator.core.result import TrialRecord
from orchestrator.core.spec import TrialSpec


def price_of(device: Device, count: int, *, prices: PriceList, today: str) -> Price | Unpriced:
    """What so many devices and their hosts cost.

    They are rented as the instance that holds exactly as many; where none does, as several of the largest
    whose number divides theirs. A trial on CPUs has one host, however many workers share it.

    Args:
        today: `2026-11-21`.
    """
    if prices.region is None or not prices.rows:
        return Unpriced(reason=f"prices={prices.name} has no prices")
    count = 1 if device.kind == "cpu" else count
    holding = [each for each in device.instances if count % each == 0]
    if not holding:
        return Unpriced(
            reason=f"conf/device/{device.name}.yaml names no instance with {count} x {device.name}"
        )
    instance, nodes = device.instances[max(holding)], count // max(holding)
    row = prices.rows[prices.region].get(instance)
    if row is None:
        return Unpriced(reason=_no_row(instance, prices))
    usd_per_hour = row.usd_per_hour(prices.provisioning)
    if usd_per_hour is None:
        return Unpriced(
            reason=f"prices={prices.name} has no {prices.provisioning} price of {instance} in {prices.region}"
        )
    return Price(
        prices=prices.name,
        instance=instance,
        nodes=nodes,
        region=prices.region,
        provisioning=prices.provisioning,
        currency=prices.currency,
        node_usd_per_hour=usd_per_hour,
        as_of=row.as_of,
        priced_on=today,
        source=row.source,
        note=row.note,
        billing_seconds=prices.billing_seconds,
        max_age_days=prices.max_age_days,
        is_hypothetical=nodes > 1 or instance != prices.this_host,
    )


def prices_in(
    plan: Plan, devices: Mapping[str, Device], *, prices: PriceList, today: str
) -> tuple[tuple[TrialSpec, Price | Unpriced], ...]:
    """Every trial that a plan would run, with what its devices cost, also where they are not here."""
    return tuple(
        (trial, price_of(devices[trial.device], trial.num_workers, prices=prices, today=today))
        for trial in (each.trial for each in plan.placements)
    )


def priced(
    record: TrialRecord, devices: Mapping[str, Device], *, prices: PriceList, today: str
) -> TrialRecord:
    """The record with the price of what it ran on. A rehearsal costs nothing of its device, and has none.

    Args:
        devices: by name, with that of the record.
    """
    if record.provenance != "measured":
        return record
    device = devices[record.spec.device]
    return replace(record, price=price_of(device, record.spec.num_workers, prices=prices, today=today))


def repriced(
    records: Iterable[TrialRecord], devices: Mapping[str, Device], *, prices: PriceList, today: str
) -> tuple[TrialRecord, ...]:
    """Records with other prices than those that they were kept with, marked as such; for a report alone.

    Records of a device that is not among `devices` stay as they are.
    """
    return tuple(
        _marked(priced(each, devices, prices=prices, today=today)) if each.spec.device in devices else each
        for each in records
    )


def _marked(record: TrialRecord) -> TrialRecord:
    if not isinstance(record.price, Price):
        return record
    return replace(record, price=replace(record.price, is_repriced=True))


def _no_row(instance: str, prices: PriceList) -> str:
    elsewhere = [region for region, rows in prices.rows.items() if instance in rows]
    known = f"; it has one in: {', '.join(elsewhere)}" if elsewhere else ""
    return f"prices={prices.name} has no row of {instance} in {prices.region}{known}"
