"""Commands `cluster` (print, check or compare the file of declared pools) and `doctor cluster`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.commands.command_line import DONE, NO_RESULT, WRONG_REQUEST, CommandLine
from orchestrator.commands.doctor import print_diagnosis
from orchestrator.commands.json_output import print_document, wants_json
from orchestrator.config.cluster import load_cluster
from orchestrator.config.workload_overrides import workload_overrides
from orchestrator.core import codec
from orchestrator.core.errors import ConfigError
from orchestrator.core.pool import Catalogue, Cluster
from orchestrator.extensions.cluster_files.catalogue import CHECK, DIFF
from orchestrator.extensions.cluster_files.checks.finding import Finding
from orchestrator.extensions.cluster_files.checks.kuberay import CLUSTER_KINDS, check_manifests
from orchestrator.extensions.cluster_files.checks.ray_launcher import check_launcher
from orchestrator.extensions.cluster_files.doctor import describe_cluster, diagnose_cluster
from orchestrator.extensions.cluster_files.files.kuberay import manifests_yaml
from orchestrator.extensions.cluster_files.files.ray_launcher import launcher_yaml
from orchestrator.extensions.cluster_files.files.yaml_text import diff, from_yaml
from orchestrator.terminal.screen import Screen
from workloads.data.files import require_regular


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Cluster file with its findings.

    Attributes:
        name: name of the file, or of its pools where it is not on disk.
    """

    name: str
    text: str
    findings: tuple[Finding, ...]


def render(overrides: Sequence[str], *, working_directory: Path) -> Rendered:
    """Render the file of declared pools and check it, without Ray.

    Raises:
        ConfigError: the pools are wrong, or are those of this machine, which needs no file.
    """
    cluster, catalogue = load_cluster(overrides, working_directory=working_directory, takes_job=True)
    text, name = _rendered(cluster, overrides), f"pools={cluster.name}"
    return Rendered(name=name, text=text, findings=_findings(text, name, catalogue))


def read(file: Path, overrides: Sequence[str], *, working_directory: Path) -> Rendered:
    """Read a file and check it.

    Raises:
        ConfigError: the file cannot be read, or is for neither Ray's launcher nor KubeRay.
    """
    _, catalogue = load_cluster(overrides, working_directory=working_directory)
    text = load_text(file)
    return Rendered(name=str(file), text=text, findings=_findings(text, str(file), catalogue))


def launcher_findings(rendered: Rendered) -> tuple[Finding, ...]:
    """Return the findings of Ray's own launcher validators, which stop at the first fault.

    Raises:
        ConfigError: Ray or Google's client library, which its check needs, is not installed.
    """
    documents = from_yaml(rendered.text, name=rendered.name)
    if not _is_launchers(documents):
        return ()
    try:
        from orchestrator.extensions.cluster_files.launcher_check import first_fault

        fault = first_fault(documents[0])
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--check uses Ray's own validators, which need the package {error.name!r}; "
            "pip install 'ray[default,tune]>=2.60,<2.61' 'google-api-python-client>=2,<3'"
        ) from error
    return (Finding(key=fault[0], message=f"Ray refuses it: {fault[1]}"),) if fault else ()


def difference(rendered: Rendered, file: Path) -> str:
    """Return a unified diff between a file and the rendered text; empty if they are equal."""
    return diff(rendered.text, load_text(file), name=str(file))


def load_text(file: Path) -> str:
    """Read a text file. Raises ConfigError if it cannot be read."""
    try:
        require_regular(file)
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {str(file)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read {str(file)!r}: it is not UTF-8 text") from error


def _rendered(cluster: Cluster, overrides: Sequence[str]) -> str:
    if cluster.provider in ("local", "fake"):
        raise ConfigError(
            f"pools={cluster.name} is this machine, which needs no file; choose pools=gcp or pools=gke"
        )
    write = launcher_yaml if cluster.provider == "gcp" else manifests_yaml
    return write(cluster, (*overrides, *workload_overrides()))


def _findings(text: str, name: str, catalogue: Catalogue) -> tuple[Finding, ...]:
    documents = from_yaml(text, name=name)
    if _is_launchers(documents):
        return tuple(check_launcher(documents[0], catalogue))
    kinds = {document.get("kind") for document in documents if isinstance(document, dict)}
    if not kinds.isdisjoint(CLUSTER_KINDS):
        return tuple(check_manifests(documents, catalogue))
    raise ConfigError(
        f"{name} is neither a file of Ray's cluster launcher, with available_node_types, "
        "nor one of manifests with a RayCluster or a RayJob"
    )


def _is_launchers(documents: Sequence[Any]) -> bool:
    return len(documents) == 1 and isinstance(documents[0], dict) and "available_node_types" in documents[0]


def cluster(line: CommandLine, screen: Screen) -> int:
    """Print, check or compare the file of declared pools."""
    here = Path.cwd()
    *_, checked = line.flags.get(CHECK.name, ("",))
    *_, compared = line.flags.get(DIFF.name, ("",))
    if wants_json(line) and CHECK.name not in line.flags:
        raise ConfigError(
            "cluster --json needs --check; without it the file itself is printed, which is YAML"
        )
    if checked:
        return _check(read(Path(checked), line.overrides, working_directory=here), line, screen)
    rendered = render(line.overrides, working_directory=here)
    if CHECK.name in line.flags:
        return _check(rendered, line, screen)
    if compared:
        changes = difference(rendered, Path(compared))
        sys.stdout.write(changes)  # for programs too: no width, no colour
        return NO_RESULT if changes else DONE
    if rendered.findings:
        return _print_findings(rendered.name, rendered.findings, screen)
    sys.stdout.write(rendered.text)
    return DONE


def doctor_cluster(line: CommandLine, screen: Screen) -> int:
    """Print what declared pools can train on."""
    here = Path.cwd()
    cluster, catalogue = load_cluster(line.overrides, working_directory=here)
    # a job of Kubernetes needs a cap, which no check depends on
    cap = [] if any(word.startswith("budget.usd=") for word in line.overrides) else ["budget.usd=1"]
    rendered = render([*line.overrides, *(cap if cluster.provider == "gke" else [])], working_directory=here)
    faults = [f"{finding.key}: {finding.message}" for finding in rendered.findings]
    today = datetime.now(UTC).date().isoformat()
    diagnosis = diagnose_cluster(cluster, catalogue, faults=faults, today=today)
    print_diagnosis(codec.to_json(diagnosis), describe_cluster(diagnosis), line, screen)
    return DONE if diagnosis.is_ready else NO_RESULT


def _check(rendered: Rendered, line: CommandLine, screen: Screen) -> int:
    if wants_json(line):
        findings = (*rendered.findings, *launcher_findings(rendered))
        found = codec.to_nulls(findings)
        print_document({"file": rendered.name, "is_sound": not findings, "findings": found})
        return WRONG_REQUEST if findings else DONE
    code = _print_findings(rendered.name, rendered.findings, screen)
    code |= _print_findings(rendered.name, launcher_findings(rendered), screen)
    if code == DONE:
        screen.line(f"{rendered.name}: no fault found by the offline checks")
    return code


def _print_findings(name: str, findings: Sequence[Finding], screen: Screen) -> int:
    for finding in findings:
        screen.error(f"{name}: {finding.key}: {finding.message}")
    return WRONG_REQUEST if findings else DONE
