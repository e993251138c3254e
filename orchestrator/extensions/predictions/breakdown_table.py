"""Parts of one step as a table, with bars in a terminal; and a micro-benchmark as a table. Pure."""

from dataclasses import fields

from orchestrator.analysis.formatting import UNKNOWN, number, share
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.core.device import Device
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.jobs import describe_job
from orchestrator.extensions.predictions.prediction_table import Prediction, format_batch
from orchestrator.extensions.predictions.step_breakdown import StepBreakdown

_MICRO, _MILLI, _TERA, _GIGA = 1e-6, 1e-3, 1e12, 1e9


def calibration_table(device: Device, benchmark: DeviceBenchmark) -> Table:
    """One row a precision, and rows of the memory and the exchange."""
    rows = [
        (
            precision,
            str(number(benchmark.layer_seconds[precision] / _MICRO)),
            str(number(benchmark.step_seconds[precision] / _MILLI)),
            f"{number(rate / _TERA)} TFLOP/s",
            _share(rate, device.peak_flops_per_second.get(precision)),
        )
        for precision, rate in benchmark.flops_per_second.items()
    ]
    for name, rate, peak in (
        ("memory", benchmark.memory_bytes_per_second, device.memory_bytes_per_second),
        ("exchange", benchmark.exchange_bytes_per_second, device.link_bytes_per_second),
    ):
        if rate is not None:
            rows.append((name, "", "", f"{number(rate / _GIGA)} GB/s", _share(rate, peak)))
    return Table(
        title=f"Measured on {benchmark.driver_name}",
        note=(
            "µs a layer and ms a step: launches and Python of a training step whose layers compute next to "
            "nothing. Rates: the fastest product of square matrices, and the fastest copy within the memory, "
            "read and written bytes. Share: of the maker's figure."
        ),
        columns=(
            Column(header="precision", rank=Rank.SETTING),
            Column(header="µs a layer", is_number=True, rank=Rank.RATE),
            Column(header="ms a step", is_number=True, rank=Rank.RATE),
            Column(header="rate", is_number=True, rank=Rank.RATE),
            Column(header="share", is_number=True, rank=Rank.OTHER),
        ),
        rows=tuple(rows),
    )


def _share(rate: float, peak: float | None) -> str:
    return UNKNOWN if peak is None else f"{100 * rate / peak:.0f}%"


_MS = 1e3
_DIGITS = 3  # of counts
_WIDTH = 30  # characters of a bar of the whole
_MEANING = {
    "compute": "arithmetic",
    "memory": "traffic of feature maps, weights and optimizer",
    "sequence": "time steps of recurrent layers, one after the other",
    "launch": "launches of the layers' kernels",
    "host": "work of the host for every step",
    "exchange": "exchange of gradients between replicas",
    "gather": "weights gathered from the shards of all replicas",
    "loader": "batches from your loader, measured alone",
}


def breakdown_table(prediction: Prediction, parts: StepBreakdown, *, has_bars: bool) -> Table:
    """One row a part that takes time, in ms and as a share of their sum."""
    whole = sum(seconds for _, seconds in _items(parts))
    headers = ("part", "ms", "share", *(("",) if has_bars else ()), "meaning")
    return Table(
        title=_title(prediction),
        note="Predicted from counts, not measured; parts as if each were alone.",
        columns=tuple(Column(header=header, is_number=header in ("ms", "share")) for header in headers),
        rows=tuple(
            (
                name,
                number(_MS * seconds, digits=_DIGITS),
                share(seconds / whole),
                *(("#" * round(_WIDTH * seconds / whole),) if has_bars else ()),
                _MEANING[name],
            )
            for name, seconds in _items(parts)
            if seconds > 0
        ),
    )


def breakdown_sentence(prediction: Prediction) -> str:
    """Describe the predicted step, its largest part and its lower bound, a fact a sentence."""
    parts, step = prediction.breakdown, prediction.step
    if parts is None:
        return f"{_title(prediction)}: the parts are unknown, because a peak or the operations are unknown."
    largest, seconds = max(_items(parts), key=lambda item: item[1])
    bound = prediction.roofline.bound_seconds if prediction.roofline else None
    return " ".join(
        (
            f"A step takes about {_milliseconds(step.likely)}, predicted from measured steps."
            if isinstance(step, Estimate)
            else "No time is predicted.",
            f"Largest part: {largest}, {_milliseconds(seconds)}.",
            *(
                []
                if bound is None
                else [f"At least {_milliseconds(bound)} by the device's peaks (roofline)."]
            ),
            *_utilisation(prediction),
        )
    )


def _utilisation(prediction: Prediction) -> list[str]:
    """Return shares of the peak: of the model's operations, and with those that are computed again."""
    roofline, step = prediction.roofline, prediction.step
    if roofline is None or not roofline.recomputed_seconds or isinstance(step, Refusal):
        return []
    assert roofline.compute_seconds is not None, "its peak is known"
    model, everything = roofline.compute_seconds - roofline.recomputed_seconds, roofline.compute_seconds
    return [
        f"The model's operations take {share(model / step.likely)} of the peak (MFU), "
        f"{share(everything / step.likely)} with what is computed again (HFU)."
    ]


def _milliseconds(seconds: float) -> str:
    return f"{number(_MS * seconds, digits=_DIGITS)} ms"


def _title(prediction: Prediction) -> str:
    point = prediction.point
    return (
        f"{describe_job(point)} on {point.num_workers} x {prediction.device_label} in {point.precision}, "
        f"batch {format_batch(point)}"
    )


def _items(parts: StepBreakdown) -> tuple[tuple[str, float], ...]:
    return tuple((part.name, getattr(parts, part.name)) for part in fields(parts))
