"""Crossed random effects of published steps, and what they tell of another step. Pure.

    log(measured / parts) = device share x (sum of effects of the device's work)
                            + host share x (sum of effects of the host's work) + residual

Effects are independent and normal, and two steps have an effect in common where their labels are equal. All
is normal, so the posterior is a closed form: one Cholesky factor of the published steps.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.device import DeviceKind

Floats = NDArray[np.float64]
Family = Literal["classifier", "transformer"]
"""Kind of network of which steps were published: a convolutional classifier of images, or a transformer."""

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
    "laboratory": ("laboratory",),
    "software": ("laboratory", "software"),
    "software at a precision": ("laboratory", "software", "precision"),
    "machine": ("laboratory", "software", "device"),
    "software of a network": ("laboratory", "software", "network"),
}
"""Effect on the work of the device -> the labels by which steps have it in common."""

HOST_EFFECTS: Mapping[str, tuple[str, ...]] = {
    "host": ("laboratory", "software", "device"),
    "host of a network": ("network",),
}
"""The same for the work of the host."""

SLOPES = ("balance", "balance of a network")
"""Effects that are in proportion to the balance of the device."""

OF_THE_NETWORK = ("family", "network", "size")
"""Labels of which an effect is not common to all networks on one machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLabels:
    """Labels of a step: what its time may have in common with that of others.

    Attributes:
        laboratory: who measured it; empty for a step that nobody measured.
        software: framework and machine, as that laboratory names them.
        precision: class of it: `fp32`, `tf32` or `half`.
        network: name of the workload, and number of its layers in quarters of doublings.
        size: doublings of the operations of one sample.
        balance: logarithm of the device's operations per byte over those of a V100 in fp32.
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
        device_common, host_common: the parts of the variances that all networks on the machine share.
    """

    device: float
    host: float
    device_variance: float
    host_variance: float
    covariance: float
    device_common: float
    host_common: float


_CODED = tuple(field.name for field in fields(StepLabels) if field.name != "balance")


class CrossedEffects:
    """Published steps and the deviations of effects, ready to be asked.

    Args:
        deviations: name of an effect, or `residual` -> its standard deviation.
    """

    def __init__(self, steps: Sequence[PublishedStep], deviations: Mapping[str, float]) -> None:
        self.steps = tuple(steps)
        self.deviations = deviations
        self._codes = {
            name: {value: code for code, value in enumerate(dict.fromkeys(self._values(name)))}
            for name in _CODED
        }
        self._coded = {
            name: np.array([self._codes[name][value] for value in self._values(name)], dtype=np.int64)
            for name in _CODED
        }
        self._device_effects: dict[StepLabels, float] = {}
        self._balance = np.array([step.labels.balance for step in self.steps])
        self._shares = {
            "device": np.array([step.device_share for step in self.steps]),
            "host": np.array([step.host_share for step in self.steps]),
        }

    def posterior(self, labels: StepLabels) -> EffectsPosterior:
        """Return the posterior of the effects of a step that somebody else measures."""
        inverse, solved = self._factor
        device, host = self._like(labels)
        common_device, common_host = self._like(labels, is_common=True)
        return EffectsPosterior(
            device=float(device @ solved),
            host=float(host @ solved),
            device_variance=self._prior(DEVICE_EFFECTS, labels) - float(device @ inverse @ device),
            host_variance=self._prior(HOST_EFFECTS, labels) - float(host @ inverse @ host),
            covariance=-float(device @ inverse @ host),
            device_common=self._prior(DEVICE_EFFECTS, labels, is_common=True)
            - float(common_device @ inverse @ common_device),
            host_common=self._prior(HOST_EFFECTS, labels, is_common=True)
            - float(common_host @ inverse @ common_host),
        )

    def device_effect(self, labels: StepLabels) -> float:
        """Return the mean of the effects on the device's work, as `posterior` does."""
        if labels not in self._device_effects:
            self._device_effects[labels] = float(self._like(labels)[0] @ self._factor[1])
        return self._device_effects[labels]

    @property
    def residual(self) -> float:
        """Standard deviation of what no effect explains."""
        return self.deviations["residual"]

    def _values(self, name: str) -> list[object]:
        return [getattr(step.labels, name) for step in self.steps]

    def covariance(self) -> Floats:
        """Return the covariance of the published steps without their residuals."""
        rows = []
        for step in self.steps:
            device, host = self._like(step.labels)
            rows.append(step.device_share * device + step.host_share * host)
        return np.array(rows)

    @cached_property
    def _factor(self) -> tuple[Floats, Floats]:
        """Return the inverse of the steps' covariance, and its product with their logarithms."""
        if not self.steps:
            return np.zeros((0, 0)), np.zeros(0)
        covariance = self.covariance()
        covariance += self.residual**2 * np.eye(len(self.steps))
        inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        return inverse, np.asarray(inverse @ np.array([step.log for step in self.steps]), dtype=np.float64)

    def _like(self, labels: StepLabels, *, is_common: bool = False) -> tuple[Floats, Floats]:
        """Return the covariances of the effects of such a step with those of the published ones, in device's
        and host's work.
        """
        equal = {
            name: self._coded[name] == self._codes[name].get(getattr(labels, name), -1) for name in _CODED
        }
        device, host = np.zeros(len(self.steps)), np.zeros(len(self.steps))
        everywhere = np.ones(len(self.steps), dtype=bool)
        for like, effects in ((device, DEVICE_EFFECTS), (host, HOST_EFFECTS)):
            for name, of in _chosen(effects, is_common=is_common).items():
                alike = np.logical_and.reduce([everywhere, *(equal[label] for label in of)])
                slope = self._balance * labels.balance if name in SLOPES else 1.0
                like += self.deviations[name] ** 2 * alike * slope
        return device * self._shares["device"], host * self._shares["host"]

    def _prior(
        self, effects: Mapping[str, tuple[str, ...]], labels: StepLabels, *, is_common: bool = False
    ) -> float:
        """Return the variance of a sum of effects before anything was published."""
        return math.fsum(
            self.deviations[name] ** 2 * (labels.balance**2 if name in SLOPES else 1.0)
            for name in _chosen(effects, is_common=is_common)
        )


def _chosen(effects: Mapping[str, tuple[str, ...]], *, is_common: bool) -> Mapping[str, tuple[str, ...]]:
    """Return all effects, or those that all networks on one machine have in common."""
    if not is_common:
        return effects
    return {name: of for name, of in effects.items() if not set(of) & set(OF_THE_NETWORK)}
