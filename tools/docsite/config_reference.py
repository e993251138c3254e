"""Reference of the configuration, from the schemas, the dataclasses behind them and the files in `conf/`."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from docsite.docstrings import meanings_of, summarise_sweep
from docsite.markdown import code, table
from orchestrator.config import schema
from orchestrator.config.composer import Composer
from orchestrator.core.budget import Budget
from orchestrator.core.device import Device
from orchestrator.core.objective import Objective
from orchestrator.core.pool import Cluster, Pool
from orchestrator.core.price import PriceList, PriceRow
from orchestrator.core.search import Search
from orchestrator.core.settings import Checkpointing, Compiling, Deadlines
from orchestrator.core.sweep import Sweep
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.registry import trainers
from workloads.registry import options_class, workload_names

_VALUES: Mapping[str, type] = {
    "device": Device,
    "measure": TimingSpec,
    "executor": Deadlines,
    "checkpoint": Checkpointing,
    "prices": PriceList,
    "budget": Budget,
    "compile": Compiling,
    "search": Search,
    "pools": Cluster,
    "sweep": Sweep,
}
"""Group -> class that its configuration becomes, which explains the keys."""

_WITHOUT_DEFAULT = ("device", "sweep")
"""Groups whose files are facts or grids: the values of one of them are no defaults."""

_NESTED = {
    "prices.regions.REGION.instances.INSTANCE": (schema.PriceRowConf, PriceRow),
    "pools.nodes.POOL": (schema.PoolConf, Pool),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of the configuration.

    Attributes:
        name: dotted name, as on a command line.
        kind: type in words, or the possible values.
        default: value without an override; empty if there is none.
        meaning: effect of the key.
    """

    name: str
    kind: str
    default: str
    meaning: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files in `conf/` of a repository.

    Attributes:
        folder: place of the groups' folders.
        options: group -> its options.
        chosen: group -> option without an override.
        values: group -> key -> value under that option.
    """

    folder: Path
    options: Mapping[str, Sequence[str]]
    chosen: Mapping[str, str]
    values: Mapping[str, Mapping[str, Any]]


def files_of(repository: Path) -> Files:
    """Read the options of every group, and compose the default ones."""
    composer = Composer(repository)
    chosen = composer.base({"sweep": "single"})[1]
    nodes = composer.nodes({group: [chosen[group]] for group in _groups() if group not in _WITHOUT_DEFAULT})
    return Files(
        folder=repository / "conf",
        options={group: composer.options(group) for group in _groups()},
        chosen={group: option for group, option in chosen.items() if group != "sweep"},
        values={group: _scalars_of(node) for (group, _), node in nodes.items()},
    )


def config_reference(files: Files) -> str:
    """Return every config group with its options and keys, as Markdown."""
    sections = [_section(group, files) for group in _groups()]
    return "\n".join(
        (_keys_table("Top-level keys", _root_keys()), _keys_table("report", _report_keys()), *sections)
    )


def keys_of(files: Files) -> tuple[Key, ...]:
    """Return all keys of the configuration."""
    inner = (key for group in _groups() for key in _group_keys(group, files))
    return (*_root_keys(), *_report_keys(), *inner)


def _groups() -> tuple[str, ...]:
    return ("sweep", *schema.POINT_GROUPS, *schema.SETTINGS_GROUPS)


def _root_keys() -> tuple[Key, ...]:
    keys = _list_keys(schema.RootConf, (schema.RootConf,), prefix="", values={})
    return tuple(key for key in keys if key.name not in {*_groups(), "report"})


def _report_keys() -> tuple[Key, ...]:
    return _list_keys(schema.ReportConf, (schema.FilesConf, Objective), prefix="report.", values={})


def _group_keys(group: str, files: Files) -> tuple[Key, ...]:
    """Return the keys of a group; of workloads and trainers those of every option."""
    if group == "workload":
        return tuple(key for names in _workloads_by_options() for key in _workload_keys(names[0]))
    conf = _schema_of(group)
    explained = (conf, *([_VALUES[group]] if group in _VALUES else []))
    keys = _list_keys(conf, explained, prefix=f"{group}.", values=files.values.get(group, {}))
    nested = [
        key
        for place, kinds in _NESTED.items()
        if place.startswith(f"{group}.")
        for key in _list_keys(kinds[0], kinds, prefix=f"{place}.", values={})
    ]
    return (*keys, *nested, *(_trainer_keys() if group == "trainer" else ()))


def _section(group: str, files: Files) -> str:
    options = [
        (
            code(option),
            "default" if option == files.chosen.get(group) else "",
            _comment_of(files.folder / group / f"{option}.yaml"),
        )
        for option in files.options[group]
    ]
    head = f"## {group}\n\n{_summary(group)}\n\n{table(('option', '', 'content'), options)}"
    if group == "workload":
        tables = [
            f"\nOptions of {', '.join(map(code, names))}:\n\n{_table(_workload_keys(names[0]))}"
            for names in _workloads_by_options()
        ]
        return head + "".join(tables)
    return f"{head}\n{_table(_group_keys(group, files))}"


def _summary(group: str) -> str:
    if group == "workload":
        return "Model, data and optimizer of the training."
    conf = _schema_of(group)
    is_made = summarise_sweep(conf).startswith(f"{conf.__name__}(")
    return summarise_sweep(_VALUES[group] if is_made else conf)


def _schema_of(group: str) -> type:
    if group == "trainer":
        return schema.TrainerConf
    node = ConfigStore.instance().repo[group]["schema.yaml"].node
    return OmegaConf.get_type(node)  # type: ignore[return-value]  # of a structured node, a class


def _scalars_of(node: DictConfig) -> Mapping[str, Any]:
    """Return the values of a configuration without its nested ones; an interpolation stays as written."""
    plain = OmegaConf.to_container(node, resolve=False)
    assert isinstance(plain, dict)
    return {
        str(key): value for key, value in plain.items() if not isinstance(value, dict) and value != MISSING
    }


def _list_keys(
    conf: type, explained: Sequence[type], *, prefix: str, values: Mapping[str, Any]
) -> tuple[Key, ...]:
    meanings = meanings_of(explained)
    return tuple(
        Key(
            name=f"{prefix}{field.name}",
            kind=_classify_kind(field),
            default=_read_text(values.get(field.name, _declared_default(field))),
            meaning=meanings.get(field.name, ""),
        )
        for field in dataclasses.fields(conf)
    )


def _classify_kind(field: "dataclasses.Field[Any]") -> str:
    if choices := field.metadata.get("choices"):
        return ", ".join(code(str(choice)) for choice in choices)
    return _type_name(field.type)


def _type_name(kind: Any) -> str:
    names = {int: "integer", float: "number", bool: "boolean", str: "text", type(None): "null", Any: "any"}
    if kind in names:
        return names[kind]
    parts = [_type_name(part) for part in get_args(kind) if part is not ...]
    if get_origin(kind) in (list, tuple):
        return f"list of {parts[0]}"
    if get_origin(kind) is dict or (len(parts) == 2 and "Mapping" in str(kind)):
        return f"mapping of {parts[0]} to {parts[1]}"
    return " or ".join(parts) or "mapping"


def _declared_default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return "" if field.default in (dataclasses.MISSING, MISSING) else field.default


def _read_text(value: Any) -> str:
    words = {None: "null", True: "true", False: "false"}
    if isinstance(value, bool) or value is None:
        return code(words[value])
    if isinstance(value, (list, tuple)):
        return code(f"[{','.join(map(str, value))}]")
    if isinstance(value, dict):
        return code("{}")
    return code(str(value))


def _trainer_keys() -> tuple[Key, ...]:
    uses: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for info in trainers().values():
        for name, values in info.options.items():
            uses.setdefault((name, values), []).append(info.name)
    return tuple(
        Key(
            name=f"trainer.{name}",
            kind=", ".join(map(code, values)),
            default=code(values[0]),
            meaning=f"option of {', '.join(map(code, names))}",
        )
        for (name, values), names in uses.items()
    )


def _workloads_by_options() -> tuple[tuple[str, ...], ...]:
    """Return the workloads, those with the same options together."""
    alike: dict[tuple[Key, ...], list[str]] = {}
    for name in workload_names():
        alike.setdefault(_workload_keys(name), []).append(name)
    return tuple(tuple(names) for names in alike.values())


def _workload_keys(name: str) -> tuple[Key, ...]:
    conf = options_class(name)
    return _list_keys(conf, (conf,), prefix="script." if name == "script" else "workload.", values={})


def _comment_of(file: Path) -> str:
    """Return the comment at the top of a config file on one line."""
    lines = file.read_text().splitlines() if file.exists() else []
    count = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return " ".join(line.removeprefix("#").strip() for line in lines[:count])


def _keys_table(title: str, keys: Iterable[Key]) -> str:
    return f"## {title}\n\n{_table(keys)}"


def _table(keys: Iterable[Key]) -> str:
    return table(
        ("key", "value", "default", "meaning"),
        ((code(key.name), key.kind, key.default, key.meaning) for key in keys),
    )
