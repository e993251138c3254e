"""Words of a command line and files in `conf/pools/` -> a cluster, and what there is to rent."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf

from orchestrator.config.composer import Composer
from orchestrator.config.device_names import canonical_name
from orchestrator.config.overrides import ParsedOverride, read
from orchestrator.config.places import split_places
from orchestrator.config.points import load_device
from orchestrator.config.values import assign, convert_to_plain
from orchestrator.core.device import Device
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.pool import Catalogue, Cluster, Pool
from orchestrator.core.price import PriceList, PriceRow

T = TypeVar("T")

_CONVERTED = ("own", "short", "confirm_spot", "regions", "as_of", "source")
"""Keys of a price list that have another form there, or are those of rows."""


def convert_price_list(
    plain: Mapping[str, Any], *, option: str, load_devices: Callable[[], Mapping[str, Device]]
) -> PriceList:
    """Convert it.

    Args:
        plain: fields of `PricesConf`; each row has the day and source of its own file (`composer.py`).
        option: file of the list, for error messages.
        load_devices: returns the known devices by name; called only for own prices of devices.

    Raises:
        ConfigError: a price list cannot have these values.
    """
    short = _rename_devices(plain["short"], load_devices, key="short")
    return PriceList(
        name=option,
        **{key: value for key, value in plain.items() if key not in _CONVERTED},
        own=_rename_devices(plain["own"], load_devices, key="own"),
        short={name: tuple(there) for name, there in short.items()},
        confirmed_spot=plain["confirm_spot"],
        rows={
            region: {instance: _build_row(row) for instance, row in rows["instances"].items()}
            for region, rows in plain["regions"].items()
        },
    )


def _rename_devices(
    values: Mapping[str, T], load_devices: Callable[[], Mapping[str, Device]], *, key: str
) -> dict[str, T]:
    devices = load_devices() if values else {}
    return {_device(name, devices, key=f"device in prices.{key}:").name: one for name, one in values.items()}


def _build_row(row: Mapping[str, Any]) -> PriceRow:
    return PriceRow(
        on_demand_usd_per_hour=row["on_demand"],
        spot_usd_per_hour=row["spot"],
        as_of=row["as_of"] or "",
        source=row["source"] or "",
        note=row["note"],
    )


_USUAL = {"pools": "local", "prices": "gcp"}


_JOB_KEYS = ("sweep", "budget.usd", "budget.hours", "budget.usd_per_trial", "record.path")
"""Keys of the sweep that a RayJob runs."""


def load_cluster(
    overrides: Sequence[str], *, working_directory: Path, takes_job: bool = False
) -> tuple[Cluster, Catalogue]:
    """Load the pools from the overrides of the commands `cluster` and `doctor cluster`.

    Args:
        overrides: `pools=NAME`, `pools.KEY=VALUE`, `prices=NAME`, in Hydra's grammar.
        takes_job: whether they may also have keys of the sweep that a RayJob runs, `budget.usd=20`.
        working_directory: its `conf/` is searched before the shipped one.

    Raises:
        ConfigError: anything that cannot be understood, in one line with what is possible.
    """
    places, rest = split_places(overrides, working_directory=working_directory)
    composer = Composer(working_directory, places)
    words = read(rest, options=composer.options)
    job_keys = _JOB_KEYS if takes_job else ()
    for word in words:
        _check(word, job_keys)
    picks = {**_USUAL, **{word.key: word.value() for word in words if word.key in _USUAL}}
    options = {group: (composer.check(group, option),) for group, option in picks.items()}
    nodes = composer.nodes({**options, "device": composer.options("device")})
    catalogue = _build_catalogue(nodes, prices=str(picks["prices"]))
    config = OmegaConf.create({"pools": nodes["pools", str(picks["pools"])]})
    OmegaConf.set_struct(config, True)
    for word in words:
        key = "pools.sweep" if word.key == "sweep" else word.key
        if key.startswith("pools."):
            assign(config, key, word.value(), text=word.value_text)
    option = str(picks["pools"])
    cluster = convert_cluster(
        _convert_to_plain(config.pools, option=option), catalogue.devices, option=option
    )
    for word in words:
        if word.key in job_keys and cluster.provider != "gke":
            raise ConfigError(f"{word.text!r} is for the job that pools=gke has; pools={option} starts none")
    return cluster, catalogue


def convert_cluster(plain: dict[str, Any], devices: Mapping[str, Device], *, option: str) -> Cluster:
    """Convert a pools file. Raises ConfigError for values that no cluster can have."""
    file = f"conf/pools/{option}.yaml"
    pools = tuple(_build_pool(name, node, devices, file=file) for name, node in plain.pop("nodes").items())
    head = _device(plain.pop("head"), devices, key="pools.head")
    return Cluster(name=option, pools=pools, head=head, **plain)


def _check(word: ParsedOverride, job_keys: Sequence[str]) -> None:
    known = word.key in (*_USUAL, *job_keys) or word.key.startswith("pools.")
    if word.removes or not known:
        raise UnknownNameError("key of 'cluster':", word.key, known=(*_USUAL, "pools.KEY", *job_keys))
    if word.key in job_keys and word.key.startswith("budget."):
        cap = word.value()
        if isinstance(cap, bool) or not isinstance(cap, (int, float)) or not 0 < cap < math.inf:
            raise ConfigError(f"{word.text!r}: a cap of a job is a finite number above 0")


def declared(config: DictConfig, composer: Composer, *, option: str) -> Cluster | None:
    """The cluster of a pools file that a command has chosen; None where it declares none."""
    plain = _convert_to_plain(config, option=option)
    if not plain["nodes"]:
        return None
    nodes = composer.nodes({"device": composer.options("device")})
    return convert_cluster(plain, find_devices(nodes), option=option)


def _convert_to_plain(config: DictConfig, *, option: str) -> dict[str, Any]:
    return convert_to_plain(config, group="pools", file=f"conf/pools/{option}.yaml")


def find_devices(nodes: Mapping[tuple[str, str], DictConfig]) -> Mapping[str, Device]:
    """Return the devices among composed options, by name."""
    return {
        option: load_device(convert_to_plain(config, group=group), file_name=option)
        for (group, option), config in nodes.items()
        if group == "device"
    }


def _build_catalogue(nodes: Mapping[tuple[str, str], DictConfig], *, prices: str) -> Catalogue:
    devices = find_devices(nodes)
    plain = convert_to_plain(nodes["prices", prices], group="prices")
    return Catalogue(
        devices=devices, prices=convert_price_list(plain, option=prices, load_devices=lambda: devices)
    )


def _build_pool(name: str, plain: Mapping[str, Any], devices: Mapping[str, Device], *, file: str) -> Pool:
    device = _device(plain["device"], devices, key=f"pools.nodes.{name}.device")
    try:
        return Pool(name=name, **{**plain, "device": device})
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error


def _device(name: str, devices: Mapping[str, Device], *, key: str) -> Device:
    found = canonical_name(name, devices, lambda: devices)
    if found not in devices:
        raise UnknownNameError(key, name, known=devices)
    return devices[found]
