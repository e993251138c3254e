"""One node type of a launcher's file against what can be rented. Pure."""

from collections.abc import Mapping
from typing import Any

from orchestrator.core.pool import Catalogue
from orchestrator.core.price import Provisioning
from orchestrator.deploy.finding import Finding, Findings, expected, mapping, sequence
from orchestrator.deploy.nodes import POOL_LABEL, labels_of, resources_of
from orchestrator.deploy.offers import Offer, Refused, not_sold, offer_of

Config = Mapping[str, Any]


def check_node(name: str, node_type: Config, config: Config, catalogue: Catalogue) -> Findings:
    """Findings of one node type."""
    key = f"available_node_types.{name}"
    node = node_type.get("node_config")
    if not isinstance(node, dict):
        yield Finding(key=f"{key}.node_config", message=f"must be a mapping of keys to values, not {node!r}")
        return
    provider = mapping(config["provider"])
    is_head = name == config.get("head_node_type")
    offer = offer_of(node, catalogue)
    if isinstance(offer, Refused):
        yield Finding(key=f"{key}.node_config.{offer.key}", message=offer.message)
    else:
        yield from expected(
            f"{key}.labels",
            mapping(node_type.get("labels")),
            {
                **labels_of(
                    offer.device,
                    provisioning=provisioning_of(node),
                    zone=str(provider.get("availability_zone")),
                ),
                **({} if is_head else {POOL_LABEL: name}),
            },
        )
        if not is_head:
            region, asked = str(provider.get("region")), provisioning_of(node)
            if why := not_sold(offer.instance, region=region, provisioning=asked, catalogue=catalogue):
                yield Finding(key=f"{key}.node_config", message=why)
            resources = resources_of(offer.device, offer.count)
            yield from expected(f"{key}.resources", mapping(node_type.get("resources")), resources)
            yield from _ending(key, offer, node)
    if not is_head and not sequence(node.get("serviceAccounts")):
        yield Finding(
            key=f"{key}.node_config.serviceAccounts",
            message="is missing; the node would act as the project's default account, with its many rights",
        )


def provisioning_of(node: Config) -> Provisioning:
    """What a node's configuration asks for."""
    scheduling, tpu = mapping(node.get("scheduling")), mapping(node.get("schedulingConfig"))
    asks = scheduling.get("provisioningModel") == "SPOT" or scheduling.get("preemptible")
    return "spot" if asks or tpu.get("preemptible") or tpu.get("spot") else "on_demand"


def _ending(key: str, offer: Offer, node: Config) -> Findings:
    """How a node ends: what would go on being billed, and what Google would refuse."""
    scheduling = mapping(node.get("scheduling"))
    if offer.device.kind == "gpu" and scheduling.get("onHostMaintenance") != "TERMINATE":
        yield Finding(
            key=f"{key}.node_config.scheduling.onHostMaintenance",
            message="must be TERMINATE: a machine with a GPU cannot be moved, and is refused without",
        )
    if (
        scheduling.get("provisioningModel") == "SPOT"
        and scheduling.get("instanceTerminationAction") != "DELETE"
    ):
        yield Finding(
            key=f"{key}.node_config.scheduling.instanceTerminationAction",
            message="must be DELETE: a machine that is only stopped keeps its disk, which is billed",
        )
    for number, disk in enumerate(sequence(node.get("disks"))):
        if mapping(disk).get("autoDelete") is not True:
            yield Finding(
                key=f"{key}.node_config.disks.{number}.autoDelete",
                message="must be true: a disk that outlives its machine is billed",
            )
