"""Factors in which two comparable measurements may differ, and the fields that follow from a factor. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.measurements.measured import Measurement
from orchestrator.analysis.measurements.setting import (
    Setting,
    find_memory_settings,
    options_in,
    plain_setting,
)
from orchestrator.core.result import ACCELERATOR_SOFTWARE
from orchestrator.core.trial_spec import HOST_SEPARATOR, MEMORY_KEYS
from orchestrator.train.registry import trainers


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One thing that a user changes.

    Attributes:
        name: its name in a table.
        field: field of a setting that differs, or an option of its trainer: `trainer.compile`.
        follows: fields that may differ as a consequence.
        labels: fields of a setting that name a side.
    """

    name: str
    field: str
    follows: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


_BUILDS = "builds"
"""Versions with their local part and with those of an accelerator's software: a framework is `2.9.0+cu128`
on GPUs and `2.9.0+cpu` elsewhere, and only GPUs have a version of cuDNN."""

TRAINER = Factor(
    name="trainer",
    field="trainer",
    follows=("trainer_version", "process_model", "versions", _BUILDS, "variables"),
    labels=("trainer", "trainer_options"),
)
PRECISION = Factor(name="precision", field="precision", labels=("precision",))
DEVICE = Factor(
    name="device",
    field="device",
    follows=("host", "replicas", "process_model", "variables", _BUILDS),
    labels=("device", "host", "replicas"),
)
WORKERS = Factor(
    name="workers",
    field="num_workers",
    follows=("num_hosts", "replicas", "variables"),
    labels=("num_workers", "num_hosts", "replicas"),
)
HOSTS = Factor(name="hosts", field="num_hosts", follows=("variables",), labels=("num_hosts",))
BATCH = Factor(name="batch", field="global_batch_size", labels=("global_batch_size",))
_VERSIONS = Factor(
    name="versions",
    field=_BUILDS,
    follows=("versions", "trainer_version"),
    labels=("trainer", "trainer_version"),
)
_VARIABLES = Factor(name="variables", field="variables", labels=("trainer",))


def find_factors(measured: Iterable[Measurement]) -> tuple[Factor, ...]:
    """Every factor, among them each option of a trainer that someone gave another value than its default."""
    settings = [measurement.setting for measurement in measured]
    options = sorted({name for setting in settings for name in options_in(setting)})
    memory = [key for key in MEMORY_KEYS if any(key in find_memory_settings(one) for one in settings)]
    return (
        TRAINER,
        *map(_option, options),
        _VERSIONS,
        _VARIABLES,
        PRECISION,
        DEVICE,
        WORKERS,
        HOSTS,
        BATCH,
        *map(_memory_setting, memory),
    )


def alike(measured: Iterable[Measurement], *factors: Factor) -> list[list[Measurement]]:
    """Measurements that differ in nothing but these factors, in the order in which they come."""
    apart = {name for factor in factors for name in (factor.field, *factor.follows)}
    of_trainer = TRAINER in factors
    groups: dict[object, list[Measurement]] = defaultdict(list)
    for measurement in measured:
        facts = find_facts(measurement)
        rest = (item for item in facts.items() if item[0] not in apart)
        groups[frozenset(item for item in rest if not (of_trainer and _is_option(item[0])))].append(
            measurement
        )
    candidates = list(groups.values())
    return (
        [subgroup for group in candidates for subgroup in _by_shared_options(group)]
        if of_trainer
        else candidates
    )


def differ(one: Measurement, other: Measurement, factor: Factor) -> bool:
    """Return whether the factor itself differs, and not only a field that follows from it."""
    return find_facts(one).get(factor.field) != find_facts(other).get(factor.field)


def same_host(one: Measurement, other: Measurement) -> bool:
    """False for the CPUs of two hosts: no setting names a host, so the comparison was not requested.

    What has hosts that are not alike compares with what has some of them.
    """
    hosts = [
        {*measurement.setting.host.split(HOST_SEPARATOR)}
        for measurement in (one, other)
        if measurement.setting.host
    ]
    return len(hosts) < 2 or hosts[0] <= hosts[1] or hosts[1] <= hosts[0]


def factors_named(keys: Iterable[str]) -> tuple[Factor, ...]:
    """The factors that keys of the configuration set; a key that is none has to be equal everywhere."""
    by_name = {
        "trainer": (TRAINER,),
        "precision": (PRECISION,),
        "device": (DEVICE,),
        "devices": (DEVICE, WORKERS, HOSTS),
        "num_workers": (WORKERS,),
        "num_hosts": (HOSTS,),
        "global_batch_size": (BATCH,),
        **{key: (_memory_setting(key),) for key in MEMORY_KEYS},
    }
    named = (by_name.get(key) or (_option(key),) for key in keys if key in by_name or _is_option(key))
    return tuple(factor for factors in named for factor in factors)


def find_facts(measurement: Measurement) -> dict[str, object]:
    """Return all fields in which measurements may differ; each option of a trainer is a field of its own."""
    facts = plain_setting(measurement.setting)
    del facts["ran_with"], facts["trainer_options"], facts["memory_settings"]
    builds = [part for part in measurement.versions.split("; ") if not part.startswith("torchao ")]  # of fp8
    parts = (part for part in builds if part.split(" ")[0] not in ACCELERATOR_SOFTWARE)
    return {
        **facts,
        **options_in(measurement.setting),
        **find_memory_settings(measurement.setting),
        "versions": re.sub(r"\+[\w.]+", "", "; ".join(parts)),
        _BUILDS: "; ".join(builds),
        "variables": measurement.variables,
    }


def _option(name: str) -> Factor:
    """An option of a trainer: `trainer.compile`."""
    return Factor(
        name=name, field=name, follows=("process_model", "variables"), labels=("trainer", "trainer_options")
    )


def _memory_setting(key: str) -> Factor:
    return Factor(name=key, field=key, labels=("memory_settings",))


def _is_option(name: str) -> bool:
    return name.startswith("trainer.")


def _by_shared_options(group: Sequence[Measurement]) -> Iterator[list[Measurement]]:
    """Split a group so that no two members differ in an option that several trainers have.

    A trainer that has no such option belongs to each set: `torch_xla` always compiles, and meets trainers
    with `compile=on` and with `compile=off`.
    """
    known, names = trainers(), {measurement.setting.trainer for measurement in group}
    trainers_of = {
        name: frozenset(f"trainer.{option}" for option in (known[name].options if name in known else ()))
        for name in names
    }
    shared = {name for names in trainers_of.values() for name in names if _count(name, trainers_of) > 1}
    values = [
        _list_values(measurement.setting, shared & trainers_of[measurement.setting.trainer])
        for measurement in group
    ]
    seen: list[Mapping[str, str]] = []
    for wanted in (value for value in values if len(value) == max(map(len, values))):
        factors = [
            member
            for member, own in zip(group, values, strict=True)
            if all(wanted.get(name, value) == value for name, value in own.items())
        ]
        if wanted not in seen:
            seen.append(wanted)
            yield factors


def _list_values(setting: Setting, names: Iterable[str]) -> Mapping[str, str]:
    """The values of those options; an empty text is the default."""
    return {name: options_in(setting).get(name, "") for name in names}


def _count(name: str, trainers_of: Mapping[str, frozenset[str]]) -> int:
    return sum(name in names for names in trainers_of.values())
