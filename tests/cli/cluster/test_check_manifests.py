"""Errors sown into the manifests for KubeRay, each found in its place; the healthy ones have none."""

import os
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from launcher_file_builders import put, rendered
from shipped_devices import shipped_catalogue

from orchestrator.extensions.cluster_files.checks.kuberay import check_manifests

DOCUMENTS = tuple(yaml.safe_load_all(rendered("gke").text))
CLUSTER = DOCUMENTS[1]["spec"]["rayClusterSpec"]
GROUPS = {each["groupName"]: n for n, each in enumerate(CLUSTER["workerGroupSpecs"])}
CPU, T4, V5E, SLICE = (
    f"1/spec/rayClusterSpec/workerGroupSpecs/{GROUPS[name]}"
    for name in ("cpu", "t4-spot", "tpu-v5e-8", "tpu-v5e-16-spot")
)
HEAD = "1/spec/rayClusterSpec/headGroupSpec"
POD, BOX = "template/spec", "template/spec/containers/0"
TYPE = "nodeSelector/cloud.google.com~gke-tpu-accelerator"
SHAPE = "nodeSelector/cloud.google.com~gke-tpu-topology"
GPU_LIMIT = "resources/limits/nvidia.com~gpu"
TPU_LIMIT = "resources/limits/google.com~tpu"
PASSWORD = [{"name": "DB_PASSWORD", "value": "hunter2"}]

SOWN = [
    ("1/metadata/name", "My Cluster", "metadata.name: 'My Cluster' must be a-z, 0-9 and"),
    (
        "1/apiVersion",
        "ray.io/v1alpha1",
        "apiVersion: of RayJob is 'ray.io/v1alpha1' and must be 'ray.io/v1'",
    ),
    ("1/kind", "Service", "kind: 'Service' 'orchestrator-sweep' does not belong here, or opens a port"),
    (
        "1/spec/rayClusterSpec/authOptions/mode",
        "disabled",
        "spec.rayClusterSpec.authOptions.mode: is 'disabled' and must be 'token'",
    ),
    (
        "1/spec/rayClusterSpec/authOptions",
        None,
        "spec.rayClusterSpec.authOptions: must be a mapping of keys to values, not None",
    ),
    (
        "1/spec/rayClusterSpec/rayVersion",
        "2.9.0",
        "spec.rayClusterSpec.rayVersion: is '2.9.0', and the images have '2.60.0'",
    ),
    (
        "1/spec/rayClusterSpec/autoscalerOptions/version",
        "v1",
        "spec.rayClusterSpec.enableInTreeAutoscaling: must be true, with autoscalerOpt",
    ),
    (
        "1/spec/rayClusterSpec/autoscalerOptions/idleTimeoutSeconds",
        0,
        "idleTimeoutSeconds: must be above 0, not 0",
    ),
    (
        "1/spec/rayClusterSpec/workerGroupSpec",
        [],
        "spec.rayClusterSpec.workerGroupSpec: unknown; known: authOptions, ",
    ),
    (
        f"{HEAD}/serviceType",
        "LoadBalancer",
        "headGroupSpec.serviceType: is 'LoadBalancer' and must be 'ClusterIP'",
    ),
    (f"{HEAD}/enableIngress", True, "spec.rayClusterSpec.headGroupSpec.enableIngress: opens the dashboard"),
    (f"{HEAD}/{BOX}/{TPU_LIMIT}", "4", "spec.rayClusterSpec.headGroupSpec.template: asks for google.com/tpu"),
    (
        f"{HEAD}/{BOX}/image",
        "ours/core",
        "headGroupSpec.template.spec.containers.0.image: 'ours/core' is not pin",
    ),
    (
        f"{HEAD}/{BOX}/env",
        PASSWORD,
        "spec.rayClusterSpec.headGroupSpec.template.spec.containers.0.env.0.value: holds a secret",
    ),
    (f"{HEAD}/{BOX}/image", "ours/core:$(id)", "image: 'ours/core:$(id)' is not the name of an image"),
    (f"{T4}/{POD}/serviceAccountName", "No One", "serviceAccountName: 'No One' is not an account"),
    (f"{T4}/hosts", 1, "workerGroupSpecs.1.hosts: unknown; known: groupName, idleTimeoutSeconds"),
    (f"{T4}/groupName", "T4_spot", "workerGroupSpecs.1.groupName: 'T4_spot' must be a-z, 0-9 and"),
    (f"{T4}/groupName", "cpu", "spec.rayClusterSpec.workerGroupSpecs.1.groupName: 'cpu' appears twice"),
    (f"{T4}/minReplicas", -1, "workerGroupSpecs.1.minReplicas: must be a whole number from 0 on, not -1"),
    (f"{T4}/minReplicas", 9, "workerGroupSpecs.1.maxReplicas: 4 is less than minReplicas=9"),
    (f"{T4}/replicas", 7, "workerGroupSpecs.1.replicas: 7 is not from 0 to 4"),
    (f"{T4}/{POD}/hostNetwork", True, "template.spec.hostNetwork: opens every port of a pod on its node"),
    (f"{T4}/{POD}/containers", [], "workerGroupSpecs.1.template.spec.containers: has no container"),
    (f"{T4}/{BOX}/securityContext", {"privileged": True}, "securityContext: must have runAsNonRoot: true"),
    (
        f"{T4}/{BOX}/resources/requests",
        {"cpu": "1"},
        "containers.0.resources: must have limits, and requests",
    ),
    (f"{T4}/{BOX}/{GPU_LIMIT}", "3", "n1-standard-8 with 3 x nvidia-tesla-t4 is not known; known: a2-"),
    (
        f"{T4}/{POD}/nodeSelector/node.kubernetes.io~instance-type",
        "n1-large",
        "n1-large with 1 x nvidia-tesla-t4",
    ),
    (f"{CPU}/{BOX}/resources/limits/cpu", "8", "resources.limits.cpu: is '8' and must be '6'"),
    (f"{T4}/{POD}/tolerations", None, "template.spec.tolerations: lacks cloud.google.com/gke-spot"),
    (f"{T4}/labels", {}, "workerGroupSpecs.1.labels.ray.io/accelerator-type: is missing; it must be 'T4'"),
    (
        f"{T4}/{POD}/nodeSelector/topology.kubernetes.io~zone",
        "mars-a",
        "is not in the price list of mars; it is in:",
    ),
    (f"{V5E}/{POD}/{TYPE}", "tpu-v9", "gke-tpu-accelerator: unknown type 'tpu-v9'; known: tpu-v3-device, "),
    (
        f"{V5E}/{BOX}/{TPU_LIMIT}",
        "3",
        "google.com/tpu: is 3, and a host of tpu-v5-lite-podslice has one of: 1, 4, 8",
    ),
    (f"{V5E}/{POD}/{SHAPE}", "3x3", "gke-tpu-topology: topology '3x3' does not exist; possible: 1x1, 2x2"),
    (f"{SLICE}/numOfHosts", 2, "numOfHosts: is 2 and must be 4"),
    ("1/spec/entrypoint", None, "spec.entrypoint: of RayJob is missing"),
    ("1/spec/entrypoint", "python -m orchestrator budget.usd=1", "spec.entrypoint: has no --yes: nobody"),
    ("1/spec/entrypoint", "python -m orchestrator --yes", "spec.entrypoint: has no budget.usd=: nobody"),
    ("1/spec/activeDeadlineSeconds", None, "spec.activeDeadlineSeconds: must be above 0, not None"),
    ("1/spec/shutdownAfterJobFinishes", False, "spec.shutdownAfterJobFinishes: must be true"),
    ("1/spec/rayClusterSpec", None, "spec.clusterSelector.ray.io/cluster: None is not here; known: none"),
    ("0/apiVersion", "v2", "apiVersion: of PersistentVolumeClaim is 'v2' and must be 'v1'"),
    (f"{CPU}/{BOX}/resources/limits/memory", "8Gi", "resources.limits.memory: is '8Gi' and must be '24Gi'"),
    (f"{HEAD}/{BOX}/resources", {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, "must limit the memory"),
]


@pytest.mark.parametrize(("key", "value", "message"), SOWN)
def test_a_sown_error_is_found_and_named(key, value, message):
    documents = deepcopy(list(DOCUMENTS))
    put(documents, key, value)
    lines = [
        f"{check_manifest.key}: {check_manifest.message}"
        for check_manifest in check_manifests(documents, shipped_catalogue())
    ]
    assert [line for line in lines if message in line], lines


def test_the_declared_pools_give_manifests_without_findings():
    assert rendered("gke").findings == ()


def test_a_slice_of_several_hosts_is_one_replica_of_so_many_pods():
    group = CLUSTER["workerGroupSpecs"][GROUPS["tpu-v5e-16-spot"]]
    selector = group["template"]["spec"]["nodeSelector"]
    assert group["numOfHosts"] == 4
    assert selector["cloud.google.com/gke-tpu-topology"] == "4x4"
    assert group["template"]["spec"]["containers"][0]["resources"]["limits"]["google.com/tpu"] == "4"


def test_v3_alone_has_another_name_as_a_slice():
    words = ("pools.nodes.tpu-v5e-16-spot.device=tpu_v3_8", "pools.nodes.tpu-v5e-8.device=tpu_v3_8")
    text = rendered("gke", *words).text
    assert text.count("gke-tpu-accelerator: tpu-v3-slice") == 1
    assert text.count("gke-tpu-accelerator: tpu-v3-device") == 1


def closed(schema):
    """The schema as the API server reads it: fields that it does not name are refused."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if inner.get("x-kubernetes-int-or-string"):
        inner.pop("anyOf", None), inner.pop("pattern", None)
    if "properties" in inner and isinstance(inner["properties"], dict) and inner.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


def test_a_cluster_that_stays_and_a_job_for_it_are_checked_too():
    """Files of one's own may keep the cluster after the job."""
    job = {**DOCUMENTS[1]["spec"], "clusterSelector": {"ray.io/cluster": "kept"}}
    del job["rayClusterSpec"]
    kept = {**DOCUMENTS[1], "kind": "RayCluster", "metadata": {"name": "kept"}, "spec": CLUSTER}
    assert check_manifests([kept, {**DOCUMENTS[1], "spec": job}], shipped_catalogue()) == []
    broken = {**kept, "spec": {**CLUSTER, "rayVersion": "2.9.0"}}
    (finding,) = check_manifests([broken, {**DOCUMENTS[1], "spec": job}], shipped_catalogue())
    assert finding.key == "spec.rayVersion"


def test_records_outlive_the_cluster_and_the_head_writes_them_there():
    claim, job = DOCUMENTS
    pod = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    folder = pod["containers"][0]["volumeMounts"][0]["mountPath"]
    assert f" outputs={folder} " in job["spec"]["entrypoint"]
    assert pod["securityContext"]["fsGroup"] == pod["containers"][0]["securityContext"]["runAsUser"]
    assert pod["serviceAccountName"] == "orchestrator-node"


def test_a_bucket_of_records_needs_no_claim():
    (job,) = yaml.safe_load_all(rendered("gke", "record.path=gs://mine/sweeps").text)
    assert " record.path=gs://mine/sweeps " in job["spec"]["entrypoint"]
    assert "volumes" not in job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]


def test_the_deadline_of_the_job_is_the_one_of_the_pools():
    _, job = yaml.safe_load_all(rendered("gke", "pools.deadline_hours=1.5").text)
    assert job["spec"]["activeDeadlineSeconds"] == 5400


@pytest.mark.parametrize("document", DOCUMENTS[1:], ids=lambda document: document["kind"])
def test_kuberays_published_definition_takes_it(document):
    folder = os.environ.get("ORCHESTRATOR_KUBERAY_CRDS")
    if not folder:
        pytest.skip("ORCHESTRATOR_KUBERAY_CRDS does not say where KubeRay's ray.io_*.yaml are")
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    text = (Path(folder) / f"ray.io_{document['kind'].lower()}s.yaml").read_text()
    versions = yaml.load(text, Loader=yaml.CSafeLoader)["spec"]["versions"]
    (schema,) = [version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1"]
    jsonschema.validate(document["spec"], closed(schema["properties"]["spec"]))
