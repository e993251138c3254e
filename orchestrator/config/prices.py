"""The configuration of a price list -> the price list."""

from collections.abc import Mapping
from typing import Any

from orchestrator.core.price import PriceList, PriceRow


def price_list_of(plain: Mapping[str, Any], *, option: str) -> PriceList:
    """Convert it.

    Args:
        plain: as `PricesConf` has it; a row without day or source has those of the list.
        option: the list's file, which names it.

    Raises:
        ConfigError: values that no price list can have.
    """
    return PriceList(
        name=option,
        region=plain["region"],
        provisioning=plain["provisioning"],
        currency=plain["currency"],
        billing_seconds=plain["billing_seconds"],
        max_age_days=plain["max_age_days"],
        this_host=plain["this_host"],
        confirmed_spot=plain["confirm_spot"],
        rows={
            region: {instance: _row_of(row, plain) for instance, row in rows["instances"].items()}
            for region, rows in plain["regions"].items()
        },
    )


def _row_of(row: Mapping[str, Any], plain: Mapping[str, Any]) -> PriceRow:
    return PriceRow(
        on_demand_usd_per_hour=row["on_demand"],
        spot_usd_per_hour=row["spot"],
        as_of=row["as_of"] or plain["as_of"] or "",
        source=row["source"] or plain["source"] or "",
        note=row["note"],
    )
