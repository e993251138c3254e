"""Date and source of the rows in one file of prices: each row's own, or its own file's. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import date
from typing import Any

from orchestrator.config.schema import PriceRowConf
from orchestrator.core.errors import ConfigError

_FIGURES = ("on_demand", "spot")
_FIELDS = tuple(field_.name for field_ in fields(PriceRowConf))


def complete_rows(prices: Any, *, file: str, today: date) -> None:
    """Write into each row with a price what it leaves out: date and source of its file, null for the rest.

    So a row takes no price, date, source or note from the row of another list that it replaces.

    Args:
        prices: content of one file, before others are merged with it; its rows are written over. What is
            no price list is left to the schema.
        file: name of the file, for messages.

    Raises:
        ConfigError: a price without date or source, or of a date in the future.
    """
    for region, of_region in _items(prices, "regions"):
        for instance, row in _items(of_region, "instances"):
            if not isinstance(row, dict) or all(row.get(figure) is None for figure in _FIGURES):
                continue
            for key in ("as_of", "source"):
                row[key] = row.get(key) or prices.get(key)
            _check(row, where=f"{file}: {instance} in {region}", today=today)
            row |= {name: None for name in _FIELDS if name not in row}


def _items(plain: Any, key: str) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a mapping in a mapping; nothing where either is something else."""
    inner = plain.get(key) if isinstance(plain, Mapping) else None
    yield from inner.items() if isinstance(inner, Mapping) else ()


def _check(row: Mapping[str, Any], *, where: str, today: date) -> None:
    missing = " and ".join(f"no {key}" for key in ("as_of", "source") if not row[key])
    if missing:
        raise ConfigError(
            f"{where} has {missing}; give both in the row, as in 'as_of: 2026-11-01, source: our contract', "
            "or at the top of its file"
        )
    try:
        day = date.fromisoformat(str(row["as_of"]))
    except ValueError:  # an interpolation, or what the price list refuses
        return
    if day > today:
        raise ConfigError(f"{where}: as_of={day} lies in the future; today is {today}")
