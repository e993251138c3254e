"""Type of the TPU slice of a host, from its environment or from the metadata server of a TPU VM."""

import os

from orchestrator.train.gce_metadata import gce_metadata, is_on_compute_engine


def slice_type() -> str | None:
    """Return the type of the slice, `v5litepod-8`; None if neither source has it.

    GKE sets `TPU_ACCELERATOR_TYPE` in a pod; on a TPU VM the metadata server has the attribute.
    """
    if chosen := os.environ.get("TPU_ACCELERATOR_TYPE"):
        return chosen
    return gce_metadata("instance/attributes/accelerator-type") if is_on_compute_engine() else None
