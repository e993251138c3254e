"""A step of an image classifier on a GPU from analytic counts alone: a sum of parts.

step = a flops / peak + b value bytes / bandwidth + c weight bytes / bandwidth + d 10 us x layers + e 1 ms
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.predict.step_time.roofline import StepCost

if TYPE_CHECKING:
    from orchestrator.predict.profile_transfer.pairs import Floats

COUNTS = ("flops", "value_bytes", "weight_bytes", "layers")
"""Fields of a demand that say how large a step is."""

_LAYER_SECONDS, _STEP_SECONDS = 1e-5, 1e-3
_BEYOND = 2.0  # how far beyond all that was measured a sum of parts is still believed


def beyond(demand: StepCost, *, least: Mapping[str, float], most: Mapping[str, float]) -> Refusal | None:
    """Explain why steps this small or large are unknown; None where measured steps resemble it."""
    for name in COUNTS:
        amount = getattr(demand, name)
        if not least[name] / _BEYOND <= amount <= most[name] * _BEYOND:
            return Refusal(
                reason=f"{name.replace('_', ' ')} {amount:.2g}, measured were {least[name]:.2g} "
                f"to {most[name]:.2g}",
                to_measure="this point",
            )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytic:
    """Fitted to one kind of GPU, or to several together.

    Attributes:
        coefficients: a to e.
        factor: factor of the interval to both sides.
        least, most: name of a count of `StepCost` -> smallest and largest fitted value.
        measurements: number of fitted workloads.
        source: on what they were measured.
    """

    coefficients: tuple[float, ...]
    factor: float
    least: dict[str, float]
    most: dict[str, float]
    measurements: int
    source: str

    def sum_of_parts(self, demand: StepCost, *, flops_per_second: float, bytes_per_second: float) -> float:
        """Return the seconds of such a step, however far it is from those that were fitted."""
        import numpy as np

        parts = parts_of(demand, flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
        return float(parts @ np.array(self.coefficients))


def around(likely: float, *, factor: float, source: str) -> Estimate:
    """Return an estimate whose interval is a factor to both sides."""
    return Estimate(low=likely / factor, likely=likely, high=likely * factor, source=source)


def parts_of(demand: StepCost, *, flops_per_second: float, bytes_per_second: float) -> "Floats":
    """[part] seconds before the coefficients."""
    import numpy as np

    return np.array(
        (
            demand.flops / flops_per_second,
            demand.value_bytes / bytes_per_second,
            demand.weight_bytes / bytes_per_second,
            demand.layers * _LAYER_SECONDS,
            _STEP_SECONDS,
        )
    )
