"""Words about a training script: `script.NAME=VALUE` is the option NAME of `workload=script`. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from orchestrator.core.errors import ConfigError
from orchestrator.core.placement import task_name
from orchestrator.core.printable import quoted_value
from orchestrator.core.sweep import Point

_PREFIX = "script."
_QUOTED = ("command", "folder", "python")
"""Options with texts as values, with characters that Hydra's grammar has other uses for."""


def with_script_overrides(words: Sequence[str]) -> list[str]:
    """Translate the words about a script, and choose its trainer if no word names one."""
    translated = [_translated(word) for word in words]
    names_trainer = any(word.lstrip("+").startswith("trainer=") for word in words)
    if "workload=script" in words and not names_trainer:
        translated.append("trainer=script")
    return translated


@contextmanager
def script_keys_in_errors(words: Sequence[str]) -> Iterator[None]:
    """Name the keys of a script in errors as the user does, `script.NAME`."""
    try:
        yield
    except ConfigError as error:
        if "workload=script" not in words or "workload." not in str(error):
            raise
        raise ConfigError(str(error).replace("workload.", _PREFIX)) from error


def require_one_training(points: Iterable[Point]) -> None:
    """Check that a number of steps means the same training at every point.

    Raises:
        ConfigError: steps of several batch sizes, of which each would be another number of samples.
    """
    batches: dict[str, set[int]] = defaultdict(set)
    steps: dict[str, int] = {}
    for point in points:
        if point.workload == "script" and (count := point.workload_options.get("steps_total")):
            name = task_name(point.workload, point.workload_options)
            batches[name].add(point.global_batch_size)
            steps[name] = int(str(count))
    for name, sizes in batches.items():
        if len(sizes) > 1:
            listed = ",".join(map(str, sorted(sizes)))
            raise ConfigError(
                f"script.steps_total={steps[name]} with global_batch_size={listed} would be "
                "trainings of different lengths; write the samples of the whole training, as "
                f"script.samples_total={steps[name] * min(sizes)}"
            )


def _translated(word: str) -> str:
    if not word.startswith(_PREFIX) or "=" not in word:
        return word
    name, _, value = word.removeprefix(_PREFIX).partition("=")
    if name in _QUOTED and value[:1] not in ("'", '"', "["):
        value = quoted_value(value)
    return f"workload.{name}={value}"
