"""Libraries of the extra `finetune`, imported where they are used."""

import importlib
import logging
from typing import Any

from workloads.jobs import JobError

logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
"""It warns of absent kernels of a hub, which no training uses, wherever peft imports it."""


def import_library(name: str) -> Any:
    """Import a library. Raises JobError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise JobError(
            f"causal_lm needs {error.name}, which is not installed; pip install 'orchestrator[finetune]'"
        ) from error
