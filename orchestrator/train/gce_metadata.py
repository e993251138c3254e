"""Compute Engine's metadata server, which every machine of Google Cloud has; type of a TPU slice."""

import os
from pathlib import Path

_SERVER = "metadata.google.internal"
_ANSWER_SECONDS = 2.0  # the server is on the same machine
_PRODUCT = Path("/sys/class/dmi/id/product_name")
_VARIABLE = "GCE_METADATA_HOST"
"""Variable that names another server, as in Google's own libraries."""


def gce_metadata(key: str) -> str | None:
    """Return a value of the metadata server; None without a server or without the value."""
    import http.client

    server = os.environ.get(_VARIABLE) or _SERVER
    try:
        connection = http.client.HTTPConnection(server, timeout=_ANSWER_SECONDS)
        connection.request("GET", f"/computeMetadata/v1/{key}", headers={"Metadata-Flavor": "Google"})
        response = connection.getresponse()
        text = response.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        return None
    return text if response.status == http.HTTPStatus.OK else None


def is_on_compute_engine(product: Path = _PRODUCT) -> bool:
    """Return whether this host is a virtual machine of Google Cloud, without asking a server."""
    try:
        return _VARIABLE in os.environ or product.read_text().startswith("Google")
    except OSError:
        return False


def is_preempted() -> bool:
    """Return whether Google Cloud has announced that it takes this spot machine, half a minute later."""
    return is_on_compute_engine() and gce_metadata("instance/preempted") == "TRUE"


def slice_type() -> str | None:
    """Return the type of the slice, `v5litepod-8`; None if neither source has it.

    GKE sets `TPU_ACCELERATOR_TYPE` in a pod; on a TPU VM the metadata server has the attribute.
    """
    if chosen := os.environ.get("TPU_ACCELERATOR_TYPE"):
        return chosen
    return gce_metadata("instance/attributes/accelerator-type") if is_on_compute_engine() else None
