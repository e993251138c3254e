"""Config keys that a command line can set, with their possible values: for completion."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.config.schema import KNOB_GROUPS, POINT_GROUPS, RootConf, group_schemas, trainer_conf
from orchestrator.config.workload_overrides import VARIABLES
from orchestrator.core.errors import ConfigError
from orchestrator.train.registry import trainers
from workloads.registry import options_class, workload_names

Keys = Mapping[str, tuple[str, ...]]
"""Key -> its possible values; empty: any."""

_WORKLOAD = "workload."
_BOOLEANS = ("true", "false")


def settable_keys() -> Keys:
    """Return the keys at the top and in the groups, without the options of workloads."""
    root = {name: values for name, values in _list_keys(RootConf) if name not in group_schemas()}
    plain = {name: values for name, values in root.items() if name not in (*POINT_GROUPS, "report", "sweep")}
    groups = {
        f"{group}.{name}": values
        for group, schema in (*group_schemas().items(), ("report", type(RootConf().report)))
        if group not in POINT_GROUPS or group in KNOB_GROUPS
        for name, values in _list_keys(schema)
        if name != "name"
    }
    own = {
        f"trainer.{name}": values
        for info in trainers().values()
        for name, values in _list_keys(trainer_conf(info))
        if name != "name"
    }
    return {**plain, **groups, **own, **dict.fromkeys(VARIABLES, ())}


def workload_keys() -> Keys:
    """Return the options of all workloads; one with broken code has none."""
    return {key: values for name in workload_names() for key, values in _list_options(name)}


def _list_options(workload: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    try:
        options = options_class(workload)
    except (ConfigError, ValueError):
        return
    for name, values in _list_keys(options):
        yield f"{_WORKLOAD}{name}", values


def _list_keys(schema: type[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field_ in dataclasses.fields(schema):
        usual = _BOOLEANS if field_.type in (bool, "bool") else ()
        yield field_.name, tuple(map(str, field_.metadata.get("choices", usual)))
