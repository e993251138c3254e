"""Make `conf/prices/sellers.json`: `python tools/seller_prices.py [FILES]`.

Of each seller, device, number of devices and group of regions the cheapest on demand, and as spot, stays. Of
an instance in a region the newest row counts. `tools/price_sources.py` has the sources.

Args:
    FILES: folder or address with the sources' files as `OWNER/NAME/COMMIT/PATH`; without it, a public one.
"""

import json
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import price_sources as sources

from orchestrator.config.cluster import load_cluster
from orchestrator.core import codec
from orchestrator.core.pool import Catalogue
from orchestrator.extensions.price_catalogues.commands import build_finder
from orchestrator.plan.offer import Offer, find_group

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "conf/prices/sellers.json"
_FILES = "https://raw.githubusercontent.com"


def main(files: str = _FILES) -> None:
    """Read the sources and write the table."""
    catalogue = load_cluster((), working_directory=ROOT)[1]
    kept = select_cheapest(select_newest(find_offers(catalogue, files)))
    ranked = sorted(kept, key=lambda one: (one.device, one.seller, one.count, one.region))
    lines = ",\n".join(json.dumps(_drop_empty_note(codec.to_plain(offer))) for offer in ranked)
    TABLE.write_text(f'{{"offers": [\n{lines}\n]}}\n')
    print(f"{TABLE}: {len(ranked)} offers, {TABLE.stat().st_size / 1000:.0f} kB")


def find_offers(catalogue: Catalogue, files: str) -> Iterator[Offer]:
    """Yield the offers of all sources."""
    read = partial(_read, files)
    devices = sources.find_aws_devices(read(sources.AWS_TYPES))
    yield from sources.find_generated_offers("aws", sources.AWS, read(sources.AWS), devices)
    yield from sources.find_aws_spot_offers(read(sources.AWS_SPOT), devices)
    yield from sources.find_generated_offers(
        "azure", sources.AZURE, read(sources.AZURE), sources.AZURE_DEVICES
    )
    yield from sources.find_oracle_offers(read(sources.ORACLE), build_finder(catalogue.devices))
    yield from sources.find_feed_offers(read(sources.FEED))
    october = sources.OCTOBER_FEED
    yield from sources.find_feed_offers(read(october), october, sources.OCTOBER_DEVICES)
    yield from sources.find_index_offers(read(sources.INDEX))
    yield from sources.find_google_offers(catalogue)


def select_newest(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Keep the newest offer of each instance of a seller in a region."""
    newest: dict[tuple[str, ...], Offer] = {}
    for offer in offers:
        key = offer.seller, offer.instance, offer.region
        if key not in newest or offer.as_of > newest[key].as_of:
            newest[key] = offer
    return tuple(newest.values())


def select_cheapest(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Keep of each seller, device, number of devices and group of regions the cheapest on demand, and as
    spot.
    """
    kept: dict[tuple[object, ...], tuple[float, Offer]] = {}
    for offer in offers:
        figures = (offer.on_demand_usd_per_hour, offer.spot_usd_per_hour)
        for is_spot, usd in enumerate(figures):
            key = (offer.seller, offer.device, offer.count, find_group(offer.region), is_spot)
            if usd is not None and (key not in kept or usd < kept[key][0]):
                kept[key] = usd, offer
    return tuple(dict.fromkeys(offer for _, offer in kept.values()))


def _drop_empty_note(plain: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in plain.items() if key != "note" or value}


def _read(files: str, source: sources.Source) -> str:
    if "://" not in files:
        return (Path(files) / source.address).read_text()
    with urllib.request.urlopen(f"{files}/{source.address}", timeout=60) as answer:  # noqa: S310
        text: str = answer.read().decode()
    return text


if __name__ == "__main__":
    main(*sys.argv[1:2])
