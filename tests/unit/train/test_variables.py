"""Variables of the user's shell: which a worker never sees, and which its record tells."""

import os

import pytest

from orchestrator.train.environment import telling, without_hidden_settings


@pytest.mark.parametrize(
    "name",
    [
        "ONEDNN_DEFAULT_FPMATH_MODE",
        "DNNL_DEFAULT_FPMATH_MODE",
        "TF_SET_ONEDNN_FPMATH_MODE",
        "NVIDIA_TF32_OVERRIDE",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "XLA_USE_BF16",
        "XLA_DOWNCAST_BF16",
        "TF_CONFIG",
        "XLA_USE_SPMD",
        "KERAS_BACKEND",
    ],
)
def test_what_changes_arithmetic_or_parallelism_unasked_does_not_reach_a_worker(name):
    assert name not in without_hidden_settings({name: "1"})


def test_everything_else_does():
    found = without_hidden_settings({"PATH": "/bin", "XLA_FLAGS": "--xla_cpu_enable_fast_math=false"})
    assert {"PATH": "/bin", "XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}.items() <= found.items()


def test_keras_finds_no_configuration_file_of_the_user():
    assert without_hidden_settings({"KERAS_HOME": "/home/ada/.keras"})["KERAS_HOME"] == os.devnull


def test_a_record_shows_what_changes_speed():
    variables = {
        "OMP_NUM_THREADS": "1",
        "KMP_AFFINITY": "compact",
        "XLA_FLAGS": "--xla_cpu_use_thunk_runtime=false",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "LD_PRELOAD": "libjemalloc.so.2",
    }
    assert telling({**variables, "HOME": "/root", "OMP_PLACES": ""}) == variables


@pytest.mark.parametrize("name", ["TF_VAR_password", "TF_TOKEN_example", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"])
def test_a_record_shows_no_secret(name):
    assert telling({name: "hunter2"}) == {}
