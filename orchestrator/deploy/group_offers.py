"""A group of pods of a RayCluster -> which device its nodes have and how many, or why not. Pure."""

from collections.abc import Mapping
from typing import Any

from orchestrator.core.device import Device
from orchestrator.core.pool import Catalogue
from orchestrator.deploy.finding import listed, mapping, sequence
from orchestrator.deploy.manifests import GPU_KEY, MACHINE_KEY, TPU_KEY, tpu_type_of
from orchestrator.deploy.nodes import machine_of
from orchestrator.deploy.offers import Offer, Refused, offers_in

Group = Mapping[str, Any]


def pod_of(group: Group) -> dict[str, Any]:
    """The pod's specification."""
    return mapping(mapping(group.get("template")).get("spec"))


def selector_in(group: Group) -> dict[str, Any]:
    """Which Kubernetes nodes its pods go to."""
    return mapping(pod_of(group).get("nodeSelector"))


def limits_in(group: Group) -> dict[str, Any]:
    """What the pod's first container may use."""
    containers = sequence(pod_of(group).get("containers"))
    return mapping(mapping(mapping(containers[0] if containers else {}).get("resources")).get("limits"))


def offer_of_group(group: Group, catalogue: Catalogue) -> Offer | Refused:
    """Understand the nodes that a group asks for. The key of a refusal is below the pod's specification."""
    return _tpu(group, catalogue) if TPU_KEY in selector_in(group) else _machine(group, catalogue)


def _tpu(group: Group, catalogue: Catalogue) -> Offer | Refused:
    name, chips = str(selector_in(group)[TPU_KEY]), str(limits_in(group).get("google.com/tpu"))
    alike = [each for each in offers_in(catalogue) if name in _tpu_types(each.device)]
    if not alike:
        known = {each for offer in offers_in(catalogue) for each in _tpu_types(offer.device)}
        return Refused(
            key=f"nodeSelector.{TPU_KEY}", message=f"unknown type {name!r}; known: {listed(known)}"
        )
    for each in alike:
        if str(each.device.chips) == chips:
            return each
    known = {str(each.device.chips) for each in alike}
    return Refused(
        key="containers.0.resources.limits.google.com/tpu",
        message=f"is {chips}, and a host of {name} has one of: {listed(known)}",
    )


def _machine(group: Group, catalogue: Catalogue) -> Offer | Refused:
    selector = selector_in(group)
    wanted = (selector.get(MACHINE_KEY), selector.get(GPU_KEY), limits_in(group).get("nvidia.com/gpu"))
    asked = tuple(None if each is None else str(each) for each in wanted)
    machines = {_asked_for(each): each for each in offers_in(catalogue) if each.device.kind != "tpu"}
    if asked in machines:
        return machines[asked]
    return Refused(
        key=f"nodeSelector.{MACHINE_KEY}",
        message=f"{_in_words(asked)} is not known; known: {listed(map(_in_words, machines))}",
    )


def _asked_for(offer: Offer) -> tuple[str | None, ...]:
    """Machine type, type of GPU and how many of it, as a group asks for them."""
    count = str(offer.count) if offer.device.kind == "gpu" else None
    return machine_of(offer.instance)[0], offer.device.cloud_type, count


def _in_words(asked: tuple[str | None, ...]) -> str:
    machine, gpu, count = asked
    return f"{machine} with {count} x {gpu}" if gpu or count else str(machine)


def _tpu_types(device: Device) -> set[str]:
    if device.kind != "tpu" or device.cloud_type is None:
        return set()
    return {tpu_type_of(device, hosts=1), tpu_type_of(device, hosts=2)}
