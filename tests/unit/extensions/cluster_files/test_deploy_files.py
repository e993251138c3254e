"""Files in `deploy/` that are kept by hand: pinned, not root, without secrets, closed to the world."""

import re
import shlex

import pytest
import yaml
from launcher_file_builders import PROJECT, config
from repository import ROOT

from orchestrator.config.cluster import load_cluster
from orchestrator.core.pool import Environment
from orchestrator.extensions.cluster_files.checks.access import iterate_texts, secrets, unpinned
from orchestrator.extensions.cluster_files.files.kuberay import RAY_VERSION
from orchestrator.plan.compatibility import LEAST_CAPABILITY
from orchestrator.train.accelerator_versions import LEAST_DRIVER

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


def environment_of(name: str) -> dict[str, str]:
    """Return the variables of an image, those of its base included."""
    file = DEPLOY / "docker" / name / "Dockerfile"
    inherited = {} if name == "core" else environment_of("core")
    lines = file.read_text().replace("\\\n", " ").splitlines()
    words = [word for line in lines if line.startswith("ENV ") for word in shlex.split(line)[1:]]
    return inherited | dict(word.split("=", 1) for word in words)


IMAGES = [file.parent.name for file in DOCKERFILES if file.parent.parent.name == "docker"]


@pytest.mark.parametrize("name", IMAGES)
def test_ray_finds_the_token_where_the_launcher_mounts_it(name):
    """Ray's launcher resolves `~` in the target of a mount by the image's HOME, which must be the user's."""
    runner = pytest.importorskip("ray.autoscaler._private.docker", reason="Ray is not installed")
    home = environment_of(name)["HOME"]
    mounts = config()["file_mounts"]
    command = runner.docker_start_cmds("ray", f"r/{name}:1", mounts, "ray", [], "c", home, "docker")
    assert f":{home}/.ray/auth_token " in command
    core = (DEPLOY / "docker" / "core" / "Dockerfile").read_text()
    user = re.search(r"useradd --create-home --uid 1000 (\w+)", core)
    assert home == f"/home/{user[1]}"


@pytest.mark.parametrize("name", ["torch", "tensorflow"])
def test_an_image_for_gpus_finds_the_driver_that_gke_mounts(name):
    variables = environment_of(name)
    assert "/usr/local/nvidia/lib64" in variables["LD_LIBRARY_PATH"].split(":")
    assert "/usr/local/nvidia/bin" in variables["PATH"].split(":")
    assert set(variables["NVIDIA_DRIVER_CAPABILITIES"].split(",")) == {"compute", "utility"}


def test_the_image_of_torch_has_the_compiler_that_torch_compile_starts():
    (installed,) = re.findall(
        r"apt-get install --yes --no-install-recommends ([^\\\n]+)",
        (DEPLOY / "docker" / "torch" / "Dockerfile").read_text(),
    )
    assert "g++" in installed.split()


def test_the_pools_of_torch_have_gpus_that_its_build_for_cuda_13_has_kernels_for():
    """torch 2.13's default wheel is CUDA 13.0; the other images of GPUs have CUDA 12."""
    assert "\ntorch==2.13." in (ROOT / "constraints.txt").read_text()
    for pools in ("gcp", "gke"):
        cluster, _ = load_cluster([f"pools={pools}", PROJECT], working_directory=ROOT)
        for pool in cluster.pools:
            if pool.environment == "torch" and pool.device.kind == "gpu":
                assert pool.device.compute_capability >= LEAST_CAPABILITY["13"], pool.name


def test_the_boot_image_of_gpus_has_the_driver_that_the_images_need():
    cluster, _ = load_cluster(["pools=gcp", PROJECT], working_directory=ROOT)
    (driver,) = re.findall(r"-nvidia-(\d+)$", cluster.boot_images["gpu"])
    assert int(driver) >= LEAST_DRIVER["13"]


def test_the_head_may_read_the_images():
    """Ray gives a head whose node_config names no account its own, which the README lets read images."""
    gcp = pytest.importorskip("ray.autoscaler._private.gcp.config", reason="Ray is not installed")
    assert "serviceAccounts" not in config()["available_node_types"]["head"]["node_config"]
    text = (DEPLOY / "README.md").read_text()
    assert f"export HEAD={gcp.DEFAULT_SERVICE_ACCOUNT_ID}@$PROJECT.iam.gserviceaccount.com" in text
    assert f"gcloud iam service-accounts create {gcp.DEFAULT_SERVICE_ACCOUNT_ID}" in text
    assert "--member=serviceAccount:$HEAD --role=roles/artifactregistry.reader" in text


def test_the_images_have_the_ray_that_manifests_name():
    assert f"\nray=={RAY_VERSION}\n" in (DEPLOY.parent / "constraints.txt").read_text()


@pytest.mark.parametrize("documents", [[COMPOSE], MANIFESTS], ids=["compose", "kubernetes"])
def test_no_secret_and_no_image_that_may_change_is_in_them(documents):
    for document in documents:
        assert list(secrets(document)) == []
        for key, text in iterate_texts(document):
            assert not (key.endswith(".image") and list(unpinned(key, text)))


def test_the_composed_server_is_reached_from_its_host_alone():
    ports = [item for service in COMPOSE["services"].values() for item in service.get("ports", ())]
    assert ports == ["127.0.0.1:5000:5000"]


def test_no_service_or_pod_of_kubernetes_is_open_or_runs_as_root():
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
