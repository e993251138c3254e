"""A TPU host made of PJRT's CPU devices, for torch_xla trials that believe in it.

`plant` runs in a worker's interpreter. When the trainer is imported, PJRT's CPU client gets as many devices
as the TPU has chips, and the trainer calls their kind `tpu`. All other code is the product's and torch_xla's.
"""

import os
from functools import partial
from types import ModuleType

from patched_import import patch_when_imported

TRAINER = "orchestrator.train.trainers.torch_xla_trainer"


def plant(chips: int) -> None:
    """Replace the TPU's driver from the import of the trainer on."""
    patch_when_imported(TRAINER, before=partial(_start_cpu_client, chips), after=_call_it_a_tpu)


def _start_cpu_client(chips: int) -> None:
    """Choose the CPU client; fork servers, which import the trainer too, have no device."""
    if os.environ.get("PJRT_DEVICE") == "TPU":
        os.environ.update(PJRT_DEVICE="CPU", CPU_NUM_DEVICES=str(chips))


def _call_it_a_tpu(trainer: ModuleType) -> None:
    trainer._KINDS = {"CPU": "tpu"}
