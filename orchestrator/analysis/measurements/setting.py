"""Setting of a trial: the fields that distinguish it from others, without seed and repeat, and their text."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter

from orchestrator.analysis.formatting import counted, data_name
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord, find_variables, find_versions
from orchestrator.core.trial_spec import Option, TimingSpec, TrialSpec

DETAILS: Mapping[str, str] = {
    "num_workers": "workers",
    "num_hosts": "hosts",
    "replicas": "replicas",
    "global_batch_size": "batch",
    "steps": "steps",
    "workload_options": "workload options",
    "trainer_options": "trainer options",
    "memory_settings": "memory settings",
    "process_model": "processes",
    "timing": "timing",
    "data": "data",
    "host": "host",
    "workload_version": "workload version",
    "trainer_version": "trainer version",
    "ran_with": "ran with",
}
"""Fields that are worth a word only where settings differ in them, with what people call them."""

Namer = Callable[[TrialSpec], str]
"""Names a trial so that its name differs from those of the other trials of its sweep."""

IMPLIED = ("process_model", "workload_version", "trainer_version")
"""Fields that follow from others: worth a word only where settings differ in nothing else."""

_FIRST = ("workload", "device", "trainer", "precision")
_WHERE_NOTHING_DIFFERS = ("device", "trainer", "precision")
_WORTH_SHARING = (*_FIRST, "global_batch_size", "num_workers", "host")
_USUAL: Mapping[str, object] = {
    "num_workers": 1,
    "num_hosts": "",
    "workload_options": "",
    "trainer_options": "",
    "memory_settings": "",
}
"""Values that a name leaves out; any other is in every name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Every field of a `TrialSpec` but seed and repeat, as it is shown; the text of a default is empty.

    Attributes:
        device: names of all workers' where they are not alike: `t4+cpu`.
        num_hosts: hosts of all workers together, if more than one.
        replicas: replicas of all workers together, if a worker has more than one.
        workload_options, trainer_options, memory_settings, timing: values that differ from the defaults, in
            command-line form.
        host: model and core count, where the device is a host's CPU.
        ran_with: versions and variables of its workers, where trials of one spec differ in them.
    """

    workload: str
    device: str
    trainer: str
    precision: str
    num_workers: int
    num_hosts: str
    replicas: str
    global_batch_size: int
    steps: int = 0
    workload_options: str = ""
    trainer_options: str = ""
    process_model: str = ""
    timing: str = ""
    data: str = ""
    host: str = ""
    workload_version: int = 0
    trainer_version: int = 0
    memory_settings: str = ""
    ran_with: str = ""


def build_setting(spec: TrialSpec) -> Setting:
    """Return the setting of a trial: equal in all its seeds and repeats, and in nothing else."""
    return _setting(spec, steps=spec.steps, timing=_timing_text(spec.timing))


def setting_of_job(spec: TrialSpec) -> Setting:
    """Name the setting that a trial is a run of: length and timing protocol are not part of it."""
    return _setting(spec, steps=0, timing="")


def find_differing_facts(own: str, alike: Iterable[str]) -> str:
    """Name the facts, apart by `; `, that not all of these texts have."""
    common = set.intersection(*(set(text.split("; ")) for text in alike))
    return "; ".join(fact for fact in own.split("; ") if fact and fact not in common)


def with_environment(setting: Setting, record: TrialRecord) -> Setting:
    """Add the versions and variables that a trial ran with."""
    facts = {**find_versions(record), **find_variables(record)}
    return replace(setting, ran_with="; ".join(f"{name} {value}" for name, value in facts.items()))


def _setting(spec: TrialSpec, *, steps: int, timing: str) -> Setting:
    return Setting(
        workload=spec.workload,
        device=spec.device_label,
        trainer=spec.trainer,
        precision=spec.precision,
        num_workers=spec.num_workers,
        num_hosts="" if spec.num_hosts == 1 else str(spec.num_hosts),
        replicas="" if spec.replicas == spec.num_workers else str(spec.replicas),
        global_batch_size=spec.global_batch_size,
        steps=steps,
        workload_options=_list_options(
            "script" if spec.workload == "script" else "workload", spec.workload_options
        ),
        trainer_options=_list_options("trainer", spec.trainer_options),
        process_model=spec.process_model,
        timing=timing,
        data=spec.data,
        host=spec.host_cpu or "",
        workload_version=spec.workload_version,
        trainer_version=spec.trainer_version,
        memory_settings=spec.memory_settings.words,
    )


_NAMES = tuple(field_.name for field_ in fields(Setting))


_OTHERS = attrgetter(*(name for name in _NAMES if name not in IMPLIED))


def plain_setting(setting: Setting) -> dict[str, object]:
    """Name -> value of every field; `dataclasses.asdict` would copy each value."""
    return {name: getattr(setting, name) for name in _NAMES}


def options_in(setting: Setting) -> dict[str, str]:
    """Options of the trainer that are not at their defaults: `trainer.compile` -> `on`."""
    return {
        name: value for name, value in _pairs(setting.trainer_options).items() if name.startswith("trainer.")
    }


def find_memory_settings(setting: Setting) -> dict[str, str]:
    """Settings of the memory that are not at their defaults: `micro_batch_size` -> `8`."""
    return _pairs(setting.memory_settings)


def _pairs(words: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in words.split())
    return {name: value for name, _, value in pairs}


def varying(settings: Sequence[Setting], among: Iterable[str]) -> tuple[str, ...]:
    """Return the fields `among` that are needed to distinguish the settings."""
    return tuple(name for name in among if _varies(settings, name))


def _varies(settings: Sequence[Setting], name: str) -> bool:
    if name not in IMPLIED:
        return len({getattr(setting, name) for setting in settings}) > 1
    alike: dict[tuple[object, ...], set[object]] = defaultdict(set)
    for setting in settings:
        alike[_OTHERS(setting)].add(getattr(setting, name))
    return any(len(values) > 1 for values in alike.values())


def format_field(setting: Setting, name: str) -> str:
    """Format one field for a sentence: `bf16`, `2 workers`, `batch 64`, `stand-in 1f2e3d4c`."""
    value = getattr(setting, name)
    if name in ("num_workers", "num_hosts", "replicas", "steps"):
        return counted(int(value), DETAILS[name].removesuffix("s"))
    if name == "data":
        return data_name(value)
    return f"{DETAILS[name]} {value}" if isinstance(value, int) else str(value)


def format_label(setting: Setting, names: Iterable[str], *, separator: str = ", ") -> str:
    """Name a setting by some of its fields: `torch_ddp, bf16, cpu, 2 workers`."""
    return separator.join(format_field(setting, name) for name in names if getattr(setting, name) != "")


def names_in(plan: Plan) -> Namer:
    """Return the names of all trials of a plan."""
    return namer(trial.trial for trial in plan.asked)


def namer(trials: Iterable[TrialSpec]) -> Namer:
    """Return a function that names each of these trials in one line, and no two different ones alike.

    What all of them share is left out, apart from the words that every name begins with and what is unusual.
    """
    settings = tuple({build_setting(trial) for trial in trials})
    differ = {name for name in DETAILS if varying(settings, [name])}
    fields = [*_FIRST, *(name for name in DETAILS if name in _USUAL or name in differ)]

    def build_name(trial: TrialSpec) -> str:
        setting = build_setting(trial)
        shared = {"workload_options"} - differ if setting.workload == "script" else set()
        names = [name for name in fields if getattr(setting, name) != _USUAL.get(name, "")]
        names = [name for name in names if name not in shared]
        apart = [f"{name} {value}" for name in ("seed", "repeat") if (value := getattr(trial, name))]
        return " ".join([*(format_field(setting, name) for name in names), *apart])

    return build_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortNames:
    """Names of trials in few words.

    Attributes:
        fields: fields of a setting that a name consists of.
        shared: what all trials have in common, in words.
        has_seeds, has_repeats: the trials differ in their seeds, or in their repeats.
    """

    fields: tuple[str, ...]
    shared: str
    has_seeds: bool
    has_repeats: bool

    def setting(self, trial: TrialSpec) -> str:
        """Name the setting of a trial: `cpu torch_ddp bf16`."""
        return format_label(build_setting(trial), self.fields, separator=" ")

    def trial(self, trial: TrialSpec) -> str:
        """Name a trial: `cpu torch_ddp bf16 seed 1 #0`."""
        seed = [f"seed {trial.seed}"] if self.has_seeds else []
        repeat = [f"#{trial.repeat}"] if self.has_repeats else []
        return " ".join([self.setting(trial), *seed, *repeat])


def short_names(trials: Iterable[TrialSpec]) -> ShortNames:
    """Find what these trials differ in; where it is nothing, a name has device, trainer and precision."""
    trials = tuple(trials)
    settings = tuple({build_setting(trial) for trial in trials})
    with_host = tuple(setting for setting in settings if setting.host)  # trials of other devices have none
    varied = varying(settings, (name for name in (*_FIRST, *DETAILS) if name != "host"))
    fields = (*varied, *varying(with_host, ["host"])) or _WHERE_NOTHING_DIFFERS
    shared = [name for name in _WORTH_SHARING if name not in fields]
    return ShortNames(
        fields=fields,
        shared=_shared_words((*with_host, *settings)[0], shared) if settings else "",
        has_seeds=len({trial.seed for trial in trials}) > 1,
        has_repeats=len({trial.repeat for trial in trials}) > 1,
    )


def _shared_words(setting: Setting, names: Iterable[str]) -> str:
    """Format `mnist_cnn, batch 64, AMD EPYC x2`: one worker is usual, and not worth a word."""
    usual = {"num_workers": 1}
    worth = [name for name in names if getattr(setting, name) not in ("", usual.get(name))]
    return ", ".join(format_field(setting, name) for name in worth)


@cache
def _timing_text(timing: TimingSpec) -> str:
    return _list_options("measure", timing.chosen)


def _list_options(group: str, options: Mapping[str, Option]) -> str:
    return " ".join(f"{group}.{name}={options[name]}" for name in sorted(options)) if options else ""
