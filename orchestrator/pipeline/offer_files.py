"""Offers of sellers: those that come along, and fetched or imported ones in a file below the outputs."""

from datetime import UTC, datetime
from pathlib import Path

from orchestrator.config.places import find_shipped_folder
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.plan.offer import OfferList
from orchestrator.record.fsync import read_content


def locate_offers(outputs: Path) -> Path:
    """Return the file of the offers."""
    return outputs / "prices.json"


def load_known_offers(file: Path) -> OfferList:
    """Return the offers that are kept, and those that come along of sellers of which none is kept.

    Raises:
        ConfigError: a file cannot be read.
    """
    shipped = load_offers(find_shipped_folder() / "prices" / "sellers.json")
    return shipped.override(load_offers(file).offers)


def load_offers(file: Path) -> OfferList:
    """Return the offers that are kept; none where there is no file.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        content = read_content(file)
        known = codec.from_json(OfferList, content) if content else OfferList()
        newest = max((offer.as_of for offer in known.offers), default="")
        if newest > datetime.now(UTC).date().isoformat():
            raise ConfigError(f"it has a price of {newest}, which lies in the future")
        return known
    except (OSError, RecordError, ConfigError) as error:
        raise ConfigError(f"{file} is no list of prices ({error}); remove it, and refresh them") from error
