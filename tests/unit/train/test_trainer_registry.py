"""Facts about each trainer, and a version that is raised with its code."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from code_fingerprint import syntax_sha256
from repository import ROOT

from orchestrator.core.device import DeviceKind
from orchestrator.core.errors import TrialError, UnknownNameError
from orchestrator.core.trainer import TrainingRequest
from orchestrator.train.registry import load_trainer, trainer_info, trainers
from workloads.layers import BatchNorm, Conv2d
from workloads.native.code import TRAINERS_VERSION

TRAIN = ROOT / "orchestrator/train"
VERSIONS = json.loads(Path(__file__).with_name("trainer_versions.json").read_text())
_SHARED = ("trainers/torch_process.py", "precision.py", "measurement/evaluation.py")
_TORCH_DDP = ("trainers/torch_ddp_trainer.py", *_SHARED)
_SPLIT = "../extensions/kernel_split/training"
_SCRIPTS = "../extensions/scripts"
_KERNEL_SPLIT = ("trainer", "shares", "balance", "rebalancing", "convolution", "networks")
FILES = {
    "kernel_split": (*(f"{_SPLIT}/{name}.py" for name in _KERNEL_SPLIT), *_SHARED),
    "noop": ("trainers/noop_trainer.py",),
    "script": (
        *(f"{_SCRIPTS}/{name}.py" for name in ("trainer", "part", "variables", "connection", "guard")),
        *(f"{_SCRIPTS}/callback/orchestrator_{name}.py" for name in ("callback", "observer")),
    ),
    "tensorflow": (
        "trainers/tensorflow_trainer.py",
        "trainers/tensorflow_strategy.py",
        "precision.py",
        "measurement/evaluation.py",
    ),
    "torch_ddp": (*_TORCH_DDP, "trainers/torch_fsdp.py"),
    "torch_tpu": _TORCH_DDP,
    "torch_xla": ("trainers/torch_xla_trainer.py", *_SHARED),
    "unequal_ddp": (*_TORCH_DDP, *(f"{_SPLIT}/{name}.py" for name in ("unequal_ddp_trainer", "shares"))),
}
"""The code that decides what a trainer computes."""


NATIVE = (
    *(f"orchestrator/train/trainers/native/{name}.py" for name in ("tensorflow", "torch_ddp", "torch_job")),
    *(f"orchestrator/train/trainers/native/{name}.py" for name in ("torch_fsdp", "torch_xla")),
    *(f"workloads/native/{name}.py" for name in ("keras_data", "keras_step", "torch_data", "torch_step")),
    "workloads/with_torch/float8.py",
)
"""The code that decides what native jobs compute."""


def sha256_of(names: tuple[str, ...]) -> str:
    return syntax_sha256([TRAIN / name for name in names])


def test_the_trainers_of_native_jobs_get_another_version_when_their_code_changes() -> None:
    found = {"version": TRAINERS_VERSION, "sha256": syntax_sha256([ROOT / name for name in NATIVE])}
    assert VERSIONS["native"] == found, (
        "the code of native trainers changed: raise TRAINERS_VERSION in workloads/native/code.py if it "
        f"computes anything else, then write {json.dumps(found)} to tests/unit/train/trainer_versions.json"
    )


@pytest.mark.parametrize("name", sorted(trainers()))
def test_a_trainer_with_changed_code_gets_another_version(name: str) -> None:
    found = {"version": trainers()[name].version, "sha256": sha256_of(FILES[name])}
    assert VERSIONS[name] == found, (
        f"the code of trainer {name!r} changed: raise its version if it computes "
        f"anything else, then write {json.dumps(found)} to tests/unit/train/trainer_versions.json"
    )


def test_an_unknown_trainer_names_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown trainer 'torch_dpp'; did you mean 'torch_ddp'\?"):
        trainer_info("torch_dpp")


def test_the_name_in_the_table_is_the_name_of_the_trainer() -> None:
    assert all(info.name == name for name, info in trainers().items())


def test_noop_is_the_only_trainer_that_is_marked_as_not_training() -> None:
    assert [name for name, info in trainers().items() if not info.trains] == ["noop"]


def test_a_trainer_with_a_missing_package_shows_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_xla", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TrialError, match=r"torch.*; get it with: make xla") as raised:
        load_trainer(trainer_info("torch_xla"))
    assert raised.value.kind == "environment"


def test_the_registry_imports_no_framework() -> None:
    code = (
        "import sys, orchestrator.train.registry as r; r.trainers();"
        "print([m for m in ('torch', 'tensorflow', 'keras', 'torch_xla', 'ray') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("kind", "options", "model"),
    [
        ("cpu", {}, "per_replica"),
        ("gpu", {}, "per_host"),
        ("tpu", {"strategy": "auto"}, "per_host"),
        ("cpu", {"strategy": "mirrored"}, "per_host"),
        ("gpu", {"strategy": "multi_worker"}, "per_replica"),
    ],
)
def test_tensorflow_has_a_process_for_each_replica_or_each_host(kind, options, model) -> None:
    assert trainer_info("tensorflow").process_model(kind, options) == model


def test_torch_has_a_process_for_each_replica_and_xla_for_each_host() -> None:
    assert trainer_info("torch_ddp").process_model("gpu", {}) == "per_replica"
    assert trainer_info("torch_xla").process_model("cpu", {}) == "per_host"


@pytest.mark.parametrize(
    ("name", "kind", "replicas", "num_processes", "stand_ins"),
    [
        ("torch_ddp", "gpu", 1, 1, ()),
        ("torch_ddp", "gpu", 2, 2, ("gloo for nccl",)),
        ("kernel_split", "gpu", 2, 2, ("gloo for nccl",)),
        ("unequal_ddp", "gpu", 2, 2, ("gloo for nccl",)),
        ("tensorflow", "gpu", 1, 1, ()),
        ("tensorflow", "gpu", 2, 1, ("logical CPU devices for GPUs",)),
        ("tensorflow", "gpu", 2, 2, ("RING for NCCL",)),
        ("tensorflow", "tpu", 1, 1, ("the default strategy for TPUStrategy",)),
        ("tensorflow", "tpu", 2, 1, ("MirroredStrategy for TPUStrategy",)),
        ("torch_xla", "tpu", 2, 1, ("PJRT's CPU devices for TPU chips",)),
        (
            "torch_xla",
            "tpu",
            2,
            2,
            ("PJRT's CPU devices for TPU chips", "gloo for the collectives between hosts"),
        ),
        ("noop", "gpu", 2, 2, ()),
    ],
)
def test_a_rehearsal_names_only_the_stand_ins_that_it_has(
    name, kind, replicas, num_processes, stand_ins
) -> None:
    found = trainer_info(name).rehearsed_with(kind, replicas=replicas, num_processes=num_processes)
    assert found == stand_ins


def test_torch_tpu_alone_cannot_be_rehearsed() -> None:
    assert [name for name, info in trainers().items() if not info.rehearses] == ["torch_tpu"]


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("torch_ddp", "torch"),
        ("kernel_split", "torch"),
        ("unequal_ddp", "torch"),
        ("tensorflow", "tensorflow"),
        ("torch_tpu", "torch-tpu"),
        ("torch_xla", "xla"),
    ],
)
def test_the_install_command_of_a_trainer_has_the_requirements_of_its_extra(name: str, extra: str) -> None:
    for requirement in _requirements_of(extra):
        assert f"'{requirement}'" in trainer_info(name).install


@pytest.mark.parametrize(
    ("name", "kind", "extra"),
    [
        ("torch_ddp", "gpu", "torch"),
        ("tensorflow", "gpu", "tensorflow-gpu"),
        ("tensorflow", "tpu", "tensorflow-tpu"),
        ("torch_xla", "tpu", "xla-tpu"),
    ],
)
def test_a_trainer_shows_which_extra_its_accelerator_needs(name: str, kind: DeviceKind, extra: str) -> None:
    for requirement in _requirements_of(extra):
        assert f"'{requirement}'" in trainer_info(name).accelerator_install[kind]


def test_a_precision_shows_the_requirement_of_its_package() -> None:
    package, install = trainer_info("torch_ddp").precision_packages["fp8"]
    (requirement,) = [one for one in _requirements_of("fp8") if one.startswith(package)]
    assert install == f"pip install '{requirement}'"


def _requirements_of(extra: str) -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]


@pytest.mark.parametrize("replicas", [1, 2])
def test_no_trainer_refuses_its_default_options_and_precision(replicas):
    for info in trainers().values():
        for kind, (precision, *_) in info.precisions.items():
            request = TrainingRequest(
                workload="mnist_cnn",
                kind=kind,
                generation=None,
                precision=precision,
                replicas=replicas,
                options={name: values[0] for name, values in info.options.items()},
                has_layer=lambda *layers: Conv2d in layers or BatchNorm in layers,
            )
            assert info.check(request) is None, info.name
