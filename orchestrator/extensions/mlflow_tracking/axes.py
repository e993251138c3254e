"""Trials -> their parameters in MLflow, the values of a sweep's axes, and the names of runs. Pure."""

from collections.abc import Iterable, Mapping

from orchestrator.core.result import TrialRecord
from orchestrator.core.trial_spec import TrialSpec, find_axes
from orchestrator.extensions.mlflow_tracking.keys import keys_of_names

DEFAULT = "default"
"""Value of an option in trials that do not set it, where others do."""

_PREFIX = "axis."
_ALWAYS_NAMED = ("device", "precision", "trainer")
_NEVER_NAMED = (*_ALWAYS_NAMED, "repeat")
_WORDS = {
    "workload": "{}",
    "num_workers": "x{}",
    "num_hosts": "{} hosts",
    "global_batch_size": "batch {}",
    "steps": "{} steps",
    "seed": "seed {}",
    "micro_batch_size": "micro batch {}",
    "activation_checkpointing": "checkpointing {}",
    "sharding": "sharding {}",
}
_SEPARATOR = ", "
_LONGEST = 5000  # MLflow's own limit of a parameter is 6000
_CUT = "…"


def build_params(spec: TrialSpec) -> dict[str, str]:
    """Return the possible axes of a sweep under their command-line keys; numbers in plain digits.

    MLflow's pages compare runs by these: what is the same in nearly every run is a tag, and an option or a
    knob of the timing that has its default is left out.
    """
    axes = {
        **find_axes(spec),
        **{f"workload.{name}": value for name, value in spec.workload_options.items()},
        **{f"trainer.{name}": value for name, value in spec.trainer_options.items()},
        **spec.memory_settings.chosen,
        **{f"measure.{name}": value for name, value in spec.timing.chosen.items()},
    }
    keys = keys_of_names(axes)
    return {keys[name]: format_value(value) for name, value in axes.items()}


def values_in(specs: Iterable[TrialSpec]) -> dict[str, tuple[str, ...]]:
    """Return each axis with its distinct values in these trials; numbers ascend."""
    all_params = [build_params(spec) for spec in specs]
    names = dict.fromkeys(name for params in all_params for name in params)
    return {
        name: _ordered(dict.fromkeys(params.get(name, DEFAULT) for params in all_params)) for name in names
    }


def varying_in(values: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the axes that have several values."""
    return frozenset(name for name, found in values.items() if len(found) > 1)


def name_run(record: TrialRecord, *, varying: frozenset[str]) -> str:
    """Name a run: `cpu bf16 torch_ddp batch 64 #0 · rehearsed`, with the axes in which the sweep varies."""
    params = build_params(record.spec)
    words = [
        *(params[name] for name in _ALWAYS_NAMED),
        *(_format_word(name, value) for name, value in params.items() if name in varying - {*_NEVER_NAMED}),
        f"#{record.spec.repeat}",
        *([f"attempt {record.attempt}"] if record.attempt > 1 else []),
    ]
    return " · ".join([" ".join(words), *_find_marks(record)])


def sweep_params(
    known: Mapping[str, str], *, name: str, goal: str, values: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Return the parameters that the run of a sweep still lacks.

    A parameter of MLflow cannot be changed. An axis that has got further values is logged once more, with
    all of them, as `axis.seed.2`, then as `axis.seed.3`.
    """
    wanted = {
        "sweep": (name,),
        "goal": (goal,),
        **{f"{_PREFIX}{axis}": found for axis, found in values.items()},
    }
    missing = (_build_update(known, param, found) for param, found in wanted.items())
    return {param: text for update in missing for param, text in update.items()}


def format_value(value: object) -> str:
    """Write a value as a command line has it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _build_update(known: Mapping[str, str], param: str, values: tuple[str, ...]) -> dict[str, str]:
    version, newest = 1, param
    while (following := f"{param}.{version + 1}") in known:
        version, newest = version + 1, following
    if newest not in known:
        return {param: _listed(values)}
    text = f"{_SEPARATOR}{known[newest]}{_SEPARATOR}"  # a value may hold a separator itself
    new = [value for value in values if f"{_SEPARATOR}{value}{_SEPARATOR}" not in text]
    if not new or known[newest].endswith(f"{_SEPARATOR}{_CUT}"):
        return {}
    before = [known[newest]] if _SEPARATOR in "".join(values) else known[newest].split(_SEPARATOR)
    return {following: _listed(_ordered(dict.fromkeys((*before, *values))))}


def _listed(values: tuple[str, ...]) -> str:
    text = _SEPARATOR.join(values)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST].rpartition(_SEPARATOR)[0]}{_SEPARATOR}{_CUT}"


def _ordered(values: Iterable[str]) -> tuple[str, ...]:
    """Sort numbers; leave other values in their order."""
    found = tuple(values)
    try:
        return tuple(sorted(found, key=float))
    except ValueError:
        return found


def _format_word(name: str, value: str) -> str:
    return _WORDS[name].format(value) if name in _WORDS else f"{name.partition('.')[2]}={value}"


def _find_marks(record: TrialRecord) -> tuple[str, ...]:
    rehearsed = ("rehearsed",) if record.provenance == "rehearsed" else ()
    if record.is_pruned:
        return (*rehearsed, "pruned")
    return (*rehearsed, f"failed: {record.failure.kind}") if record.failure else rehearsed
