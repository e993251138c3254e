"""Published steps of every laboratory, predicted by the others alone: errors and coverage.

    python benchmarks/other_laboratories.py [--hits FILE]

A laboratory is held out as a whole: all its machines, networks and frameworks. The coefficients of the parts
and the deviations of the effects saw it; only PROFET and this project have the small steps that the former
are fitted to. Then one step of each machine is "measured", drawn at random, and the others are predicted
again: those of other networks, and those of the same network at another batch, size or precision.

It prints the tables for `docs/findings/prediction_accuracy.md`, and writes how good each kind of prediction
was, which `predict` tells.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from orchestrator.core import codec
from orchestrator.extensions.predictions.step_time.basis import (
    BasisKind,
    HitTable,
    OwnKind,
    PastHits,
    nearest,
)
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.crossed_effects import CrossedEffects, PublishedStep

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from effect_fitting import score

_MADE_BY = (
    "python benchmarks/other_laboratories.py "
    "--hits orchestrator/extensions/predictions/step_time/data/past_hits.json"
)
_SEED = 0
_DRAWS = 4  # of a machine
_LANGUAGE_MODELS = {"llama_style": "all weights", "causal_lm": "adapters"}
"""Workload that stands for published language models of a billion parameters and more -> what is trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Step that was predicted.

    Attributes:
        network: name of the workload that has its network.
        kind: what it was predicted from.
        before: log(measured / predicted) without own measurement.
        error, deviation: log(measured / predicted) and its deviation.
    """

    laboratory: str
    network: str
    kind: BasisKind | OwnKind
    before: float
    error: float
    deviation: float


def replays_of(steps: Sequence[PublishedStep], deviations: Mapping[str, float]) -> Iterator[Replay]:
    """Predict every step by other laboratories, and those of a machine again after one of them."""
    random = np.random.default_rng(_SEED)
    for laboratory in dict.fromkeys(step.labels.laboratory for step in steps):
        others = [step for step in steps if step.labels.laboratory != laboratory]
        effects = CrossedEffects(others, deviations)
        machines: dict[tuple[str, str], list[PublishedStep]] = defaultdict(list)
        for step in steps:
            if step.labels.laboratory == laboratory:
                machines[step.labels.software, step.labels.device].append(_of_user(step))
        for machine in machines.values():
            before = [score(step, effects) for step in machine]
            for step, (error, deviation) in zip(machine, before, strict=True):
                kind, _ = nearest(step.labels, others)
                yield Replay(
                    laboratory=laboratory,
                    network=_name_workload(step),
                    kind=kind,
                    before=error,
                    error=error,
                    deviation=deviation,
                )
            for index in random.permutation(len(machine))[:_DRAWS].tolist():
                own = machine[index]
                after = effects.given([own])
                for step, (error, _) in zip(machine, before, strict=True):
                    if step is not own:
                        now, deviation = score(step, after)
                        is_same = step.labels.network == own.labels.network
                        yield Replay(
                            laboratory=laboratory,
                            network=_name_workload(step),
                            kind="own network there" if is_same else "own there",
                            before=error,
                            error=now,
                            deviation=deviation,
                        )


def _name_workload(step: PublishedStep) -> str:
    return step.labels.network.partition(" ")[0]


def _of_user(step: PublishedStep) -> PublishedStep:
    """Return a step as a user's own: of no laboratory that published."""
    return replace(step, labels=replace(step.labels, laboratory="", software=""))


def hits_of(replays: Sequence[Replay], quantile: float) -> PastHits:
    """Count the hits of some predictions."""
    errors = np.array([abs(one.error) for one in replays])
    deviations = np.array([one.deviation for one in replays])
    return PastHits(
        steps=len(replays),
        laboratories=len({one.laboratory for one in replays}),
        inside=round(float(np.mean(errors <= quantile * deviations)), 3),
        median_factor=round(float(np.exp(np.median(errors))), 3),
    )


def row(name: str, replays: Sequence[Replay], quantile: float) -> str:
    """Return the table row of some steps."""
    errors = np.array([one.error for one in replays])
    factor = np.exp(quantile * np.median([one.deviation for one in replays]))
    return (
        f"| {name} | {len(errors)} | {np.abs(np.expm1(-errors)).mean():.0%} | "
        f"{np.exp(-np.median(errors)):.2f} | {hits_of(replays, quantile).inside:.0%} | {factor:.2f} |"
    )


def own_row(name: str, replays: Sequence[Replay], quantile: float) -> str:
    """Return the table row of steps after one own measurement."""
    before, after = (np.abs([getattr(one, when) for one in replays]) for when in ("before", "error"))
    return (
        f"| {name} | {len(replays)} | {np.exp(before.mean()):.2f} | {np.exp(after.mean()):.2f} | "
        f"{after.mean() / before.mean():.2f} | {hits_of(replays, quantile).inside:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hits", type=Path, help="file to write")
    hits_file = parser.parse_args().hits
    models = default_models()
    by_kind: dict[str, list[Replay]] = defaultdict(list)
    for one in replays_of(models.steps, models.deviations):
        by_kind[one.kind].append(one)
    own = {kind: by_kind.pop(kind) for kind in ("own there", "own network there")}
    published = [one for replays in by_kind.values() for one in replays]
    print("| laboratory | steps | MAPE | predicted over measured, median | coverage of 90% | factor |")
    print("|---|---|---|---|---|---|")
    laboratories = sorted({one.laboratory for one in published})
    of_each = [[one for one in published if one.laboratory == name] for name in laboratories]
    for name, replays in zip(laboratories, of_each, strict=True):
        print(row(name, replays, models.quantile))
    print(row("all steps", published, models.quantile))
    alike = [hits_of(replays, models.quantile).inside for replays in of_each]
    print(f"\nLaboratories count alike: {np.mean(alike):.0%}\n")
    print("| known | steps | MAPE | predicted over measured, median | coverage of 90% | factor |")
    print("|---|---|---|---|---|---|")
    for kind, replays in by_kind.items():
        print(row(kind, replays, models.quantile))
    print("\n| language models | steps | MAPE | predicted over measured, median | coverage of 90% | factor |")
    print("|---|---|---|---|---|---|")
    for workload, trained in _LANGUAGE_MODELS.items():
        large = [one for one in published if one.network == workload]
        for name in laboratories:
            of_one = [one for one in large if one.laboratory == name]
            if of_one:
                print(row(f"{trained}, {name}", of_one, models.quantile))
        print(row(trained, large, models.quantile))
    print(
        "\n| measured on that machine | steps | mean error before | after | ratio of logarithms | coverage |"
    )
    print("|---|---|---|---|---|---|")
    for kind, replays in own.items():
        print(own_row(kind, replays, models.quantile))
        for name in laboratories:
            of_one = [one for one in replays if one.laboratory == name]
            if of_one:
                print(own_row(f"{kind}, {name}", of_one, models.quantile))
    if hits_file:
        every = {**by_kind, **own}
        table = HitTable(
            made_by=_MADE_BY,
            hits={kind: hits_of(replays, models.quantile) for kind, replays in sorted(every.items())},
        )
        hits_file.write_text(f"{codec.to_json(table)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
