"""A device's micro-benchmark beside its maker's figures, as a plain table."""

from orchestrator.analysis.formatting import UNKNOWN, number
from orchestrator.analysis.table import Column, Rank, Table
from orchestrator.core.calibration import DeviceBenchmark
from orchestrator.core.device import Device

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
    memory, exchange = benchmark.memory_bytes_per_second, benchmark.exchange_bytes_per_second
    if memory is not None:
        peak = device.memory_bytes_per_second
        rows.append(("memory", "", "", f"{number(memory / _GIGA)} GB/s", _share(memory, peak)))
    if exchange is not None:
        peak = device.link_bytes_per_second
        rows.append(("exchange", "", "", f"{number(exchange / _GIGA)} GB/s", _share(exchange, peak)))
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
