"""Words of a command line and files in `conf/` -> settings: where YAML becomes values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from orchestrator.config.cluster import convert_price_list, declared
from orchestrator.config.composer import Composer
from orchestrator.config.device_names import CanonicalWords, canonical_name, canonical_words
from orchestrator.config.grid import AUTO, available_devices, build_grid, known_devices, name_of_jobs
from orchestrator.config.options import (
    apply_combination,
    build_options,
    differing_keys,
    find_knobs,
    reject_interpolations,
)
from orchestrator.config.overrides import read
from orchestrator.config.places import ConfigPlaces, split_places
from orchestrator.config.points import PointMaker
from orchestrator.config.request import Request, classify_overrides
from orchestrator.config.schema import POINT_GROUPS, POINT_KEYS, SETTINGS_GROUPS
from orchestrator.config.script_overrides import (
    require_one_training,
    script_keys_in_errors,
    with_script_overrides,
)
from orchestrator.config.values import assign, convert_to_plain, read_value
from orchestrator.config.workload_overrides import workload_overrides
from orchestrator.core.budget import Budget
from orchestrator.core.device import Device
from orchestrator.core.errors import FAILURE_KINDS, NEVER_RETRIED, ConfigError
from orchestrator.core.objective import Objective
from orchestrator.core.pool import Cluster
from orchestrator.core.search import Search
from orchestrator.core.settings import Checkpointing, Compiling, Deadlines, Settings, TrainerSettings
from orchestrator.core.sweep import Point, Sweep
from orchestrator.plan.offer import find_group

_USUAL_COMPILER = ".venv-tpu-compile/bin/python"


def load(overrides: Sequence[str], *, working_directory: Path) -> Settings:
    """Understand a command line.

    Args:
        overrides: words in Hydra's grammar, without verbs and flags.
        working_directory: its `conf/` is searched before the shipped one; `outputs` starts there.

    Raises:
        ConfigError: anything that cannot be understood, in one line with what is possible.
    """
    places, rest = split_places(overrides, working_directory=working_directory)
    with script_keys_in_errors(rest):
        return _loaded(overrides, places, working_directory=working_directory)


def _loaded(overrides: Sequence[str], places: ConfigPlaces, *, working_directory: Path) -> Settings:
    composer = Composer(working_directory, places)
    options, known = composer.options("device"), cache(lambda: known_devices(composer))
    overrides = canonical_words(overrides, options, known).words
    _, rest = split_places(overrides, working_directory=working_directory)
    words = with_script_overrides(rest)
    request = classify_overrides(read(words, options=composer.options))
    base, chosen, named = _base(composer, request)
    cluster = declared(base.pools, composer, option=named["pools"])
    available = partial(available_devices, composer, cluster)
    build_name = partial(canonical_name, options=options, find_devices=known)
    grid = build_grid(base.sweep, request, base=chosen, available=available, build_name=build_name)
    combinations = grid.combinations()
    composed = build_options(composer, (*combinations, *grid.exclude))
    knobs = find_knobs(combinations, composed)
    differing = differing_keys(combinations)
    reject_interpolations(base, composed, combinations, differing=differing)
    apply_combination(base, combinations[0], composed)
    maker = PointMaker(base, composed, knobs=knobs, label=differing, baseline=grid.baseline)
    points = maker.points(combinations)
    require_one_training(points)
    settings = _settings(
        base,
        points,
        trainers=maker.trainers,
        cluster=cluster,
        load_devices=known,
        prices=named["prices"],
        reprices="prices" in request.picks or any(key.startswith("prices.") for key in request.settings),
        name=read_value(base.sweep, "name") or name_of_jobs(named["sweep"], points),
        working_directory=working_directory,
        config_folders=places.folders,
    )
    named_sweep = () if request.sweep else (f"+sweep={named['sweep']}",)
    return replace(settings, overrides=(*named_sweep, *overrides, *workload_overrides()))


def devices_named(working_directory: Path, added: tuple[Path, ...] = ()) -> Mapping[str, Device]:
    """Return every device that a command may name in this working directory.

    Args:
        added: further folders of config files.

    Raises:
        ConfigError: a file that cannot be understood.
    """
    return known_devices(Composer(working_directory, ConfigPlaces(folders=added)))


def device_words(overrides: Sequence[str], *, working_directory: Path) -> CanonicalWords:
    """Return the words with the names of device files, and the instances that were given for them.

    Raises:
        ConfigError: a name of no device or of several, or a file that cannot be understood.
    """
    places, _ = split_places(overrides, working_directory=working_directory)
    composer = Composer(working_directory, places)
    return canonical_words(overrides, composer.options("device"), lambda: known_devices(composer))


def _base(composer: Composer, request: Request) -> tuple[DictConfig, dict[str, Any], Mapping[str, str]]:
    """Compose the command's configuration: with every key of a point in it, and its options by group."""
    sweep = request.sweep or composer.sweep
    if sweep is None:
        sweeps = ", ".join(composer.options("sweep"))
        raise ConfigError(f"no sweep is named; add +sweep=NAME with one of: {sweeps}")
    single = {key: values[0] for key, values in request.choices.items() if len(values) == 1}
    picks = {group: option for group, option in single.items() if group in POINT_GROUPS and option != AUTO}
    if request.picks.get("cluster") == "fake":
        request.picks.setdefault("pools", "fake")
    base, options = composer.base({"sweep": sweep, **request.picks, **picks})
    for key, word in request.settings.items():
        assign(base, key, word.value(), text=word.value_text)
    for key in single.keys() & set(POINT_KEYS):
        assign(base, key, single[key])
    for key in single.keys() & set(POINT_KEYS):  # an interpolation sees what the others are set to
        request.choices[key] = (read_value(base, key),)
    if "prices.region" in request.settings and not base.prices.offer_regions:
        base.prices.offer_regions = [find_group(str(base.prices.region))]
    keys = {key: read_value(base, key) for key in POINT_KEYS}
    return base, {**{group: options[group] for group in POINT_GROUPS}, **keys}, options


def _folder(base: DictConfig, working_directory: Path) -> Path | None:
    folder = read_value(base, "data_folder")
    return None if folder is None else working_directory / folder


def _compiling(plain: Mapping[str, Any], working_directory: Path) -> Compiling:
    """Build the settings of the TPU compiler. An environment that no one made is no mistake, one named is."""
    python = plain["python"]
    is_named = python not in ("", _USUAL_COMPILER)
    if plain["stage"] != "off" and is_named and not (working_directory / python).is_file():
        raise ConfigError(
            f"compile.python={python} is not an interpreter; name one of an environment with libtpu, "
            f"or leave it out: {_USUAL_COMPILER}, which `make tpu-compile` makes"
        )
    return Compiling(**plain)


def _checkpointing(
    plain: Mapping[str, Any], sweep_folder: Path, working_directory: Path
) -> Checkpointing | None:
    """Build the checkpoint settings; sweeps that share a place get a folder each."""
    if plain["every_seconds"] is None:
        return None
    place = plain["path"]
    if place is None:
        url = str((sweep_folder / "checkpoints").absolute())
    elif "://" in place:
        url = f"{place.rstrip('/')}/{sweep_folder.name}"
    else:
        url = str((working_directory / place / sweep_folder.name).absolute())
    return Checkpointing(every_seconds=plain["every_seconds"], grace_seconds=plain["grace_seconds"], url=url)


def _archive_url(place: str | None, *, sweep: str) -> str | None:
    """Return the sweep's folder in a bucket."""
    if place is None:
        return None
    if "@" in place:
        raise ConfigError(
            "record.path has an '@'; user and password come from the environment (AWS_SECRET_ACCESS_KEY)"
        )
    if "://" not in place:
        raise ConfigError(
            f"record.path={place} is not a bucket; possible: gs://…, s3://…, or a folder: outputs=DIR"
        )
    return f"{place.rstrip('/')}/{sweep}"


def _settings(
    base: DictConfig,
    points: tuple[Point, ...],
    *,
    trainers: Mapping[str, TrainerSettings],
    cluster: Cluster | None,
    load_devices: Callable[[], Mapping[str, Device]],
    prices: str,
    reprices: bool,
    name: str,
    working_directory: Path,
    config_folders: tuple[Path, ...],
) -> Settings:
    groups = ("sweep", "report", *(name for name in SETTINGS_GROUPS if name != "pools"))
    plain = {group: convert_to_plain(base[group], group=group) for group in groups}
    executor, reached, sweep = plain["executor"], plain["cluster"], plain["sweep"]
    outputs = working_directory / read_value(base, "outputs")
    search = Search(**plain["search"])
    return Settings(
        sweep=Sweep(
            name=name,
            points=points,
            repeats=search.num_repeats(sweep["repeats"]),
            order=sweep["order"],
            shuffle_seed=sweep["shuffle_seed"],
            baseline=tuple(sweep["baseline"] or ()),
        ),
        executor=executor.pop("name"),
        deadlines=Deadlines(**executor),
        cluster_address=reached["address"],
        cluster=cluster,
        **{key: reached[key] for key in ("missing_device", "network_gbps")},
        tracking_uri=plain["tracking"]["uri"],
        archive_url=_archive_url(plain["record"]["path"], sweep=name),
        backoff_seconds=plain["retry"]["backoff_seconds"],
        retries={kind: plain["retry"][kind] for kind in FAILURE_KINDS if kind not in NEVER_RETRIED},
        trainers=trainers,
        outputs=outputs,
        prices=convert_price_list(plain["prices"], option=prices, load_devices=load_devices),
        reprices=reprices,
        config_folders=config_folders,
        data_folder=_folder(base, working_directory),
        checkpointing=_checkpointing(plain["checkpoint"], outputs / name, working_directory),
        report_source=plain["report"].pop("source"),
        images=plain["report"].pop("images"),
        objective=Objective(**plain["report"]),
        budget=Budget(**plain["budget"]),
        compiling=_compiling(plain["compile"], working_directory),
        search=search,
    )
