"""Compute Engine's metadata server, which every virtual machine of Google Cloud has."""

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
