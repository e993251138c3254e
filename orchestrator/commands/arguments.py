"""Words of one command: those about the user's workloads hold for that command alone."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.config.workload_overrides import extract_workload_overrides
from workloads.registry import forget

_MULTIRUN = ("-m", "--multirun")  # Hydra needs it for several values; a sweep does not, so it is ignored


@contextmanager
def parsed_arguments(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words for Hydra; inside the context, workloads are found and limited as the others set.

    At the end, a user's modules are forgotten: a notebook sees edited files in its next call.

    Raises:
        ConfigError: `workload_path` names no folder, or a limit is not a number.
    """
    rest, variables = extract_workload_overrides([word for word in words if word not in _MULTIRUN])
    before = {variable: os.environ.get(variable) for variable in variables}
    os.environ.update(variables)
    try:
        yield rest
    finally:
        forget()
        for variable, value in before.items():
            os.environ.pop(variable, None)
            if value is not None:
                os.environ[variable] = value
