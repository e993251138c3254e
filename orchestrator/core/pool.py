"""Pools: nodes of one kind that a cluster can have; and the cluster that has them."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from orchestrator.core.device import Device, count_hosts
from orchestrator.core.errors import ConfigError, UnknownNameError
from orchestrator.core.price import PriceList, Provisioning

Provider = Literal["local", "fake", "gcp", "gke"]
Environment = Literal["core", "tensorflow", "tensorflow_tpu", "torch", "torch_tpu", "xla", "any"]

NAME_RULE = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")
"""Names of clusters and pools. They become parts of machine and pod names of at most 63 characters."""
PROJECT_RULE = re.compile(r"[a-z][-a-z0-9]{4,28}[a-z0-9]")
"""Ids of Google Cloud projects."""
_REGISTRY_RULE = re.compile(r"[a-z0-9][-.a-z0-9]*(:[0-9]+)?(/[a-z0-9][-._a-z0-9]*)*")
_TAG_RULE = re.compile(r"[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}")
_SWEEP_RULE = re.compile(r"[A-Za-z0-9_][-./A-Za-z0-9_]*")
ACCOUNT_RULES: Mapping[Provider, tuple[re.Pattern[str], str]] = {
    "gcp": (
        re.compile(r"[a-z0-9][-a-z0-9]*@[a-z0-9][-.a-z0-9]*\.gserviceaccount\.com"),
        "NAME@PROJECT.iam.gserviceaccount.com",
    ),
    "gke": (re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?"), "orchestrator-node"),
}
"""Service accounts by provider: e-mails of Google Cloud, names of Kubernetes; with an example of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Catalogue of rentable hardware: devices by name, and prices of their instances."""

    devices: Mapping[str, Device]
    prices: PriceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes of one kind.

    Attributes:
        count: accelerators of a node; which machine it is follows from it.
        min_nodes, max_nodes: minimum and maximum number of nodes; of slices if these have several hosts.
        zone: zone of its nodes, `us-central1-a`.
        environment: trainers' environment in its image; `any` has all, but no image of that name exists.
        topology: topology of a slice of several hosts, `4x4`; None: a slice is one node.

    Raises:
        ConfigError: a name, number or shape that cannot be.
    """

    name: str
    device: Device
    count: int
    min_nodes: int
    max_nodes: int
    zone: str
    provisioning: Provisioning
    environment: Environment
    topology: str | None

    def __post_init__(self) -> None:
        require_name("pool", self.name)
        where = f"pool {self.name}"
        self._check_machine(where)
        if not 0 <= self.min_nodes <= self.max_nodes:
            raise ConfigError(
                f"{where}: min_nodes={self.min_nodes} and max_nodes={self.max_nodes} must be 0 or more, "
                f"and the first no larger than the second"
            )
        _require_one_of(f"{where}: provisioning", self.provisioning, get_args(Provisioning))
        _require_one_of(f"{where}: environment", self.environment, get_args(Environment))
        if not re.fullmatch(r"[a-z]+-[a-z]+\d-[a-z]", self.zone):
            raise ConfigError(f"{where}: zone={self.zone!r} is not a zone; write it like us-central1-a")

    def _check_machine(self, where: str) -> None:
        if self.device.kind == "accelerator":
            raise ConfigError(
                f"{where}: {self.device.name} is of kind accelerator, for which no trainer and no resource "
                f"of Ray is known; possible kinds: cpu, gpu, tpu"
            )
        if self.count not in self.device.instances:
            instances = ", ".join(map(str, self.device.instances))
            raise ConfigError(
                f"{where}: count={self.count} of {self.device.name} is not sold; possible: {instances}"
            )
        if self.count not in self.device.cpus:
            raise ConfigError(
                f"{where}: conf/device/{self.device.name}.yaml lacks the vCPUs of {self.instance}; "
                f"add cpus: {{{self.count}: NUMBER}}"
            )
        if self.topology is not None:
            count_hosts(self.topology, self.device)

    @property
    def instance(self) -> str:
        """Name of the instance rented for a node, as price lists write it."""
        return self.device.instances[self.count]

    @property
    def hosts(self) -> int:
        """Number of hosts of one slice; 1 for everything else."""
        return count_hosts(self.topology, self.device) if self.topology else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A declared cluster.

    Attributes:
        name: name of its file in `conf/pools/`.
        provider: `gcp` is for Ray's launcher, `gke` for KubeRay, `local` is this machine, `fake` has nodes
            that are processes of this machine.
        cluster_name: name prefix of its machines or pods.
        project: id of the Google Cloud project.
        zone: zone of all nodes of a cluster made by Ray's launcher.
        registry: registry and folder of the images, without an image's name.
        image_tag: tag of all images.
        service_account: e-mail of the account that nodes act as.
        boot_images: kind of device -> the image that its machines boot, if one is chosen.
        head: the device of the head's instance; the head runs no trial.
        max_nodes: maximum number of nodes of all pools together.
        sweep: sweep that a RayJob of the cluster runs; KubeRay only.
        deadline_hours: time after which the RayJob and its cluster are removed, done or not; KubeRay only.
        records_gib: size of the claim for the records of a RayJob; KubeRay only.
        idle_seconds: after which a node that does nothing goes away.
    """

    name: str
    provider: Provider
    cluster_name: str
    project: str
    zone: str
    registry: str
    image_tag: str
    service_account: str
    boot_images: Mapping[str, str]
    head: Device
    max_nodes: int
    idle_seconds: int
    sweep: str
    deadline_hours: float
    records_gib: int
    pools: tuple[Pool, ...]

    def __post_init__(self) -> None:
        require_name("pools.cluster_name", self.cluster_name)
        if self.idle_seconds <= 0:
            raise ConfigError(f"pools.idle_seconds={self.idle_seconds} must be above 0")
        if not 0 < self.deadline_hours < math.inf or self.records_gib < 1:
            raise ConfigError(
                f"pools.deadline_hours={self.deadline_hours} must be above 0 and finite, and "
                f"pools.records_gib={self.records_gib} 1 or more"
            )
        if self.head.kind != "cpu" or 1 not in self.head.instances:
            raise ConfigError(
                f"pools.head={self.head.name!r} must be a device of the kind cpu, with an instance"
            )
        if self.provider in ("gcp", "gke"):
            self._check_rented()
        if self.provider == "gcp":
            self._check_launcher()
        knows_limit = self.provider != "gke"  # KubeRay knows no limit over all groups
        total = sum((pool.min_nodes if knows_limit else pool.max_nodes) * pool.hosts for pool in self.pools)
        if total > self.max_nodes:
            raise ConfigError(
                f"pools.max_nodes={self.max_nodes} is less than the {total} that its pools have at "
                f"{'least' if knows_limit else 'most'}"
            )

    def _check_rented(self) -> None:
        """Check the settings that Google Cloud requires."""
        if not PROJECT_RULE.fullmatch(self.project):
            raise ConfigError(
                f"pools.project={self.project!r} is not a project id; give one, of 6 to 30 lower-case "
                f"letters, digits and hyphens"
            )
        # Registry, tag and sweep become words of shell commands: nothing that a shell expands may pass.
        if not _REGISTRY_RULE.fullmatch(self.registry):
            raise ConfigError(
                f"pools.registry={self.registry!r} is not a registry and folder of images; "
                f"write it like us-central1-docker.pkg.dev/PROJECT/FOLDER"
            )
        if not _TAG_RULE.fullmatch(self.image_tag):
            raise ConfigError(
                f"pools.image_tag={self.image_tag!r} is not a tag of an image; write it like 0.1.0"
            )
        if not _SWEEP_RULE.fullmatch(self.sweep):
            raise ConfigError(
                f"pools.sweep={self.sweep!r} is not the name of a sweep; write it like tpu_vs_gpu"
            )
        rule, example = ACCOUNT_RULES[self.provider]
        if self.service_account and not rule.fullmatch(self.service_account):
            raise ConfigError(
                f"pools.service_account={self.service_account!r} is not an account; write it like {example}"
            )
        for pool in self.pools:
            if pool.environment == "any":
                raise ConfigError(
                    f"pool {pool.name}: environment=any has no image; it is for nodes of provider=fake"
                )

    def _check_launcher(self) -> None:
        """Check the settings that Ray's launcher requires or cannot serve."""
        for pool in self.pools:
            if pool.hosts > 1:
                raise ConfigError(
                    f"pool {pool.name}: a slice of {pool.hosts} hosts is nothing that Ray's launcher scales; "
                    f"pools=gke can have it"
                )
        booted = {"cpu", *(pool.device.kind for pool in self.pools)} - {"tpu"}
        if lacking := booted - self.boot_images.keys():
            raise ConfigError(f"pools.boot_images lacks {', '.join(sorted(lacking))}; name an image for each")

    def image(self, environment: Environment) -> str:
        """The image of a trainer's environment."""
        return f"{self.registry}/{environment}:{self.image_tag}"

    @property
    def available_pools(self) -> tuple[Pool, ...]:
        """The pools that the cluster has: those with nodes, and of Ray's launcher in its zone alone."""
        with_nodes = (pool for pool in self.pools if pool.max_nodes)
        return tuple(pool for pool in with_nodes if self.provider != "gcp" or pool.zone == self.zone)


def usable_cpus(provider: Provider, device: Device, count: int) -> int:
    """Return the CPUs that trials on a node can use; on GKE, Kubernetes reserves up to a quarter."""
    cpus = device.cpus[count]
    return max(1, cpus * 3 // 4) if provider == "gke" else cpus


def parse_region(zone: str) -> str:
    """`us-central1` of `us-central1-a`."""
    return zone.rpartition("-")[0]


def require_name(what: str, name: str) -> None:
    """Raises ConfigError for a name that machines and pods cannot have."""
    if not NAME_RULE.fullmatch(name):
        raise ConfigError(
            f"{what} {name!r}: a name has at most 30 lower-case letters, digits and hyphens, "
            f"and begins with a letter"
        )


def _require_one_of(what: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UnknownNameError(what, value, known=known)
