"""The verb `cluster`: print the file of declared pools, check one, or compare it with one on disk."""

import importlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.config.cluster import load_cluster
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Catalogue, Cluster
from orchestrator.deploy.checks.finding import Finding
from orchestrator.deploy.checks.kuberay import check_manifests
from orchestrator.deploy.checks.ray_launcher import check_launcher
from orchestrator.deploy.kuberay import manifests_yaml
from orchestrator.deploy.ray_launcher import launcher_yaml
from orchestrator.deploy.yaml_text import diff, from_yaml
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
    """Return the findings of Ray's own launcher validators, which stop at the first fault.

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
    if any(isinstance(document, dict) and document.get("kind") == "RayCluster" for document in documents):
        return tuple(check_manifests(documents, catalogue))
    raise ConfigError(
        f"{name} is neither a file of Ray's cluster launcher, with available_node_types, "
        "nor one of manifests with a RayCluster"
    )


def _is_launchers(documents: Sequence[Any]) -> bool:
    return len(documents) == 1 and isinstance(documents[0], dict) and "available_node_types" in documents[0]


def _ray_launcher() -> Any:
    try:
        return importlib.import_module("orchestrator.execute.on_ray.launcher_check")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--check asks Ray's own validators, which need the package {error.name!r}; "
            "pip install 'ray[default,tune]>=2.60,<2.61' 'google-api-python-client>=2,<3'"
        ) from error


NAME = "cluster"

Say = Callable[[str], None]


def run_command(words: Sequence[str], *, say: Say, complain: Say) -> int:
    """Carry the verb out; the exit code is 0 if all is well, 1 if files differ, 2 if one is wrong.

    Raises:
        ConfigError: words that cannot be understood, or a file that cannot be read.
    """
    verb = words.index(NAME)
    asked = _parsed([*words[:verb], *words[verb + 1 :]])
    here, overrides = Path.cwd(), asked.overrides
    if isinstance(asked.check, str):
        return _check(read(Path(asked.check), overrides, working_directory=here), say, complain)
    rendered = render(overrides, working_directory=here)
    if asked.check:
        return _check(rendered, say, complain)
    if asked.diff:
        changes = difference(rendered, Path(asked.diff))
        sys.stdout.write(changes)  # for programs too: no width, no colour
        return 1 if changes else 0
    if rendered.findings:
        return _told(rendered.name, rendered.findings, complain)
    sys.stdout.write(rendered.text)
    return 0


def _check(rendered: Rendered, say: Say, complain: Say) -> int:
    code = _told(rendered.name, rendered.findings, complain)
    code |= _told(rendered.name, what_ray_finds(rendered), complain)
    if not code:
        say(f"{rendered.name}: nothing is wrong that can be seen offline")
    return code


def _told(name: str, findings: Sequence[Finding], complain: Say) -> int:
    for finding in findings:
        complain(f"{name}: {finding.key}: {finding.message}")
    return 2 if findings else 0


def _parsed(words: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog=NAME, add_help=False, allow_abbrev=False)
    parser.error = _refuse  # type: ignore[method-assign]  # argparse would print its usage over many lines
    parser.add_argument("--check", nargs="?", const=True)
    parser.add_argument("--diff")
    overrides = [word for word in words if "=" in word and not word.startswith("--")]
    asked = parser.parse_args([word for word in words if word not in overrides])
    asked.overrides = overrides
    return asked


def _refuse(message: str) -> NoReturn:
    raise ConfigError(
        f"cluster: {message}; possible: --check [FILE], --diff FILE, pools=NAME, pools.KEY=VALUE"
    )
