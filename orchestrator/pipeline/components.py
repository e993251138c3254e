"""Factories of the ledger, journal, checkpoint store, tracker, executor and price book that the settings
select, and the words that a command about the same sweep repeats.
"""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.config.overrides import repeated_words
from orchestrator.core.errors import ConfigError
from orchestrator.core.inventory import Inventory
from orchestrator.core.printable import without_secrets
from orchestrator.core.settings import Settings
from orchestrator.extension import require_part
from orchestrator.pipeline.offer_files import load_known_offers, load_offers, locate_offers
from orchestrator.plan.offer_prices import renew_rows, require_known_sellers
from orchestrator.plan.pricing import PriceBook
from orchestrator.record.journal import JOURNAL_NAME, Journal
from orchestrator.record.ledger import FILE_NAME, Ledger
from orchestrator.record.tracking.background import BackgroundTracker
from orchestrator.record.tracking.tracker import NoTracker, Tracker, TrackingServer

if TYPE_CHECKING:
    from orchestrator.execute.executor import Executor
    from orchestrator.execute.trial.checkpoints import CheckpointStore


def find_repeated_words(settings: Settings) -> tuple[str, ...]:
    """Return the words that a later command repeats, without secrets."""
    return tuple(map(without_secrets, repeated_words(settings.overrides)))


def list_command_words(settings: Settings) -> tuple[str, ...]:
    """Return the words of the command without secrets, and without the source of a report's records."""
    words = (word for word in settings.overrides if not word.startswith("report.source="))
    return tuple(map(without_secrets, words))


def open_ledger(settings: Settings) -> Ledger:
    """The ledger of a sweep, in the sweep's folder."""
    path = settings.outputs / settings.sweep.name / FILE_NAME
    if not settings.archive_url:
        return Ledger(path)
    from orchestrator.record.bucket import BucketStore
    from orchestrator.record.replicated_ledger import ReplicatedLedger

    return ReplicatedLedger(path, BucketStore(settings.archive_url))


def open_journal(settings: Settings) -> Journal:
    """Open the journal of the sweep's trials."""
    return Journal(settings.outputs / settings.sweep.name / JOURNAL_NAME)


def require_places(settings: Settings) -> str | None:
    """Refuse places that can never keep what a run would write there: checkpoints, and what is tracked.

    The sweep's own folder is none of them: it stands or falls with the ledger in it.

    Returns:
        why the tracking server does not answer now, in words; None: it does.

    Raises:
        ConfigError, RecordError: such a place.
    """
    own = settings.outputs / settings.sweep.name
    kept = settings.checkpointing
    if kept and Path(kept.url).parent != own.absolute():
        from orchestrator.execute.trial.checkpoints import require_place

        require_place(kept.url)
    server = find_tracking_server(settings)
    return server.explain_silence() if server else None


def find_tracking_server(settings: Settings) -> TrackingServer | None:
    """Find the server that the sweep is tracked on; None: `tracking=none`.

    Raises:
        ConfigError: no extension has one.
    """
    if settings.tracking_uri is None:
        return None
    build = require_part("tracking_server", needed_for="tracking", instead="tracking=none")
    server: TrackingServer = build(settings.tracking_uri)
    return server


def open_checkpoints(settings: Settings) -> "CheckpointStore | None":
    """Open the checkpoint store, if the sweep makes checkpoints."""
    if not settings.checkpointing:
        return None
    from orchestrator.execute.trial.checkpoints import CheckpointStore

    return CheckpointStore(settings.checkpointing.url)


def build_executor(settings: Settings, inventory: Inventory) -> "Executor":
    """Build the executor of the sweep."""
    if settings.executor == "inline":
        from orchestrator.execute.inline import InlineExecutor

        return InlineExecutor(inventory)
    try:
        from orchestrator.execute.on_ray.executor import RayTuneExecutor
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"executor=ray needs the package {error.name!r}; install it, or set executor=inline"
        ) from error
    return RayTuneExecutor(inventory, address=settings.cluster_address, cluster=settings.cluster)


def build_tracker(settings: Settings) -> Tracker:
    """Build the tracker that copies records to the server."""
    server = find_tracking_server(settings)
    return server.open_tracker() if server else NoTracker()


def build_background_tracker(settings: Settings) -> Tracker:
    """Build the tracker for a run: its thread sends to a server at any time, and writes a database file
    before trials start.
    """
    server = find_tracking_server(settings)
    if server is None:
        return NoTracker()
    return BackgroundTracker(server.open_tracker(), is_on_this_host=server.is_on_this_host)


def build_price_book(settings: Settings) -> PriceBook:
    """Build the price book of the command's trials, at the prices of today in UTC.

    Raises:
        UnknownNameError: the words on prices name a seller that no list has.
    """
    pools = settings.cluster.pools if settings.cluster else ()
    file = locate_offers(settings.outputs)
    is_shipped = settings.prices.name in ("all", "gcp")  # rows of a list of one's own are what one pays
    load_all_offers = cache(lambda: load_known_offers(file).offers)
    require_known_sellers(settings.prices, load_all_offers)
    return PriceBook(
        devices=settings.sweep.devices,
        prices=renew_rows(settings.prices, load_offers(file).offers if is_shipped else ()),
        today=datetime.now(UTC).date().isoformat(),
        pools={pool.name: pool for pool in pools},
        load_offers=load_all_offers,
    )
