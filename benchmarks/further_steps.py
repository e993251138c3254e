"""Steps in float8, over several hosts and over PCIe, predicted without any step of their laboratory.

    python benchmarks/further_steps.py

`tools/further_steps.csv` has them; the effects are fitted to none, and those of the laboratory are held out.
It prints the tables for `docs/findings/prediction_accuracy.md`.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from orchestrator.config.cluster import load_cluster
from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.crossed_effects import CrossedEffects
from orchestrator.extensions.predictions.step_time.published_estimate import (
    build_published_estimate,
    estimate_by,
)
from orchestrator.extensions.predictions.step_time.step_query import FASTEST_PCIE, StepQuery

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from laboratory_rates import laboratory_devices
from language_steps import LanguageStep, language_steps
from published_steps import query_of_language_model

_PCIE_4 = 3.15e10  # x16, each direction
_GOAL = 1.35


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Published step with its prediction by other laboratories."""

    step: LanguageStep
    query: StepQuery
    estimate: Estimate

    @property
    def ratio(self) -> float:
        """Predicted over published time."""
        return self.estimate.likely / self.step.seconds

    @property
    def is_inside(self) -> bool:
        """True if the published time lies in the 90% interval."""
        return self.estimate.low <= self.step.seconds <= self.estimate.high


def hold_out() -> Iterator[Held]:
    """Predict every step by the effects of other laboratories."""
    models, devices = default_models(), _load_devices()
    for step in language_steps("further_steps.csv"):
        query = query_of_language_model(step, devices[step.device])
        others = [one for one in models.steps if one.labels.laboratory != step.laboratory]
        held = replace(models, steps=tuple(others))
        found = build_published_estimate(query, held)
        effects = CrossedEffects(others, models.deviations)
        estimate = estimate_by(query, found.ordered, held, effects=effects, refusal=None).step
        assert isinstance(estimate, Estimate), estimate
        yield Held(step=step, query=query, estimate=estimate)


def _load_devices() -> dict[str, Device]:
    """Return the devices of conf/device, and boards of laboratories, with bf16 as fast as fp16."""
    _, catalogue = load_cluster((), working_directory=Path.cwd())
    boards = {
        name: replace(
            board,
            peak_flops_per_second={
                **board.peak_flops_per_second,
                "bf16": board.peak_flops_per_second["fp16"],
            },
            link_bytes_per_second=_PCIE_4,
        )
        for name, board in laboratory_devices().items()
        if "fp16" in board.peak_flops_per_second
    }
    return {**boards, **catalogue.devices}


def row(name: str, steps: Sequence[Held]) -> str:
    """Return the table row of some steps."""
    ratios = np.array([one.ratio for one in steps])
    factors = [one.estimate.high / one.estimate.likely for one in steps]
    within = np.abs(np.log(ratios)) <= math.log(_GOAL)
    inside = np.mean([one.is_inside for one in steps])
    return (
        f"| {name} | {len(steps)} | {np.abs(ratios - 1).mean():.0%} | {np.median(ratios):.2f} | "
        f"{within.mean():.0%} | {inside:.0%} | {np.median(factors):.2f} |"
    )


def main() -> None:
    held = list(hold_out())
    groups: dict[str, Callable[[Held], bool]] = {
        "float8": lambda one: one.step.precision == "fp8",
        "the same in bf16": lambda one: one.step.precision == "bf16" and one.step.software in _FLOAT8_TOO,
        "several hosts": lambda one: one.step.num_hosts > 1,
        "shards over PCIe": _is_over_pcie,
    }
    print("| steps | number | MAPE | predicted over published, median | within 1.35 | inside | factor |")
    print("|---|---|---|---|---|---|---|")
    for name, belongs in groups.items():
        chosen = [one for one in held if belongs(one)]
        for laboratory in dict.fromkeys(one.step.laboratory for one in chosen):
            of_one = [one for one in chosen if one.step.laboratory == laboratory]
            print(row(f"{name}, {laboratory}", of_one))
        print(row(name, chosen))
    print("\n| step | published, s | predicted | interval |\n|---|---|---|---|")
    for one in held:
        step, where = one.step, f"{one.step.num_workers} {one.step.device}"
        settings = f"{step.precision}, {step.memory_settings.sharding}, batch {step.global_batch_size}"
        interval = f"[{one.estimate.low:.2f}, {one.estimate.high:.2f}]"
        print(
            f"| {step.laboratory} {step.software}, {where}, {settings} | {step.seconds:.2f} | "
            f"{one.estimate.likely:.2f} | {interval}{'' if one.is_inside else ' **outside**'} |"
        )


_FLOAT8_TOO = ("LLM.Q", "torchao")


def _is_over_pcie(one: Held) -> bool:
    return one.query.shards > 1 and (one.query.device.link_bytes_per_second or math.inf) < FASTEST_PCIE


if __name__ == "__main__":
    main()
