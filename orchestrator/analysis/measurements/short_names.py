"""Names of the trials of a sweep by what differs among them, and once what all of them share. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.analysis.measurements.setting import DETAILS, Setting, build_setting, format_field, varying
from orchestrator.core.trial_spec import TrialSpec

_FIRST = ("workload", "device", "trainer", "precision")
_WHERE_NOTHING_DIFFERS = ("device", "trainer", "precision")
_WORTH_SHARING = (*_FIRST, "global_batch_size", "num_workers", "host")


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
        return _words(build_setting(trial), self.fields)

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


def _words(setting: Setting, names: Iterable[str]) -> str:
    return " ".join(format_field(setting, name) for name in names if getattr(setting, name) != "")


def _shared_words(setting: Setting, names: Iterable[str]) -> str:
    """Format `mnist_cnn, batch 64, AMD EPYC x2`: one worker is usual, and not worth a word."""
    usual = {"num_workers": 1}
    worth = [name for name in names if getattr(setting, name) not in ("", usual.get(name))]
    return ", ".join(format_field(setting, name) for name in worth)
