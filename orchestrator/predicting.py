"""The story of predictions: words -> points, their rooflines, times and costs; nothing is started."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.config.load import load
from orchestrator.core.sweep import Point
from orchestrator.plan.prices import price_of
from orchestrator.predict.basis import Asked, basis_of
from orchestrator.predict.corrector import corrector_of
from orchestrator.predict.defaults import default_models
from orchestrator.predict.estimator import bases_of
from orchestrator.predict.own import own_of
from orchestrator.predict.prediction_table import Prediction
from orchestrator.record.ledger import read_ledgers
from workloads.registry import workload

_NO_SWEEP = "+sweep=single"


def predicted(overrides: Sequence[str], *, working_directory: Path) -> tuple[Prediction, ...]:
    """Predict every point of a sweep, or of one point with the axes of the command line; each hardware once.

    Raises:
        ConfigError: words that cannot be understood.
        RecordError: the sweep's own records cannot be read.
    """
    names_sweep = any(word.startswith("+sweep=") for word in overrides)
    settings = load([*([] if names_sweep else [_NO_SWEEP]), *overrides], working_directory=working_directory)
    models, today = default_models(), datetime.now(UTC).date().isoformat()
    devices = settings.sweep.devices
    ledgers = read_ledgers(settings.outputs, sweep=settings.sweep.name)
    own = own_of((each for records in ledgers.values() for each in records), devices=devices)
    corrected = corrector_of(bases_of(devices, models), own, models.prior)
    points = {_identity(point): point for point in settings.sweep.points}
    asked = [(point, _asked(point)) for point in points.values()]
    return tuple(
        Prediction(
            point=point,
            roofline=each.roofline,
            step=corrected(basis_of(each, models), None),
            price=price_of(point.device, point.num_workers, prices=settings.prices, today=today),
        )
        for point, each in asked
    )


def _asked(point: Point) -> Asked:
    return Asked(
        spec=workload(point.workload, point.workload_options),
        device=point.device,
        precision=point.precision,
        num_workers=point.num_workers,
        global_batch_size=point.global_batch_size,
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
