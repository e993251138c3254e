"""What tells a measurement from the others, its repeat apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.core.spec import Option, TrialSpec

DETAILS = ("num_workers", "global_batch_size", "steps", "seed", "options", "host")
"""Fields that are worth a word only where settings differ in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Fields of a `TrialSpec` as they are shown; text is empty where there is nothing to say.

    Attributes:
        options: those of workload and trainer that differ from their defaults.
        host: model and core count, where the device is a host's CPU.
    """

    workload: str
    device: str
    trainer: str
    precision: str
    num_workers: int
    global_batch_size: int
    steps: int
    seed: int
    options: str
    host: str
    data: str


def setting_of(spec: TrialSpec) -> Setting:
    """The setting of a trial; equal in all its repeats."""
    return Setting(
        workload=spec.workload,
        device=spec.device,
        trainer=spec.trainer,
        precision=spec.precision,
        num_workers=spec.num_workers,
        global_batch_size=spec.global_batch_size,
        steps=spec.steps,
        seed=spec.seed,
        options=_options_of(spec),
        host=spec.host_cpu or "",
        data=spec.data,
    )


def varying(settings: Sequence[Setting], among: Iterable[str]) -> tuple[str, ...]:
    """Those of the fields `among` in which the settings differ."""
    return tuple(name for name in among if len({getattr(each, name) for each in settings}) > 1)


def _options_of(spec: TrialSpec) -> str:
    options: dict[str, Option] = {**spec.workload_options, **spec.trainer_options}
    return " ".join(f"{name}={value}" for name, value in options.items())
