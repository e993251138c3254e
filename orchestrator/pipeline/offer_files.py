"""Offers of sellers: those that come along, and fetched or imported ones in a file below the outputs."""

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.config.places import find_shipped_folder
from orchestrator.config.price_catalogue import FindDevice, read_catalogue
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.plan.offer import Offer, OfferList
from orchestrator.record.fsync import read_content, write_synced
from workloads.data.download import DownloadError, download

CATALOGUE = "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/v8"
SELLERS = ("aws", "azure", "lambda", "nebius", "oci", "runpod", "vast", "verda")
"""Sellers of that catalogue with rows of whole instances. Google's are parts of machines, and its price of
several devices on demand is a discounted one: conf/prices/gcp.yaml has them."""

MOST_BYTES = 2**26
MOST_SECONDS = 60.0


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
        if newest > _today():
            raise ConfigError(f"it has a price of {newest}, which lies in the future")
        return known
    except (OSError, RecordError, ConfigError) as error:
        raise ConfigError(f"{file} is no list of prices ({error}); remove it, and refresh them") from error


def refresh_offers(
    file: Path,
    sellers: Sequence[str],
    *,
    url: str,
    find_device: FindDevice,
    most_seconds: float = MOST_SECONDS,
) -> dict[str, str]:
    """Fetch the catalogue of each seller; one that fails keeps its last offers.

    Args:
        url: folder of the catalogue, with a folder for each seller.
        most_seconds: longest time for one seller.

    Returns:
        Seller -> why its offers are the last ones.

    Raises:
        ConfigError: the kept list cannot be read or written.
    """
    kept = load_offers(file)
    failures: dict[str, str] = {}
    for seller in sellers:
        address = f"{url.rstrip('/')}/{seller}/vms.csv"
        try:
            content = _fetch(address, most_seconds)
            offers = _read(content, seller, _today(), source=address, find_device=find_device)
            kept = kept.override(offers)
        except ConfigError as error:
            failures[seller] = f"{address}: {error}"
        except DownloadError as error:
            failures[seller] = str(error)
    if len(failures) < len(sellers):
        _keep(file, kept)
    return failures


def import_offers(file: Path, source: Path, seller: str, *, find_device: FindDevice) -> tuple[Offer, ...]:
    """Import a seller's catalogue from a file, dated by its last change.

    Raises:
        ConfigError: it cannot be read, or is no such catalogue; the kept list stays as it is.
    """
    try:
        day = datetime.fromtimestamp(source.stat().st_mtime, tz=UTC).date().isoformat()
        if day > _today():
            raise ConfigError(f"it was changed on {day}, which lies in the future; today is {_today()}")
        if source.stat().st_size > MOST_BYTES:
            raise ConfigError(f"it is larger than {MOST_BYTES:,} bytes")
        offers = _read(read_content(source), seller, day, source=str(source), find_device=find_device)
    except (OSError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"file={source}: {reason}; {describe_last(file, seller)}") from error
    _keep(file, load_offers(file).override(offers))
    return offers


def describe_last(file: Path, seller: str) -> str:
    """Return which list of a seller stays where a newer one cannot be used."""
    days = [offer.as_of for offer in load_known_offers(file).offers if offer.seller == seller]
    return f"the last good list is used, of {max(days)}" if days else "it has no earlier list"


def _fetch(address: str, most_seconds: float) -> bytes:
    """Return what is at an address; nothing of a broken answer is kept for the next time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vms.csv"
        download(
            address,
            path,
            trouble_with=lambda _: None,
            limit_seconds=most_seconds,
            limit_bytes=MOST_BYTES,
        )
        return path.read_bytes()


def _read(
    content: bytes, seller: str, as_of: str, *, source: str, find_device: FindDevice
) -> tuple[Offer, ...]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ConfigError("it is no text in UTF-8") from error
    return read_catalogue(text, seller=seller, as_of=as_of, source=source, find_device=find_device)


def _keep(file: Path, offers: OfferList) -> None:
    """Write the list beside the old one, and then in its place."""
    new = file.with_suffix(".new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_synced(new, codec.to_json(offers).encode(), mode="wb")
        new.replace(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}") from error


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
