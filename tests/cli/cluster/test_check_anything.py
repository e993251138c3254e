"""Files with anything anywhere: the checks find something or nothing, and never break."""

from copy import deepcopy

import pytest
import yaml
from launcher_file_builders import rendered
from shipped_devices import shipped_catalogue

from orchestrator.extensions.cluster_files.checks.kuberay import check_manifests
from orchestrator.extensions.cluster_files.checks.ray_launcher import check_launcher

ODD = (None, 5, -1.5, "x", "", [], {}, [[]], [None], {"a": None}, True)


def launcher():
    """The file with one node type of each kind."""
    top = yaml.safe_load(rendered("gcp").text)
    kept = ("head", "cpu", "t4-spot", "l4", "tpu-v3-8-spot")
    top["available_node_types"] = {item: top["available_node_types"][item] for item in kept}
    return top


def manifests():
    """The manifests with one group of each kind."""
    documents = list(yaml.safe_load_all(rendered("gke").text))
    cluster = documents[1]["spec"]["rayClusterSpec"]
    groups = cluster["workerGroupSpecs"]
    cluster["workerGroupSpecs"] = [
        group for group in groups if group["groupName"] in ("cpu", "t4-spot", "tpu-v5e-16-spot")
    ]
    return documents


def places(value):
    """Every place in a file: the holder and the key."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


@pytest.mark.more_except("None-launcher", "None-manifests")
@pytest.mark.parametrize(("make", "check"), [(launcher, check_launcher), (manifests, check_manifests)])
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_value_in_any_place_breaks_a_check(make, check, odd):
    top = make()
    for holder, key in places(top):
        kept = holder[key]
        holder[key] = deepcopy(odd)
        check(top, shipped_catalogue())
        holder[key] = kept
    assert check(top, shipped_catalogue()) == []
