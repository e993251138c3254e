"""Offers that are fetched from published catalogues or imported from a file, and kept in a list."""

import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.extensions.price_catalogues.catalogue_rows import FindDevice, read_catalogue
from orchestrator.pipeline.offer_files import load_known_offers, load_offers
from orchestrator.plan.offer import Offer, OfferList
from orchestrator.record.fsync import write_synced
from workloads.data.download import DownloadError, download
from workloads.data.files import require_regular

SKYPILOT, GPUHUNT = "skypilot", "gpuhunt"
CATALOGUES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    SKYPILOT: (
        "https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/catalogs/v8",
        ("aws", "azure", "lambda", "nebius", "oci", "runpod", "vast", "verda"),
    ),
    GPUHUNT: (
        "https://dstack-gpu-pricing.s3.eu-west-1.amazonaws.com/v3",
        ("aws", "azure", "gcp", "lambda", "nebius", "oci", "runpod", "verda"),
    ),
}
"""Catalogue -> its address, and its sellers with rows of whole instances. Google's at SkyPilot are parts of
machines, and its price of several devices on demand is a discounted one."""
_OTHER_NAMES: Mapping[str, str] = {"lambda": "lambdalabs", "vast": "vastai"}
"""Seller -> its name in gpuhunt's catalogue, where that is another."""

MOST_BYTES = 2**26
_TOO_LARGE = f"it is larger than {MOST_BYTES:,} bytes"
MOST_SECONDS = 60.0


def refresh_offers(
    file: Path,
    sellers: Sequence[str],
    *,
    catalogue: str,
    url: str,
    find_device: FindDevice,
    most_seconds: float = MOST_SECONDS,
) -> dict[str, str]:
    """Fetch the catalogue of each seller; one that fails keeps its last offers.

    Args:
        catalogue: `skypilot` or `gpuhunt`.
        url: folder of the catalogue, with a folder for each seller.
        most_seconds: longest time for one file.

    Returns:
        Seller -> why its offers are the last ones.

    Raises:
        ConfigError: the kept list cannot be read or written.
    """
    kept = load_offers(file)
    failures: dict[str, str] = {}
    for seller in sellers:
        address = f"{url.rstrip('/')}/{_OTHER_NAMES.get(seller, seller) if catalogue == GPUHUNT else seller}"
        try:
            with tempfile.TemporaryDirectory() as folder:
                day, version = _today(), ""
                if catalogue == GPUHUNT:
                    file_of_version = _fetch(f"{address}/version", Path(folder), most_seconds)
                    version = file_of_version.read_text(errors="replace").strip()
                    day = _read_day(version)
                source = f"{address}/{version}/catalog.zip" if version else f"{address}/vms.csv"
                fetched = _fetch(source, Path(folder), most_seconds)
                offers = _read(fetched, seller, day, source=source, find_device=find_device)
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
        if source.stat().st_size > MOST_BYTES:
            raise ConfigError(_TOO_LARGE)
        require_regular(source)
        offers = _read(source, seller, day, source=str(source), find_device=find_device)
    except (OSError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"file={source}: {reason}; {describe_last(file, seller)}") from error
    _keep(file, load_offers(file).override(offers))
    return offers


def describe_last(file: Path, seller: str) -> str:
    """Return which list of a seller stays where a newer one cannot be used."""
    days = [offer.as_of for offer in load_known_offers(file).offers if offer.seller == seller]
    return f"the last good list is used, of {max(days)}" if days else "it has no earlier list"


def _fetch(address: str, folder: Path, most_seconds: float) -> Path:
    """Put what is at an address into a folder, under its last name."""
    path = folder / address.rpartition("/")[2]
    download(address, path, trouble_with=lambda _: None, limit_seconds=most_seconds, limit_bytes=MOST_BYTES)
    return path


def _read_day(version: str) -> str:
    """Return the day of a version of gpuhunt, `2026-08-18` of `20260818-42`."""
    try:
        return datetime.strptime(version.partition("-")[0], "%Y%m%d").date().isoformat()
    except ValueError as error:
        raise ConfigError(f"its version {version[:40]!r} begins with no day, as in 20260818-42") from error


def _read(file: Path, seller: str, day: str, *, source: str, find_device: FindDevice) -> tuple[Offer, ...]:
    if day > _today():
        raise ConfigError(f"it is of {day}, which lies in the future; today is {_today()}")
    try:
        with _open_catalogue(file) as lines:
            return read_catalogue(lines, seller=seller, as_of=day, source=source, find_device=find_device)
    except UnicodeDecodeError as error:
        raise ConfigError("it is no text in UTF-8") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ConfigError(f"it is no archive that can be read ({error})") from error


@contextmanager
def _open_catalogue(file: Path) -> Iterator[TextIO]:
    """Open a CSV, or the one in an archive, so that it is read line by line."""
    if file.suffix != ".zip":
        with file.open(encoding="utf-8", newline="") as lines:
            yield lines
        return
    with zipfile.ZipFile(file) as archive:
        names = [info for info in archive.infolist() if info.filename.endswith(".csv")]
        if len(names) != 1:
            raise ConfigError(f"it has {len(names)} CSV files, and not one")
        if names[0].file_size > MOST_BYTES:
            raise ConfigError(_TOO_LARGE)
        with TextIOWrapper(archive.open(names[0]), "utf-8", newline="") as lines:
            yield lines


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
