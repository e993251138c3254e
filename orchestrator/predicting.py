"""The story of predictions: words -> points, their rooflines, times and costs; nothing is started."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.config.load import load
from orchestrator.core.price import Price, Unpriced
from orchestrator.core.sweep import Point
from orchestrator.plan.prices import price_of
from orchestrator.predict.defaults import default_models
from orchestrator.predict.estimate import Prediction, predict
from workloads.registry import workload

_NO_SWEEP = "+sweep=single"


def predicted(
    overrides: Sequence[str], *, working_directory: Path
) -> tuple[tuple[Prediction, Price | Unpriced], ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: words that cannot be understood.
    """
    names_sweep = any(word.startswith("+sweep=") for word in overrides)
    settings = load([*([] if names_sweep else [_NO_SWEEP]), *overrides], working_directory=working_directory)
    models, today = default_models(), datetime.now(UTC).date().isoformat()
    points = {_identity(point): point for point in settings.sweep.points}
    return tuple(
        (
            predict(point, workload(point.workload, point.workload_options), models),
            price_of(point.device, point.num_workers, prices=settings.prices, today=today),
        )
        for point in points.values()
    )


def _identity(point: Point) -> object:
    """What a prediction depends on: not on the trainer."""
    knobs = tuple(sorted((key, repr(value)) for key, value in point.workload_options.items()))
    return (
        point.workload,
        knobs,
        point.device.name,
        point.precision,
        point.num_workers,
        point.global_batch_size,
    )
