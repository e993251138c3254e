"""Ray's own validators of its launcher take what is rendered, and refuse what they can know to be wrong."""

import pytest
from launcher_file_builders import config, put, rendered

pytest.importorskip("ray", reason="Ray is not installed")
pytest.importorskip("googleapiclient", reason="google-api-python-client is not installed")
import yaml
from ray._private import label_utils

from orchestrator.extensions.cluster_files.launcher_check import first_fault


@pytest.mark.more_except("us-central1-a")
@pytest.mark.parametrize("zone", ["us-central1-a", "us-central1-b", "us-central2-b"])
def test_ray_takes_the_file_of_each_zone(zone):
    assert first_fault(yaml.safe_load(rendered("gcp", f"pools.zone={zone}").text)) is None


@pytest.mark.parametrize("pools", ["gcp", "gke"])
def test_ray_takes_the_labels_of_every_pool(pools):
    top = config(pools)
    groups = top["available_node_types"].values() if pools == "gcp" else top["workerGroupSpecs"]
    for labels in (group["labels"] for group in groups):
        assert [key for key in labels if label_utils.validate_label_key(key)] == []
        written = ",".join(f"{key}={value}" for key, value in labels.items())
        assert label_utils.parse_node_labels_string(written) == labels
        for value in labels.values():
            label_utils.validate_label_value(value)


@pytest.mark.parametrize(
    ("key", "value", "where", "why"),
    [
        (
            "max_wrokers",
            1,
            "the file",
            "Additional properties are not allowed ('max_wrokers' was unexpected)",
        ),
        (
            "available_node_types/t4/resources/GPU",
            0.5,
            "available_node_types.t4.resources.GPU",
            "0.5 is not of type",
        ),
        (
            "available_node_types/t4/labels/a",
            1,
            "available_node_types.t4.labels.a",
            "1 is not of type 'string'",
        ),
        (
            "available_node_types/t4/min_workers",
            99,
            "the file",
            "The specified global `max_workers` is smaller",
        ),
        ("docker/container_name", None, "the file", ""),
        (
            "available_node_types/tpu-v3-8/node_config/acceleratorType",
            "v0",
            "available_node_types.tpu-v3-8.node_config",
            "`acceleratorType` should match",
        ),
    ],
)
def test_ray_refuses(key, value, where, why):
    top = config()
    put(top, key, value)
    found = first_fault(top)
    assert found is not None
    assert found[0] == where
    assert found[1].startswith(why)
