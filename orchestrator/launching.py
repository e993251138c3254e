"""The story of a cluster: declare pools, render a file, check it, compare it with one on disk."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.config.pools import load_cluster
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Catalogue, Cluster
from orchestrator.deploy.check_launcher import check_launcher
from orchestrator.deploy.check_manifests import check_manifests
from orchestrator.deploy.finding import Finding
from orchestrator.deploy.launcher import launcher_yaml
from orchestrator.deploy.manifests import manifests_yaml
from orchestrator.deploy.text import diff, from_yaml
from workloads.data.files import require_regular


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A file for a cluster, and what is wrong with it.

    Attributes:
        name: of the file, or what it is where it has none.
    """

    name: str
    text: str
    findings: tuple[Finding, ...]


def render(overrides: Sequence[str], *, working_directory: Path) -> Rendered:
    """Render the file of declared pools and look it through, without Ray.

    Raises:
        ConfigError: pools that cannot be understood, or of which there is no file to make.
    """
    cluster, catalogue = load_cluster(overrides, working_directory=working_directory)
    text, name = _rendered(cluster), f"pools={cluster.name}"
    return Rendered(name=name, text=text, findings=_findings(text, name, catalogue))


def read(file: Path, overrides: Sequence[str], *, working_directory: Path) -> Rendered:
    """Read a file and look it through.

    Raises:
        ConfigError: it cannot be read, or is for nothing that we know.
    """
    _, catalogue = load_cluster(overrides, working_directory=working_directory)
    text = text_of(file)
    return Rendered(name=str(file), text=text, findings=_findings(text, str(file), catalogue))


def what_ray_finds(rendered: Rendered) -> tuple[Finding, ...]:
    """What the validators of Ray's launcher refuse in a file for it; they stop at the first thing.

    Raises:
        ConfigError: Ray or Google's client library, which its check needs, is not installed.
    """
    documents = from_yaml(rendered.text, name=rendered.name)
    if not _is_launchers(documents):
        return ()
    found = _ray_launcher().what_ray_finds(documents[0])
    return (Finding(key=found[0], message=f"Ray refuses it: {found[1]}"),) if found else ()


def difference(rendered: Rendered, file: Path) -> str:
    """A unified diff between a file and what would be rendered; empty if they are equal."""
    return diff(rendered.text, text_of(file), name=str(file))


def text_of(file: Path) -> str:
    """Raises ConfigError for a file that cannot be read."""
    try:
        require_regular(file)
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read {str(file)!r}: it is not UTF-8 text") from error


def _rendered(cluster: Cluster) -> str:
    if cluster.provider in ("local", "fake"):
        raise ConfigError(
            f"pools={cluster.name} is this machine, which needs no file; choose pools=gcp or pools=gke"
        )
    return launcher_yaml(cluster) if cluster.provider == "gcp" else manifests_yaml(cluster)


def _findings(text: str, name: str, catalogue: Catalogue) -> tuple[Finding, ...]:
    documents = from_yaml(text, name=name)
    if _is_launchers(documents):
        return tuple(check_launcher(documents[0], catalogue))
    if any(isinstance(each, dict) and each.get("kind") == "RayCluster" for each in documents):
        return tuple(check_manifests(documents, catalogue))
    raise ConfigError(
        f"{name} is neither a file of Ray's cluster launcher, with available_node_types, "
        "nor one of manifests with a RayCluster"
    )


def _is_launchers(documents: Sequence[Any]) -> bool:
    return len(documents) == 1 and isinstance(documents[0], dict) and "available_node_types" in documents[0]


def _ray_launcher() -> Any:
    try:
        return importlib.import_module("orchestrator.execute.ray_launcher")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--check asks Ray's own validators, which need the package {error.name!r}; "
            "pip install 'ray[default,tune]>=2.60,<2.61' 'google-api-python-client>=2,<3'"
        ) from error
