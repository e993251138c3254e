"""Input of a point's network in words, and the one that the network was published with. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from orchestrator.core.sweep import Point
from orchestrator.core.trial_spec import Option
from orchestrator.plan.trial_specs import build_workload
from workloads.inputs import name_input
from workloads.registry import find_published_options, options_class


def describe_input(point: Point) -> str:
    """Describe the input, and name the options of the other size that may be meant.

    `images 32x32, 10 classes (published size: workload.image_size=224 workload.num_classes=1000)`; empty
    where a user's code has it.
    """
    described, published = name_input(build_workload(point)), find_published_options(point.workload)
    if not described or not published:
        return described
    defaults: Mapping[str, Any] = {one.name: one.default for one in fields(options_class(point.workload))}
    options = {name: point.workload_options.get(name, defaults[name]) for name in published}
    if options != published:
        return f"{described} (published size: {_words(published)})"
    usual = _words({name: defaults[name] for name in published})
    return f"{described} (published size; runs default to {usual})"


def apply_published_size(point: Point, named: Collection[str]) -> Point:
    """Set the published size, unless the user or a file sets one of its options.

    Args:
        named: options of workloads that the user names, also at their defaults.
    """
    published = find_published_options(point.workload)
    if not published.keys().isdisjoint({*named, *point.workload_options}):
        return point
    return replace(point, workload_options={**point.workload_options, **published})


def _words(options: Mapping[str, Option]) -> str:
    return " ".join(f"workload.{name}={value}" for name, value in options.items())
