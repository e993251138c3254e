"""Machine types of Google Cloud -> their device and count, or the reason why they are not sold. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.core.device import Device, count_chips, find_topologies, parse_generation
from orchestrator.core.pool import Catalogue
from orchestrator.core.price import Provisioning
from orchestrator.extensions.cluster_files.checks.finding import JsonObject, listed, mapping, sequence
from orchestrator.extensions.cluster_files.files.kuberay import GPU_KEY, MACHINE_KEY, TPU_KEY, find_tpu_type
from orchestrator.extensions.cluster_files.files.node_requests import parse_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Number of devices in an instance."""

    device: Device
    count: int
    instance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The key that is wrong, and why."""

    key: str
    message: str


def find_offer(node: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    """Understand a `node_config`."""
    if "machineType" in node:
        return _machine(node, catalogue)
    if "acceleratorConfig" in node:
        return _shape(mapping(node["acceleratorConfig"]), node, catalogue)
    if "acceleratorType" in node:
        return _slice(str(node["acceleratorType"]), node, catalogue)
    return Refused(key="machineType", message="is missing; give it, or the acceleratorType of a TPU")


def offers_in(catalogue: Catalogue) -> Iterator[Offer]:
    """Every device, in every number in which it is sold on a host with known vCPUs."""
    for device in catalogue.devices.values():
        for count in device.instances.keys() & device.cpus.keys():
            yield Offer(device=device, count=count, instance=device.instances[count])


def not_sold(instance: str, *, region: str, provisioning: Provisioning, catalogue: Catalogue) -> str | None:
    """Explain why the instance has no price there; None if it has one."""
    row = catalogue.prices.rows.get(region, {}).get(instance)
    if row is None:
        others = listed(device for device, rows in catalogue.prices.rows.items() if instance in rows)
        return f"{instance} is not in the price list of {region}; it is in: {others}"
    if row.usd_per_hour(provisioning) is None:
        return f"{instance} is not sold {provisioning} in {region}"
    return None


def _machine(node: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    machine_type = str(node["machineType"]).rpartition("/")[2]
    machines = [offer for offer in offers_in(catalogue) if offer.device.kind != "tpu"]
    offers = [machine for machine in machines if parse_machine(machine.instance)[0] == machine_type]
    if not offers:
        names = listed({parse_machine(machine.instance)[0] for machine in machines})
        return Refused(key="machineType", message=f"unknown machine type {machine_type!r}; known: {names}")
    attached = sequence(node.get("guestAccelerators"))
    if len(attached) > 1:
        return Refused(key="guestAccelerators", message="has several kinds; a machine has one")
    return _with(mapping(attached[0]) if attached else {}, offers, machine=machine_type)


def _with(accelerator: JsonObject, offers: list[Offer], *, machine: str) -> Offer | Refused:
    """The offer of a machine with those accelerators attached, or with none."""
    kind = str(accelerator.get("acceleratorType", "")).rpartition("/")[2]
    count = accelerator.get("acceleratorCount", 0)
    matching = [
        offer
        for offer in offers
        if parse_machine(offer.instance)[1] == count and (not kind or offer.device.cloud_type == kind)
    ]
    if matching:
        return matching[0]
    offered = listed(_describe_offer(offer) for offer in offers)
    accelerators = f"{count} x {kind}" if kind else "no accelerator"
    return Refused(
        key="guestAccelerators", message=f"{machine} is not sold with {accelerators}; possible: {offered}"
    )


def _describe_offer(offer: Offer) -> str:
    attached = parse_machine(offer.instance)[1]
    return f"{attached} x {offer.device.cloud_type}" if attached else "none, for what it has is built in"


def _slice(slice_type: str, node: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    for offer in offers_in(catalogue):
        if offer.device.slice_type == slice_type:
            if node.get("runtimeVersion") != offer.device.runtime:
                return Refused(key="runtimeVersion", message=f"{slice_type} needs {offer.device.runtime!r}")
            return offer
    return Refused(key="acceleratorType", message=_not_one_host(slice_type, catalogue))


def _not_one_host(slice_type: str, catalogue: Catalogue) -> str:
    slice_types = [offer.device.slice_type or "" for offer in offers_in(catalogue) if offer.device.slice_type]
    generation = parse_generation(slice_type)
    alike = [machine for machine in slice_types if parse_generation(machine) == generation]
    if alike and slice_type.rpartition("-")[2].isdecimal():
        return f"{slice_type} has several hosts, which pools=gke can have; here: {listed(alike)}"
    return f"unknown type of slice {slice_type!r}; known: {listed(slice_types)}"


def _shape(shape: JsonObject, node: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    """A slice by generation and topology, as Cloud TPU also understands it."""
    generation = str(shape.get("type")).lower().replace("v5lite_pod", "v5litepod")
    topology = str(shape.get("topology"))
    topologies = find_topologies(generation)
    if topology not in topologies:
        possible = ", ".join(topologies[:10]) or f"none of generation {generation!r}"
        return Refused(
            key="acceleratorConfig.topology",
            message=f"topology {topology!r} does not exist; possible: {possible}",
        )
    cores = 1 if generation in ("v5litepod", "v6e") else 2
    return _slice(f"{generation}-{count_chips(topology) * cores}", node, catalogue)


def find_pod(group: JsonObject) -> dict[str, Any]:
    """The pod's specification."""
    return mapping(mapping(group.get("template")).get("spec"))


def selector_in(group: JsonObject) -> dict[str, Any]:
    """Return the node selector of the group's pods."""
    return mapping(find_pod(group).get("nodeSelector"))


def limits_in(group: JsonObject) -> dict[str, Any]:
    """Return the resource limits of the pod's first container."""
    containers = sequence(find_pod(group).get("containers"))
    return mapping(mapping(mapping(containers[0] if containers else {}).get("resources")).get("limits"))


def offer_of_group(group: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    """Understand the nodes that a group asks for. The key of a refusal is below the pod's specification."""
    return _tpu(group, catalogue) if TPU_KEY in selector_in(group) else _machine_of_group(group, catalogue)


def _tpu(group: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    name, chips = str(selector_in(group)[TPU_KEY]), str(limits_in(group).get("google.com/tpu"))
    alike = [offer for offer in offers_in(catalogue) if name in _tpu_types(offer.device)]
    if not alike:
        chip_counts = {type_name for offer in offers_in(catalogue) for type_name in _tpu_types(offer.device)}
        return Refused(
            key=f"nodeSelector.{TPU_KEY}", message=f"unknown type {name!r}; known: {listed(chip_counts)}"
        )
    for offer in alike:
        if str(offer.device.chips) == chips:
            return offer
    chip_counts = {str(offer.device.chips) for offer in alike}
    return Refused(
        key="containers.0.resources.limits.google.com/tpu",
        message=f"is {chips}, and a host of {name} has one of: {listed(chip_counts)}",
    )


def _machine_of_group(group: JsonObject, catalogue: Catalogue) -> Offer | Refused:
    selector = selector_in(group)
    wanted = (selector.get(MACHINE_KEY), selector.get(GPU_KEY), limits_in(group).get("nvidia.com/gpu"))
    requested = tuple(None if item is None else str(item) for item in wanted)
    machines = {_requested_by(offer): offer for offer in offers_in(catalogue) if offer.device.kind != "tpu"}
    if requested in machines:
        return machines[requested]
    return Refused(
        key=f"nodeSelector.{MACHINE_KEY}",
        message=f"{_describe_group(requested)} is not known; known: {listed(map(_describe_group, machines))}",
    )


def _requested_by(offer: Offer) -> tuple[str | None, ...]:
    """Machine type, type of GPU and how many of it, as a group asks for them."""
    count = str(offer.count) if offer.device.kind == "gpu" else None
    return parse_machine(offer.instance)[0], offer.device.cloud_type, count


def _describe_group(requested: tuple[str | None, ...]) -> str:
    machine, gpu, count = requested
    return f"{machine} with {count} x {gpu}" if gpu or count else str(machine)


def _tpu_types(device: Device) -> set[str]:
    if device.kind != "tpu" or device.cloud_type is None:
        return set()
    return {find_tpu_type(device, hosts=1), find_tpu_type(device, hosts=2)}
