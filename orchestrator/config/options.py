"""Options, workload options and keys that the combinations of a sweep use, each checked to exist."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig

from orchestrator.config.composer import Composer
from orchestrator.config.schema import DEVICES, FOLLOWING_DEVICES, POINT_GROUPS
from orchestrator.config.values import assign, knows, references
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.plan.expand import Combination

GroupOptions = Mapping[tuple[str, str], DictConfig]
"""(group, option) -> its typed configuration."""


def build_options(composer: Composer, combinations: Sequence[Combination]) -> GroupOptions:
    """Every option that a combination names, composed.

    Raises:
        UnknownNameError: an option without a file.
    """
    wanted = {group: _list_options(group, combinations) for group in POINT_GROUPS}
    for group, options in wanted.items():
        for option in options:
            composer.check(group, option)
    return composer.nodes(wanted)


def find_knobs(combinations: Sequence[Combination], options: GroupOptions) -> tuple[str, ...]:
    """Find the dotted keys of the combinations.

    A knob need not be one of every option: a trainer without `trainer.strategy` ignores it.

    Raises:
        UnknownNameError: a knob that none of the used options has.
    """
    knobs = tuple(dict.fromkeys(key for combination in combinations for key in combination if "." in key))
    for knob in knobs:
        group, _, key = knob.partition(".")
        used = [config for (of_group, _), config in options.items() if of_group == group]
        if not any(knows(config, key) for config in used):
            known = {f"{group}.{name!s}" for config in used for name in config if name != "name"}
            raise UnknownNameError("key", knob, known=known)
    return knobs


def differing_keys(combinations: Sequence[Combination]) -> tuple[str, ...]:
    """Return the keys in which the combinations differ."""
    keys = dict.fromkeys(key for combination in combinations for key in combination)
    return tuple(key for key in keys if len({combination.get(key) for combination in combinations}) > 1)


def reject_interpolations(
    base: DictConfig, options: GroupOptions, combinations: Iterable[Combination], *, differing: Iterable[str]
) -> None:
    """Raises ConfigError for an interpolation that would have to be another one in every point, or worker."""
    why = dict.fromkeys(differing, "differs between the points of this sweep")
    if any(DEVICES in combination for combination in combinations):
        why |= dict.fromkeys(FOLLOWING_DEVICES, f"cannot be set together with {DEVICES}")
    for config in (base, *options.values()):
        for reference in references(config):
            for key, reason in why.items():
                if f"{reference}.".startswith(f"{key}.") or f"{key}.".startswith(f"{reference}."):
                    raise ConfigError(
                        f"a value is given as ${{{reference}}}, and {key} {reason}; give the value itself"
                    )


def apply_combination(base: DictConfig, combination: Combination, options: GroupOptions) -> None:
    """Write one combination into the configuration, so that interpolations find what all points share."""
    for group in POINT_GROUPS:
        base[group] = options[group, str(_list_options(group, [combination])[0])]
    for key, value in combination.items():
        if key not in POINT_GROUPS and knows(base, key):
            assign(base, key, value)


def _list_options(group: str, combinations: Iterable[Combination]) -> tuple[Any, ...]:
    keys = ("device", DEVICES) if group == "device" else (group,)
    named = (_flat(combination[key]) for combination in combinations for key in keys if key in combination)
    return tuple(dict.fromkeys(option for options in named for option in options))


def _flat(value: Any) -> tuple[Any, ...]:
    return tuple(one for item in value for one in _flat(item)) if isinstance(value, tuple) else (value,)
