"""Type of the TPU slice of a host, from its environment or from the metadata server of a TPU VM."""

import http.client
import os

_SERVER = "metadata.google.internal"
_ANSWER_SECONDS = 2.0  # the server is on the same machine


def slice_type() -> str | None:
    """Return the type of the slice, `v5litepod-8`; None if neither source has it.

    GKE sets `TPU_ACCELERATOR_TYPE` in a pod; on a TPU VM the metadata server has the attribute.
    """
    return os.environ.get("TPU_ACCELERATOR_TYPE") or gce_metadata("instance/attributes/accelerator-type")


def gce_metadata(key: str) -> str | None:
    """Return a value of Compute Engine's metadata server; None without a server or without the value.

    `GCE_METADATA_HOST` names another server, as in Google's own libraries.
    """
    server = os.environ.get("GCE_METADATA_HOST") or _SERVER
    try:
        connection = http.client.HTTPConnection(server, timeout=_ANSWER_SECONDS)
        connection.request("GET", f"/computeMetadata/v1/{key}", headers={"Metadata-Flavor": "Google"})
        response = connection.getresponse()
        text = response.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        return None
    return text if response.status == http.HTTPStatus.OK else None
