"""A worker whose framework sees no GPU ends with the cause, and its trial may run again."""

import re
import sys

import pytest
from builders import placement, trial_spec
from noop_trials import context, run

from orchestrator.core.settings import Deadlines
from orchestrator.train.accelerator_versions import NO_CUDA, accelerator_versions
from orchestrator.train.registry import trainer_info

WITHOUT_CUDA = {
    "torch_ddp": (
        r"trial asks for a gpu; torch \S+ sees none: torch \S+ is a build without CUDA; get one with: "
        r"make gpu, or pip install 'torch>=2.11,<2.14' from PyPI"
    ),
    "tensorflow": (
        r"trial asks for a gpu; TensorFlow \S+ sees none: tensorflow \S+ is a build without CUDA; "
        r"get one with: make gpu, or in an environment of its own: "
        r"pip install 'tensorflow\[and-cuda\]>=2.20,<2.22' 'pillow>=12,<14'"
    ),
}


@pytest.mark.more
@pytest.mark.slow_cases("tensorflow")
@pytest.mark.parametrize("trainer", WITHOUT_CUDA)
def test_a_cpu_build_on_a_gpu_is_a_failure_of_the_environment(trainer, tmp_path):
    if accelerator_versions("gpu", trainer_info(trainer).packages).get("cuda") != NO_CUDA:
        pytest.skip(f"{trainer} has no build without CUDA here")
    sweep_context = context(
        tmp_path,
        deadlines=Deadlines(resources_seconds=60.0, start_seconds=60.0, run_seconds=60.0),
        pythons={trainer: sys.executable},
    )
    request = placement(
        trial_spec(trainer=trainer, device="t4", host_cpu=None), kind="gpu", threads=1, start_method="spawn"
    )
    (record,) = run(sweep_context, request)
    assert record.failure.kind == "environment"
    assert re.fullmatch(WITHOUT_CUDA[trainer], record.failure.message)
