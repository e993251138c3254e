"""Why a step cannot be predicted from measured ones: the request, the reason, the remedy. Pure."""

from collections.abc import Sequence

from orchestrator.core.estimate import Refusal
from orchestrator.core.printable import PROGRAM
from orchestrator.extensions.predictions.step_time.analytic import COUNTS, beyond
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels
from orchestrator.extensions.predictions.step_time.step_query import LEAST_NVLINK, StepQuery
from orchestrator.train.precision import PRECISIONS
from workloads.cost import find_cost

_MOST_WORKERS = {"gpu": 128}  # in the published trainings; 8 of others
_MOST_TOKENS = 8192  # of a sample, likewise
_CALIBRATE = f"`{PROGRAM} predict calibrate device=cpu`"


def find_refusal(query: StepQuery, models: DefaultModels, own: Sequence[StepQuery] = ()) -> Refusal | None:
    """Return the first reason against an estimate; None where there is none.

    Args:
        own: steps that the user measured.
    """
    if find_cost(query.spec) is None:
        return Refusal(
            reason="the operations of a script are not counted, "
            "those of a job are: docs/tutorials/own_job.md",
            to_measure="this point",
        )
    return (
        find_obstacle(query)
        or _without_published_steps(query, own)
        or _too_many_workers(query, own)
        or _over_unknown_network(query, own)
        or _unlike_published_language(query, own)
        or sizes_refusal(query, models)
    )


def find_obstacle(query: StepQuery) -> Refusal | None:
    """Explain why no smaller step can be predicted there either; None: one may be."""
    return _without_trainer(query) or _without_peaks(query)


def sizes_refusal(query: StepQuery, models: DefaultModels) -> Refusal | None:
    """Explain why a step is smaller or larger than what was published of its family; None if it is not.

    Small steps of adapters resemble those of small transformers; adapters beside larger weights are unknown.
    """
    families = [models.sizes[query.family]] if query.family else [*models.sizes.values()]
    alike = [models.sizes["transformer"], *families] if query.is_transformer else families
    least = {name: min(sizes.least[name] for sizes in alike) for name in COUNTS}
    most = {name: max(sizes.most[name] for sizes in families) for name in COUNTS}
    return beyond(query.demand_of_each, least=least, most=most)


def _without_trainer(query: StepQuery) -> Refusal | None:
    if query.device.no_trainer is None:
        return None
    return Refusal(reason=query.device.no_trainer, to_measure="it on a GPU or TPU")


def _without_published_steps(query: StepQuery, own: Sequence[StepQuery]) -> Refusal | None:
    """Explain that no published step is of an AMD GPU, or is such a step in float8."""
    device = query.device
    if query.is_unpublished_float8:
        reason = f"published steps in {query.precision} are compiled, and train all weights of transformers"
        return Refusal(reason=f"{reason}; bf16 is predicted", to_measure="this point")
    if device.is_predictable or any(one.device.name == device.name for one in own):
        return None
    return Refusal(
        reason=f"no published step is of an AMD GPU, as {device.name} is one", to_measure="this point"
    )


def _without_peaks(query: StepQuery) -> Refusal | None:
    """Explain which figure of the device is missing, and in which precisions it has all of them."""
    device, peaks, precision = query.device, query.peaks, query.precision
    if precision in peaks.flops_per_second and peaks.memory_bytes_per_second is not None:
        if query.replicas == 1 or peaks.link_bytes_per_second is not None:
            return None
        return Refusal(
            reason=f"the bandwidth between several {device.name} is unknown", to_measure="this point"
        )
    if device.kind == "cpu":
        return Refusal(
            reason=f"no CPU of this kind was measured; {_CALIBRATE} on it takes two minutes",
            to_measure="this point",
        )
    known = [name for name in PRECISIONS if name in peaks.flops_per_second]
    if known and peaks.memory_bytes_per_second is not None:
        return Refusal(reason=_no_peak(query, known), to_measure=_instead(query, known))
    missing = "memory_bytes_per_second" if known else "peaks"
    return Refusal(reason=f"the {missing} of {device.name} are unknown", to_measure="this point")


def _no_peak(query: StepQuery, known: list[str]) -> str:
    device, precision = query.device, query.precision
    if precision in device.native_precisions:
        return f"the {precision} peak of {device.name} is unknown, those in {_listed(known)} are known"
    return f"{device.name} has no {precision} arithmetic; it has {_listed(known)}"


def _instead(query: StepQuery, known: list[str]) -> str:
    if query.precision in query.device.native_precisions:
        return "this point"
    return f"it in {' or '.join(known)}"


def _too_many_workers(query: StepQuery, own: Sequence[StepQuery]) -> Refusal | None:
    """Explain that transformers were measured on so many at most; None where own steps were on as many."""
    most = _MOST_WORKERS.get(query.device.kind, 8)
    if not query.is_transformer or query.num_workers <= most:
        return None
    if any((one.device.name, one.num_workers) == (query.device.name, query.num_workers) for one in own):
        return None
    return Refusal(
        reason=f"rates are of at most {most} workers, not {query.num_workers}",
        to_measure=f"a transformer there in {query.precision} with {query.num_workers} workers",
    )


def _over_unknown_network(query: StepQuery, own: Sequence[StepQuery]) -> Refusal | None:
    """Explain that the network between hosts is unknown, or that none was published behind PCIe."""
    is_known = any((one.device.name, one.hosts) == (query.device.name, query.hosts) for one in own)
    is_alike = query.is_transformer and query.device.kind == "gpu"
    if is_known or query.hosts == 1 or not (is_alike or query.shards not in (1, query.replicas)):
        return None
    if query.crosses_pcie:
        reason = "no published step has several hosts without NVLink"
    elif not query.is_over_network:
        reason = "the network between hosts is unknown; cluster.network_gbps has the Gb/s of one host"
    else:
        return None
    return Refusal(reason=reason, to_measure="this point")


def _unlike_published_language(query: StepQuery, own: Sequence[StepQuery]) -> Refusal | None:
    """Explain that no published step of a transformer has such long samples, or such a link."""
    if not query.is_transformer or any(one.device.name == query.device.name for one in own):
        return None
    tokens = query.spec.tokens_per_sample or 0
    if query.has_unpublished_link:
        reason = (
            f"published shards are linked by NVLink from {LEAST_NVLINK:.0e} bytes a second on, or by PCIe"
        )
        return Refusal(reason=reason, to_measure="this point")
    if tokens <= _MOST_TOKENS:
        return None
    reason = f"samples have at most {_MOST_TOKENS:,} tokens in published steps, not {tokens:,.0f}"
    return Refusal(reason=reason, to_measure="this point")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
