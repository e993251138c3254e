"""Files in `deploy/` that are kept by hand: pinned, not root, without secrets, closed to the world."""

import re

import pytest
import yaml
from repository import ROOT

from orchestrator.core.pool import Environment
from orchestrator.deploy.checks.access import secrets, texts_of, unpinned
from orchestrator.deploy.kuberay import RAY_VERSION

DEPLOY = ROOT / "deploy"
DOCKERFILES = sorted(DEPLOY.rglob("Dockerfile"))
COMPOSE = yaml.safe_load((DEPLOY / "mlflow" / "compose.yaml").read_text())
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "mlflow" / "kubernetes.yaml").read_text()))


def pods():
    return [
        manifest["spec"]["template"]["spec"]
        for manifest in MANIFESTS
        if "template" in manifest.get("spec", {})
    ]


def test_every_environment_of_a_pool_has_an_image():
    names = {
        dockerfile.parent.name for dockerfile in DOCKERFILES if dockerfile.parent.parent.name == "docker"
    }
    assert names == set(Environment.__args__) - {"any"}


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.parent.name)
def test_an_image_is_pinned_and_does_not_run_as_root(file):
    lines = [line.split() for line in file.read_text().splitlines() if line and not line.startswith("#")]
    assert [line[1] for line in lines if line[0] == "USER"][-1] == "1000"
    for _, base in (line for line in lines if line[0] == "FROM"):
        assert not list(unpinned("FROM", base))
    installed = re.findall(r"(?<![\w-])([\w-]+(?:\[[\w-]+\])?)==[\d.]+", file.read_text())
    assert installed
    assert "latest" not in file.read_text()


def test_the_images_have_the_ray_that_manifests_name():
    assert f"\nray=={RAY_VERSION}\n" in (DEPLOY.parent / "constraints.txt").read_text()


@pytest.mark.parametrize("documents", [[COMPOSE], MANIFESTS], ids=["compose", "kubernetes"])
def test_no_secret_and_no_image_that_may_change_is_in_them(documents):
    for document in documents:
        assert list(secrets(document)) == []
        for key, text in texts_of(document):
            assert not (key.endswith(".image") and list(unpinned(key, text)))


def test_the_composed_server_is_reached_from_its_host_alone():
    ports = [item for service in COMPOSE["services"].values() for item in service.get("ports", ())]
    assert ports == ["127.0.0.1:5000:5000"]


def test_nothing_of_kubernetes_is_open_or_root():
    assert {manifest["spec"]["type"] for manifest in MANIFESTS if manifest["kind"] == "Service"} == {
        "ClusterIP"
    }
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        (container,) = pod["containers"]
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_secrets_are_asked_for_under_the_names_that_the_script_reads():
    read = set(re.findall(r"\$\(secret (\w+)\)", (DEPLOY / "mlflow" / "start.sh").read_text()))
    assert read == set(COMPOSE["secrets"])
    assert set(COMPOSE["services"]["server"]["secrets"]) == read
