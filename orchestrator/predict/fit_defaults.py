"""Published measurements -> the fitted models that travel with the repository."""

from collections import Counter
from collections.abc import Sequence

from orchestrator.core.errors import ConfigError
from orchestrator.predict.analytic import Analytic, Measured
from orchestrator.predict.defaults import DefaultModels
from orchestrator.predict.fit_analytic import fit_analytic
from orchestrator.predict.fit_kinship import errors_by_device, fit_kinship
from orchestrator.predict.fit_prior import fit_prior
from orchestrator.predict.latency import LatencyTable
from orchestrator.predict.zoo import PUBLISHED_DEVICES, measured_zoo, repeat_deviation

_NOTICE = (
    "Fitted to measurements published with PROFET (Lee, Hur, Park and Lee 2022), ddps-lab/profet @e69477f, "
    "MIT License, Copyright (c) 2021 anonymous-profet"
)
_MADE_BY = "python -m orchestrator predict fit data=$ORCHESTRATOR_DATA/profet"
_FEWEST = 2  # to hold one out


def fit_default_models(table: LatencyTable) -> DefaultModels:
    """Of a table with the published networks on the published devices.

    Raises:
        ConfigError: too few of them.
    """
    measured = list(measured_zoo(table))
    instances = sorted({each.device for each in measured})
    networks = Counter(device for device, _ in {(each.device, each.model) for each in measured})
    if min(len(networks), *networks.values()) < _FEWEST:
        raise ConfigError(f"{table.source}: two devices are needed at least, and two networks on each")
    gpus = ", ".join(PUBLISHED_DEVICES[each].gpu for each in instances)
    named = {name: each for each in instances if (name := PUBLISHED_DEVICES[each].name) is not None}
    return DefaultModels(
        notice=_NOTICE,
        made_by=_MADE_BY,
        precision="fp32",
        prior=fit_prior(measured, repeat=repeat_deviation(table)),
        kinship=fit_kinship(errors_by_device(measured)),
        devices={name: _fit_one(measured, instance) for name, instance in named.items()},
        any_gpu=fit_analytic(measured, for_new_devices=True, source=f"rough: fitted to other GPUs ({gpus})"),
    )


def _fit_one(measured: Sequence[Measured], instance: str) -> Analytic:
    own = [each for each in measured if each.device == instance]
    gpu = PUBLISHED_DEVICES[instance].gpu
    return fit_analytic(own, for_new_devices=False, source=f"fitted to {gpu}, {instance}")
