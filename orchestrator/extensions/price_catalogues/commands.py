"""Commands `prices refresh`, `prices list` and `prices import`: offers of all sellers."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.analysis.tables.price_age import describe_age
from orchestrator.commands.command_line import DONE, NO_RESULT, CommandLine
from orchestrator.commands.json_output import print_document, wants_json
from orchestrator.config.device_names import find_device
from orchestrator.config.loader import devices_named
from orchestrator.core import codec
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.price import MARKETPLACES
from orchestrator.extensions.price_catalogues.catalogue_rows import FindDevice
from orchestrator.extensions.price_catalogues.fetched_offers import (
    CATALOGUES,
    SKYPILOT,
    describe_last,
    import_offers,
    refresh_offers,
)
from orchestrator.pipeline.offer_files import load_known_offers, locate_offers
from orchestrator.plan.offer import Offer
from orchestrator.terminal.screen import Screen


def refresh(line: CommandLine, screen: Screen) -> int:
    """Fetch the sellers' catalogues; 1 where one failed."""
    words = _read_words(line.overrides, ("sellers", "catalogue", "url", "outputs"))
    catalogue = words.get("catalogue", SKYPILOT)
    if catalogue not in CATALOGUES:
        raise UnknownNameError("catalogue", catalogue, known=CATALOGUES)
    address, possible = CATALOGUES[catalogue]
    sellers = tuple(_split(words["sellers"])) if "sellers" in words else possible
    if not sellers:
        raise ConfigError(f"sellers= names none; possible: {', '.join(possible)}")
    file = _find_file(words)
    failures = refresh_offers(
        file,
        sellers,
        catalogue=catalogue,
        url=words.get("url", address),
        find_device=build_finder(_devices()),
    )
    known = load_known_offers(file).offers
    for seller in sellers:
        if seller in failures:
            screen.error(f"{failures[seller]}; {describe_last(file, seller)}")
        else:
            screen.line(_describe(seller, [offer for offer in known if offer.seller == seller]))
    if len(failures) < len(sellers):
        screen.line(f"Prices: {file}")
    return NO_RESULT if failures else DONE


def import_file(line: CommandLine, screen: Screen) -> int:
    """Take a seller's catalogue from a file."""
    words = _read_words(line.overrides, ("file", "seller", "outputs"))
    for key in ("file", "seller"):
        if not words.get(key):
            raise ConfigError(f"prices import needs {key}=…, as in: prices import file=vms.csv seller=lambda")
    file, seller = _find_file(words), words["seller"]
    offers = import_offers(file, Path(words["file"]), seller, find_device=build_finder(_devices()))
    screen.line(_describe(seller, offers))
    screen.line(f"Prices: {file}")
    return DONE


def show(line: CommandLine, screen: Screen) -> int:
    """Print the known offers, the cheapest per device first."""
    words = _read_words(line.overrides, ("device", "region", "sellers", "spot", "outputs"))
    offers = _select(load_known_offers(_find_file(words)).offers, words, _devices())
    if wants_json(line):
        print_document({"offers": [codec.to_plain(offer) for offer in offers]})
        return DONE if offers else NO_RESULT
    if not offers:
        own = "'prices.own={DEVICE: USD}' states what one quotes"
        asked = " ".join(line.overrides)
        screen.line(f"no known price is of {asked}; `prices refresh` fetches more, and {own}")
        return NO_RESULT
    screen.table(tabulate(offers))
    today = datetime.now(UTC).date().isoformat()
    if age := describe_age((offer.seller, offer.as_of, today) for offer in offers):
        screen.line(age)
    return DONE


def tabulate(offers: Sequence[Offer]) -> Table:
    """Show one row for each offer. Pure."""
    hosts = dict.fromkeys(offer.seller for offer in offers if offer.seller in MARKETPLACES)
    asked = f" No firm offer, but what a host asked: {', '.join(hosts)}." if hosts else ""
    return Table(
        title="Prices of sellers",
        note=f"Dollars an hour of the whole instance, and the lower of the two for each device.{asked}",
        columns=(
            Column(header="device", rank=Rank.SETTING),
            Column(header="seller", rank=Rank.SETTING),
            Column(header="instance", rank=Rank.SETTING),
            Column(header="region", rank=Rank.RATE),
            Column(header="zone", rank=Rank.OTHER),
            Column(header="devices", is_number=True, rank=Rank.RATE),
            Column(header="on demand $/h", is_number=True, rank=Rank.COST),
            Column(header="spot $/h", is_number=True, rank=Rank.COST),
            Column(header="$/device-hour", is_number=True, rank=Rank.COST),
            Column(header="date", rank=Rank.QUALITY),
            Column(header="remark", rank=Rank.OTHER),
        ),
        rows=tuple(
            (
                offer.device,
                offer.seller,
                offer.instance,
                offer.region,
                offer.zone or UNKNOWN,
                str(offer.count),
                _show(offer.on_demand_usd_per_hour),
                _show(offer.spot_usd_per_hour),
                f"{offer.cheapest_usd_per_device_hour:.3g}",
                offer.as_of,
                offer.note or UNKNOWN,
            )
            for offer in offers
        ),
    )


def _select(
    offers: Iterable[Offer], words: Mapping[str, str], devices: Mapping[str, Device]
) -> tuple[Offer, ...]:
    find = build_finder(devices)
    asked = [(name, find(name)) for name in _split(words.get("device", ""))]
    for name, device in asked:
        if device is None:
            raise UnknownNameError("device", name, known=devices)
    wanted: dict[str, list[str]] = {
        "device": [device for _, device in asked if device],
        "region": _split(words.get("region", "")),
        "seller": _split(words.get("sellers", "")),
    }
    if (spot := words.get("spot", "false")) not in ("true", "false"):
        raise ConfigError(f"spot={spot} is not possible; choose true or false")
    selected = (
        offer
        for offer in offers
        if all(not values or getattr(offer, name) in values for name, values in wanted.items())
        and (spot == "false" or offer.spot_usd_per_hour is not None)
    )
    return tuple(sorted(selected, key=lambda offer: (offer.device, offer.cheapest_usd_per_device_hour)))


def _describe(seller: str, offers: Sequence[Offer]) -> str:
    return f"{seller}: {len(offers)} {'prices' if len(offers) > 1 else 'price'} of {offers[0].as_of}"


def _devices() -> Mapping[str, Device]:
    return devices_named(Path.cwd())


def build_finder(devices: Mapping[str, Device]) -> FindDevice:
    """Return what finds the device that a name in a catalogue means; names of several devices mean none."""
    found: dict[str, str | None] = {}

    def find(name: str) -> str | None:
        if name not in found:
            try:
                meant = find_device(name, devices)
            except ConfigError:  # a name of several devices
                meant = None
            found[name] = meant.device if meant and meant.count == 1 else None
        return found[name]

    return find


def _find_file(words: Mapping[str, str]) -> Path:
    return locate_offers(Path(words.get("outputs", "outputs")))


def _split(text: str) -> list[str]:
    return [name for name in text.strip("[]").split(",") if name]


def _read_words(words: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    read = {key: value for key, _, value in (word.partition("=") for word in words)}
    for key in read:
        if key not in known:
            raise UnknownNameError("key of 'prices':", key, known=known)
    return read


def _show(usd: float | None) -> str:
    return UNKNOWN if usd is None else f"{usd:.4g}"
