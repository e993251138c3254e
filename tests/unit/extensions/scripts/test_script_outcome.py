"""Exit codes and standard error of scripts, as programs really write them."""

import pytest

from orchestrator.extensions.scripts.connection import cause_in, failure_in, hint_for
from orchestrator.extensions.scripts.variables import ScriptVariables

NOTHING = ScriptVariables(passed={}, left_out=())

DISTRIBUTED = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]:     main()
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
[rank1]:[W1124 14:00:00 ProcessGroupGloo.cpp:1] Warning: destroy_process_group() was not called
"""
CHAINED = """\
Traceback (most recent call last):
  File "train.py", line 1, in <module>
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 3, in <module>
ValueError: no x
hint on a second line
"""


@pytest.mark.parametrize(
    ("standard_error", "cause"),
    [
        (DISTRIBUTED, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
        (CHAINED, "ValueError: no x"),
        ("warning: slow\ntrain: cannot open data\n\n", "train: cannot open data"),
        ("Traceback (most recent call last):\n  File", "File"),
        ("", ""),
    ],
)
def test_the_cause_is_the_line_of_the_last_exception(standard_error: str, cause: str) -> None:
    assert cause_in(standard_error) == cause


@pytest.mark.parametrize(
    ("code", "standard_error", "kind"),
    [
        (1, DISTRIBUTED, "oom"),
        (1, CHAINED, "error"),
        (1, "MemoryError", "oom"),
        (1, "OSError: [Errno 28] No space left on device: 'model.pt'", "environment"),
        (1, "OSError: [Errno 98] Address already in use", "environment"),
        (1, "ConnectionRefusedError: [Errno 111] Connection refused", "error"),
        (1, "ModuleNotFoundError: No module named 'lightning'", "environment"),
        (127, "train.sh: line 1: tain: command not found", "environment"),
        (137, "Killed", "worker_lost"),
        (-9, "", "worker_lost"),
        (-11, "", "error"),
    ],
)
def test_the_kind_follows_the_exit_code_and_the_cause(code: int, standard_error: str, kind: str) -> None:
    failure = failure_in(code, standard_error, variables=NOTHING)
    assert failure is not None
    assert failure.kind == kind


def test_a_script_that_ended_well_has_no_failure() -> None:
    told = "Traceback (most recent call last):\nValueError: caught"
    assert failure_in(0, told, variables=NOTHING) is None


@pytest.mark.parametrize(
    ("cause", "hint"),
    [
        ("KeyError: 'RANK'", "torchrun --standalone --nproc_per_node=1"),
        (
            "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable "
            "MASTER_ADDR expected, but not set",
            "torchrun --standalone --nproc_per_node=1",
        ),
        ("KeyError: 'SLURM_NODEID'", "write env SLURM_NODEID=… into the command"),
    ],
)
def test_a_variable_that_is_missing_is_explained(cause: str, hint: str) -> None:
    variables = ScriptVariables(passed={"PATH": "/bin"}, left_out=("SLURM_JOB_ID", "SLURM_NODEID"))
    failure = failure_in(1, cause, variables=variables)
    assert failure is not None
    assert str(failure).endswith(hint)


@pytest.mark.parametrize("cause", ["KeyError: 'HOST'", "CUDA out of memory", ""])
def test_another_cause_has_no_hint(cause: str) -> None:
    assert hint_for(cause, NOTHING) == ""


def test_a_rank_that_was_set_is_not_explained() -> None:
    assert hint_for("RANK 1 has died", ScriptVariables(passed={"RANK": "1"}, left_out=())) == ""
