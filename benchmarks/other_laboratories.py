"""Published steps of every laboratory, predicted by the others alone: errors and coverage.

    python benchmarks/other_laboratories.py

A laboratory is held out as a whole: all its machines, networks and frameworks. The coefficients of the parts
and the deviations of the effects saw it; only PROFET has the small steps that the former are fitted to. It
prints the table for `docs/prediction/accuracy.md`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orchestrator.predict.step_time.bundled_models import default_models

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from effect_fitting import held_out_scores


def row(name: str, scores: Sequence[tuple[float, float]], quantile: float) -> str:
    """Return the table row of some steps."""
    errors, deviations = np.array(scores).T
    covered = np.mean(np.abs(errors) <= quantile * deviations)
    return (
        f"| {name} | {len(errors)} | {np.abs(np.expm1(-errors)).mean():.0%} | "
        f"{np.exp(-np.median(errors)):.2f} | {covered:.0%} | {np.exp(quantile * np.median(deviations)):.2f} |"
    )


def main() -> None:
    models = default_models()
    found = held_out_scores(models.steps, models.deviations)
    print("| laboratory | steps | MAPE | predicted over measured, median | coverage of 90% | factor |")
    print("|---|---|---|---|---|---|")
    for laboratory, scores in sorted(found.items()):
        print(row(laboratory, scores, models.quantile))
    print(row("all steps", [score for scores in found.values() for score in scores], models.quantile))
    alike = [np.mean([abs(e) <= models.quantile * d for e, d in scores]) for scores in found.values()]
    print(f"\nLaboratories count alike: {np.mean(alike):.0%}")


if __name__ == "__main__":
    main()
