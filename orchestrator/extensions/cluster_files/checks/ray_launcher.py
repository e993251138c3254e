"""A configuration of Ray's cluster launcher -> what Ray itself would not find wrong with it. Pure."""

import re
from collections.abc import Callable
from typing import Any

from orchestrator.core.pool import PROJECT_RULE, Catalogue, parse_region
from orchestrator.core.price import Provisioning
from orchestrator.execute.on_ray.pool_nodes import POOL_LABEL, build_resources, find_labels
from orchestrator.extensions.cluster_files.checks.access import (
    check_access,
    check_account,
    check_images,
    check_words,
)
from orchestrator.extensions.cluster_files.checks.finding import (
    Finding,
    FindingLines,
    JsonObject,
    expected,
    listed,
    mapping,
    require_mappings,
    require_name,
    sequence,
    whole,
)
from orchestrator.extensions.cluster_files.checks.machine_types import Offer, Refused, find_offer, not_sold


def check_node(name: str, node_type: JsonObject, config: JsonObject, catalogue: Catalogue) -> FindingLines:
    """Findings of one node type."""
    key = f"available_node_types.{name}"
    node = node_type.get("node_config")
    if not isinstance(node, dict):
        yield Finding(key=f"{key}.node_config", message=f"must be a mapping of keys to values, not {node!r}")
        return
    provider = mapping(config["provider"])
    is_head = name == config.get("head_node_type")
    offer = find_offer(node, catalogue)
    if isinstance(offer, Refused):
        yield Finding(key=f"{key}.node_config.{offer.key}", message=offer.message)
    else:
        yield from expected(
            f"{key}.labels",
            mapping(node_type.get("labels")),
            {
                **find_labels(
                    offer.device,
                    provisioning=build_provisioning(node),
                    zone=str(provider.get("availability_zone")),
                ),
                **({} if is_head else {POOL_LABEL: name}),
            },
        )
        if not is_head:
            region, provisioning = str(provider.get("region")), build_provisioning(node)
            if why := not_sold(offer.instance, region=region, provisioning=provisioning, catalogue=catalogue):
                yield Finding(key=f"{key}.node_config", message=why)
            resources = build_resources(offer.device, offer.count)
            yield from expected(f"{key}.resources", mapping(node_type.get("resources")), resources)
            yield from _ending(key, offer, node)
    for number, account in enumerate(map(mapping, sequence(node.get("serviceAccounts")))):
        place = f"{key}.node_config.serviceAccounts.{number}.email"
        yield from check_account(place, account.get("email"), "gcp")
    if not is_head and not sequence(node.get("serviceAccounts")):
        yield Finding(
            key=f"{key}.node_config.serviceAccounts",
            message="is missing; the node would act as the project's default account, with its many rights",
        )


def build_provisioning(node: JsonObject) -> Provisioning:
    """Return the provisioning that a node's configuration requests."""
    scheduling, tpu = mapping(node.get("scheduling")), mapping(node.get("schedulingConfig"))
    asks = scheduling.get("provisioningModel") == "SPOT" or scheduling.get("preemptible")
    return "spot" if asks or tpu.get("preemptible") or tpu.get("spot") else "on_demand"


def _ending(key: str, offer: Offer, node: JsonObject) -> FindingLines:
    """Check how a node ends: parts that would go on being billed, and settings that Google would refuse."""
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


def check_launcher(config: dict[str, Any], catalogue: Catalogue) -> list[Finding]:
    """Everything wrong with a launcher's file; of one that has not its shape, only that."""
    shape = list(require_mappings(config, "provider", "available_node_types", "docker"))
    if shape:
        return shape
    findings = [finding for check in _CHECKS for finding in check(config, catalogue)]
    for name, node_type in mapping(config["available_node_types"]).items():
        findings += check_node(name, mapping(node_type), config, catalogue)
    return findings


def _names(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    yield from require_name("cluster_name", config.get("cluster_name"))
    for name in config["available_node_types"]:
        yield from require_name(f"available_node_types.{name}", name)


def _provider(config: JsonObject, catalogue: Catalogue) -> FindingLines:
    provider = config["provider"]
    region, zone = str(provider.get("region")), str(provider.get("availability_zone"))
    if provider.get("type") != "gcp":
        yield Finding(key="provider.type", message=f"{provider.get('type')!r} is not checked; possible: gcp")
    if not provider.get("project_id"):
        yield Finding(key="provider.project_id", message="is missing; give the id of a project")
    elif not PROJECT_RULE.fullmatch(str(provider["project_id"])):
        yield Finding(
            key="provider.project_id",
            message=f"{provider['project_id']!r} is not a project id: 6 to 30 of a-z, 0-9 and hyphens",
        )
    if region not in catalogue.prices.rows:
        providers = listed(catalogue.prices.rows)
        yield Finding(key="provider.region", message=f"{region!r} has no prices; known: {providers}")
    if parse_region(zone) != region:
        yield Finding(key="provider.availability_zone", message=f"{zone!r} is not in the region {region!r}")


def _one_zone(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    zone = config["provider"].get("availability_zone")
    for name, node_type in config["available_node_types"].items():
        named = re.findall(r"zones/([a-z0-9-]+)/", str(mapping(node_type).get("node_config")))
        for found in dict.fromkeys(named):
            if found != zone:
                yield Finding(
                    key=f"available_node_types.{name}.node_config",
                    message=f"{found} is not the cluster's zone {zone}; a launcher's cluster has one zone",
                )


def _head(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    name, types = str(config.get("head_node_type")), config["available_node_types"]
    if name not in types:
        yield Finding(key="head_node_type", message=f"{name!r} is not a node type; known: {listed(types)}")
        return
    node = mapping(mapping(types[name]).get("node_config"))
    if "machineType" not in node and ("acceleratorType" in node or "acceleratorConfig" in node):
        yield Finding(
            key=f"available_node_types.{name}.node_config",
            message="a TPU cannot be the head; give it a machineType, as n2-standard-8",
        )
    if mapping(node.get("scheduling")).get("provisioningModel") == "SPOT":
        yield Finding(
            key=f"available_node_types.{name}.node_config.scheduling",
            message="a preempted head ends the whole cluster; remove provisioningModel",
        )


def _sizes(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    types = config["available_node_types"]
    minimum = sum(whole(mapping(type_name).get("min_workers")) for type_name in types.values())
    most = config.get("max_workers")
    if not isinstance(most, int):
        yield Finding(
            key="max_workers", message=f"must be a whole number, not {most!r}: nothing else limits cost"
        )
    elif minimum > most:
        yield Finding(key="max_workers", message=f"{most} is less than the sum {minimum} of all min_workers")
    idle = config.get("idle_timeout_minutes")
    if not isinstance(idle, (int, float)) or idle <= 0:
        yield Finding(
            key="idle_timeout_minutes", message=f"must be above 0, not {idle!r}: idle nodes are billed"
        )
    for name, node_type in types.items():
        if name != config.get("head_node_type"):
            yield from _size(f"available_node_types.{name}", mapping(node_type))


def _size(key: str, node_type: JsonObject) -> FindingLines:
    least, most = node_type.get("min_workers", 0), node_type.get("max_workers")
    if not isinstance(least, int) or least < 0:
        yield Finding(key=f"{key}.min_workers", message=f"must be a whole number from 0 on, not {least!r}")
    if not isinstance(most, int) or most < 0:
        yield Finding(key=f"{key}.max_workers", message=f"must be a whole number from 0 on, not {most!r}")
    elif most < whole(least):
        yield Finding(key=f"{key}.max_workers", message=f"{most} is less than min_workers={least}")


def _duplicates(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    seen: dict[str, str] = {}
    for name, node_type in config["available_node_types"].items():
        settings = mapping(node_type)
        labels = {**mapping(settings.get("labels")), POOL_LABEL: None}  # which differs, as names do
        what = repr((settings.get("node_config"), settings.get("docker"), labels))
        if what in seen:
            yield Finding(
                key=f"available_node_types.{name}",
                message=f"is the same as {seen[what]}; raise max_workers there instead",
            )
        seen.setdefault(what, name)


def _autoscaler(config: JsonObject, _catalogue: Catalogue) -> FindingLines:
    commands = " ".join(map(str, sequence(config.get("head_start_ray_commands"))))
    if "--autoscaling-config" not in commands:
        yield Finding(
            key="head_start_ray_commands",
            message="has no --autoscaling-config=~/ray_bootstrap_config.yaml: no node would come or go",
        )
    if "RAY_enable_autoscaler_v2=1" not in commands:
        yield Finding(
            key="head_start_ray_commands",
            message="does not set RAY_enable_autoscaler_v2=1; the older autoscaler knows no labels",
        )


_CHECKS: tuple[Callable[[JsonObject, Catalogue], FindingLines], ...] = (
    _names,
    _provider,
    _one_zone,
    _head,
    _sizes,
    _duplicates,
    _autoscaler,
    check_access,
    check_images,
    check_words,
)
