"""Crossed random effects of published steps, and the posterior of another step. Pure.

    log(measured / parts) = device share x (sum of effects of the device's work)
                            + host share x (sum of effects of the host's work) + residual

Effects are independent and normal, and two steps have an effect in common where their labels are equal. All
is normal, so the posterior is a closed form: one inverse of the covariance of all steps. A user's own steps
are those of one more laboratory; a Schur complement adds them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.device import DeviceKind

Floats = NDArray[np.float64]
Family = Literal["classifier", "recurrent", "transformer", "adapters"]
"""Kind of network of which steps were published: a convolutional classifier of images, recurrent layers, a
transformer, or adapters beside the frozen weights of one."""

DEVICE_EFFECTS: Mapping[str, tuple[str, ...]] = {
    "balance": (),
    "balance of a network": ("network",),
    "kind": ("kind",),
    "precision": ("kind", "precision"),
    "family": ("family", "precision"),
    "device": ("device",),
    "device at a precision": ("device", "precision"),
    "network": ("network",),
    "network at a precision": ("network", "precision"),
    "network at a size": ("network", "size"),
    "network on a device": ("network", "device", "precision"),
    "unlike network": ("network",),
    "unlike network at a size": ("network", "size"),
    "laboratory": ("laboratory",),
    "software": ("laboratory", "software"),
    "software at a precision": ("laboratory", "software", "precision"),
    "machine": ("laboratory", "software", "device"),
    "software of a network": ("laboratory", "software", "network"),
    "recurrent": ("family", "kind"),
    "recurrent device": ("family", "device"),
    "recurrent software": ("family", "laboratory", "software"),
}
"""Effect on the work of the device -> the labels by which steps have it in common."""

HOST_EFFECTS: Mapping[str, tuple[str, ...]] = {
    "host": ("laboratory", "software", "device"),
    "host of a device": ("device",),
    "host of a network": ("network",),
    "host of an unlike network": ("network", "size"),
}
"""The same for the work of the host."""

SLOPES = ("balance", "balance of a network")
"""Effects that are in proportion to the balance of the device."""

ONLY_OF: Mapping[str, Family | None] = {
    "unlike network": None,
    "unlike network at a size": None,
    "host of an unlike network": None,
    "recurrent": "recurrent",
    "recurrent device": "recurrent",
    "recurrent software": "recurrent",
}
"""Effect -> the only family of networks that has it; None: those of which the family is unknown."""

OF_THE_NETWORK = ("family", "network", "size")
"""Labels of which an effect is not common to all networks."""

OF_MEASURED_WORK = ("device", "device at a precision", "machine")
OF_A_MEASURED_HOST = ("host", "host of a device")
"""Effects of which a calibration of the machine leaves a part, which steps over assumed parts do not have."""

LEFT = 0.5
"""Share of the deviation of these effects that is left: an assumption."""

_FREEDOM = 7
"""Degrees of freedom of the published deviations when own steps disagree: an assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLabels:
    """Labels of a step: what its time may have in common with that of others.

    Attributes:
        laboratory: who measured it; empty for a step that no one measured.
        software: framework and machine, as that laboratory names them.
        precision: class of it: `fp32`, `tf32` or `half`.
        network: name of the workload, and number of its layers in quarters of doublings.
        size: doublings of the operations of one sample.
        balance: logarithm of the device's operations per byte over those of a V100 in fp32.
        has_measured_work, has_measured_host: the parts are of rates, and of launches, that were measured on
            the machine.
    """

    laboratory: str
    software: str
    kind: DeviceKind
    device: str
    precision: str
    family: Family | None
    network: str
    size: int
    balance: float
    has_measured_work: bool = False
    has_measured_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStep:
    """Published step over its parts.

    Attributes:
        device_share, host_share: shares of the parts that are work of the device, and of the host.
        log: logarithm of the measured time over the parts.
    """

    labels: StepLabels
    device_share: float
    host_share: float
    log: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsPosterior:
    """Posterior of the effects of one step, before its residual.

    Attributes:
        device, host: means of the sums of effects.
        device_variance, host_variance, covariance: of these sums.
        device_common, host_common: the parts of the variances that all networks on that hardware share, and
            no other hardware has. A laboratory errs alike on all of its hardware.
    """

    device: float
    host: float
    device_variance: float
    host_variance: float
    covariance: float
    device_common: float
    host_common: float


_NOT_CODED = ("balance", "has_measured_work", "has_measured_host")
_CODED = tuple(field.name for field in fields(StepLabels) if field.name not in _NOT_CODED)


class CrossedEffects:
    """Measured steps and the deviations of effects, ready to be asked.

    Args:
        deviations: name of an effect, or `residual` -> its standard deviation.
        known: effects of the first of the steps; their inverse is extended.
    """

    def __init__(
        self,
        steps: Sequence[PublishedStep],
        deviations: Mapping[str, float],
        *,
        known: "CrossedEffects | None" = None,
    ) -> None:
        self.steps = tuple(steps)
        self.deviations = deviations
        self._known = known
        self._codes = {
            name: {value: code for code, value in enumerate(dict.fromkeys(self._values(name)))}
            for name in _CODED
        }
        self._coded = {
            name: np.array([self._codes[name][value] for value in self._values(name)], dtype=np.int64)
            for name in _CODED
        }
        self._means: dict[StepLabels, tuple[float, float]] = {}
        self._balance = np.array([step.labels.balance for step in self.steps])
        self._is_of = {
            family: np.array([step.labels.family == family for step in self.steps], dtype=bool)
            for family in set(ONLY_OF.values())
        }
        self._is_measured = {
            names: np.array([has(step.labels) for step in self.steps], dtype=bool)
            for names, has in _MEASURED_OF
        }
        self._shares = {
            "device": np.array([step.device_share for step in self.steps]),
            "host": np.array([step.host_share for step in self.steps]),
        }

    def given(self, own: Sequence[PublishedStep]) -> "CrossedEffects":
        """Return the effects after further steps."""
        return CrossedEffects((*self.steps, *own), self.deviations, known=self) if own else self

    def posterior(self, labels: StepLabels) -> EffectsPosterior:
        """Return the posterior of the effects of a step that someone else measures."""
        inverse, solved = self._factor
        [device], [host] = self._like([labels])
        [common_device], [common_host] = self._like([labels], is_common=True)
        disagreement = self._disagreement
        return EffectsPosterior(
            device=float(device @ solved),
            host=float(host @ solved),
            device_variance=disagreement
            * (self._prior(DEVICE_EFFECTS, labels) - float(device @ inverse @ device)),
            host_variance=disagreement * (self._prior(HOST_EFFECTS, labels) - float(host @ inverse @ host)),
            covariance=-disagreement * float(device @ inverse @ host),
            device_common=disagreement
            * (
                self._prior(DEVICE_EFFECTS, labels, is_common=True)
                - float(common_device @ inverse @ common_device)
            ),
            host_common=disagreement
            * (
                self._prior(HOST_EFFECTS, labels, is_common=True) - float(common_host @ inverse @ common_host)
            ),
        )

    def means(self, labels: StepLabels) -> tuple[float, float]:
        """Return the means of the effects on the work of device and host, as `posterior` does."""
        if labels not in self._means:
            solved = self._factor[1]
            [device], [host] = self._like([labels])
            self._means[labels] = float(device @ solved), float(host @ solved)
        return self._means[labels]

    @property
    def residual(self) -> float:
        """Standard deviation of what no effect explains."""
        return self.deviations["residual"]

    def _values(self, name: str) -> list[object]:
        return [getattr(step.labels, name) for step in self.steps]

    def covariance(self) -> Floats:
        """Return the covariance of the steps without their residuals."""
        return self._compute_covariance(self.steps)

    def _compute_covariance(self, steps: Sequence[PublishedStep]) -> Floats:
        """[step, any step] covariance without residuals."""
        device, host = self._like([step.labels for step in steps])
        device_share = _column([step.device_share for step in steps])
        return device_share * device + _column([step.host_share for step in steps]) * host

    @cached_property
    def _factor(self) -> tuple[Floats, Floats]:
        """Return the inverse of the steps' covariance, and its product with their logarithms."""
        if not self.steps:
            return np.zeros((0, 0)), np.zeros(0)
        inverse = self._inverse if self._known is None else self._extended_inverse(self._known)
        return inverse, np.asarray(inverse @ self._logs, dtype=np.float64)

    @property
    def _inverse(self) -> Floats:
        covariance = self.covariance()
        covariance += self.residual**2 * np.eye(len(self.steps))
        return np.asarray(np.linalg.inv(covariance), dtype=np.float64)

    def _extended_inverse(self, known: "CrossedEffects") -> Floats:
        """Extend the inverse of the known steps' covariance by the others: Schur's complement."""
        inverse, count = known._factor[0], len(known.steps)
        cross, rest = self._weights_of_own(known)
        corner = np.linalg.inv(rest)
        return np.asarray(
            np.block(
                [[inverse + cross @ corner @ cross.T, -cross @ corner], [-corner @ cross.T, corner]]
            ).reshape(count + len(rest), -1),
            dtype=np.float64,
        )

    def _weights_of_own(self, known: "CrossedEffects") -> tuple[Floats, Floats]:
        """Return [known step, own step] weights of the prediction of own steps by the known ones, and [own
        step, own step] the covariance of what is left.
        """
        count = len(known.steps)
        rows = self._compute_covariance(self.steps[count:])
        cross = known._factor[0] @ rows[:, :count].T
        rest = rows[:, count:] + self.residual**2 * np.eye(len(rows)) - rows[:, :count] @ cross
        return cross, rest

    @cached_property
    def _disagreement(self) -> float:
        """Factor on all variances, at least 1: own steps differ by more than one factor of the device and one
        of the host would let expect. Student's scale of these steps, with the freedom of the published ones.
        """
        if self._known is None:
            return 1.0
        count = len(self._known.steps)
        cross, rest = self._weights_of_own(self._known)
        left = self._logs[count:] - cross.T @ self._logs[:count]
        shares = np.array([[step.device_share, step.host_share] for step in self.steps[count:]])
        corner = np.linalg.inv(rest)
        of_shares = np.linalg.pinv(shares.T @ corner @ shares) @ (shares.T @ corner @ left)
        freedom = len(left) - np.linalg.matrix_rank(shares)
        apart = left - shares @ of_shares
        return max(1.0, float((_FREEDOM + apart @ corner @ apart) / (_FREEDOM + freedom)))

    @property
    def _logs(self) -> Floats:
        return np.array([step.log for step in self.steps])

    def _like(self, labels: Sequence[StepLabels], *, is_common: bool = False) -> tuple[Floats, Floats]:
        """Return the [label, step] covariances of the effects of such steps with those of the published ones,
        in device's and host's work.
        """
        equal = {
            name: _column([self._codes[name].get(getattr(label, name), -1) for label in labels])
            == self._coded[name]
            for name in _CODED
        }
        balance = _column([label.balance for label in labels])
        is_of = {family: _column([label.family == family for label in labels]) for family in self._is_of}
        is_measured = {
            names: _column([has(label) for label in labels]) == self._is_measured[names]
            for names, has in _MEASURED_OF
        }
        everywhere = np.ones((len(labels), len(self.steps)), dtype=bool)
        device, host = np.zeros(everywhere.shape), np.zeros(everywhere.shape)
        for like, effects in ((device, DEVICE_EFFECTS), (host, HOST_EFFECTS)):
            for name, of in _chosen(effects, is_common=is_common).items():
                alike = reduce(np.logical_and, (equal[label] for label in of), everywhere)
                slope = self._balance * balance if name in SLOPES else 1.0
                if name in ONLY_OF:
                    alike = alike & self._is_of[ONLY_OF[name]] & is_of[ONLY_OF[name]]
                for names, _ in _MEASURED_OF:
                    if name in names:
                        alike = alike & is_measured[names]
                like += _column([self._deviation(name, label) ** 2 for label in labels]) * alike * slope
        return device * self._shares["device"], host * self._shares["host"]

    def _prior(
        self, effects: Mapping[str, tuple[str, ...]], labels: StepLabels, *, is_common: bool = False
    ) -> float:
        """Return the variance of a sum of effects before anything was published."""
        return math.fsum(
            self._deviation(name, labels) ** 2 * (labels.balance**2 if name in SLOPES else 1.0)
            for name in _chosen(effects, is_common=is_common)
            if ONLY_OF.get(name, labels.family) == labels.family
        )

    def _deviation(self, name: str, labels: StepLabels) -> float:
        """Return the deviation of an effect, of which a calibration left a part."""
        is_left = any(name in names and has(labels) for names, has in _MEASURED_OF)
        return self.deviations[name] * (LEFT if is_left else 1.0)


_MEASURED_OF: tuple[tuple[tuple[str, ...], Callable[[StepLabels], bool]], ...] = (
    (OF_MEASURED_WORK, lambda labels: labels.has_measured_work),
    (OF_A_MEASURED_HOST, lambda labels: labels.has_measured_host),
)


def _chosen(effects: Mapping[str, tuple[str, ...]], *, is_common: bool) -> Mapping[str, tuple[str, ...]]:
    """Return all effects, or those that all networks on one device have in common."""
    if not is_common:
        return effects
    return {name: of for name, of in effects.items() if "device" in of and not set(of) & set(OF_THE_NETWORK)}


def _column(values: Sequence[float]) -> NDArray[Any]:
    """Return [value, 1] values, against which [step] arrays make a row each."""
    return np.array(values)[:, np.newaxis]
