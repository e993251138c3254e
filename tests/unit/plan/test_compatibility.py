"""Compatible trainers, devices and precisions, and the messages where they are not."""

from dataclasses import replace

import pytest
from plan_builders import A100, T4, TPU, point, tensorflow_like, torch_like

from orchestrator.core.trial_spec import TimingSpec
from orchestrator.plan.compatibility import reason_against
from orchestrator.train.registry import trainer_info

XLA = torch_like(
    name="torch_xla",
    precisions={"cpu": ("fp32", "bf16"), "tpu": ("fp32", "bf16", "tpu_default")},
    refusals={},
)
NORMALISES_ALONE = torch_like(single_replica_batch_norm={("compile", "on"): "cannot sum batch normalisation"})
COMPILED_GAN = {"workload": "mnist_gan", "trainer_options": {"compile": "on"}}
SPLITS = torch_like(name="kernel_split", splits_convolutions=True)
SCALES_ALONE = torch_like(single_replica={"fp16": "scales the loss of one replica only"})


@pytest.mark.parametrize(
    ("trainer", "changes"),
    [
        (torch_like(), {}),
        (torch_like(), {"timing": TimingSpec(target=0.9)}),
        (torch_like(trains=False), {}),
        (torch_like(), {"precision": "bf16"}),
        (torch_like(), {"device": T4, "precision": "fp16"}),
        (torch_like(), {"device": A100, "precision": "tf32"}),
        (tensorflow_like(), {"device": TPU, "precision": "tpu_default"}),
        (tensorflow_like(), {"device": TPU, "precision": "bf16"}),
        (XLA, {"device": TPU, "precision": "fp32"}),
        (replace(XLA, generations=("v3", "v4")), {"device": TPU}),
        (replace(XLA, generations=("v4",)), {}),
        (torch_like(), {"device": T4, "precision": "fp16", "num_workers": 2}),
        (SCALES_ALONE, {"device": T4, "precision": "fp16"}),
        (SCALES_ALONE, {"device": T4, "precision": "fp32", "num_workers": 2}),
        (NORMALISES_ALONE, COMPILED_GAN),
        (NORMALISES_ALONE, {"workload": "mnist_gan", "num_workers": 2}),
        (NORMALISES_ALONE, {**COMPILED_GAN, "workload": "mnist_cnn", "num_workers": 2}),
        (SPLITS, {"num_workers": 8}),
        (SPLITS, {"workload": "mobilenet_v2", "workload_options": {"width": 0.25}}),
    ],
)
def test_what_goes_together_has_no_reason_against_it(trainer, changes):
    assert reason_against(point(**changes), trainer) is None


@pytest.mark.parametrize(
    ("trainer", "changes", "reason"),
    [
        (
            torch_like(),
            {"precision": "fp16"},
            "fp16 on a CPU is 65 to 200 times slower than fp32; choose bf16 or fp32",
        ),
        (XLA, {"device": TPU, "precision": "fp16"}, "a TPU has no fp16; choose bf16"),
        (
            torch_like(),
            {"device": T4, "precision": "bf16"},
            "t4 has no bf16 arithmetic; choose one of: fp32, fp16",
        ),
        (torch_like(), {"precision": "tf32"}, "cpu has no tf32 arithmetic; choose one of: fp32, bf16"),
        (
            tensorflow_like(),
            {"device": TPU, "precision": "fp32"},
            "tensorflow cannot ask a TPU for full fp32, which would be rounded to bf16 unsaid; "
            "choose tpu_default, which says so",
        ),
        (
            torch_like(),
            {"device": T4, "precision": "tpu_default"},
            "tpu_default is a TPU's own rounding of fp32; choose one of: fp32, fp16",
        ),
        (
            torch_like(refused_options={("gpu", "compile", "on"): "cannot compile there"}),
            {"device": T4, "trainer_options": {"compile": "on"}},
            "torch_ddp cannot compile there; leave trainer.compile=on out on a GPU",
        ),
        (torch_like(), {"device": TPU}, "torch_ddp needs torch_tpu; it trains on: CPU, GPU"),
        (
            trainer_info("unequal_ddp"),
            {"device": TPU},
            "unequal_ddp deals out by speed, in which the chips of a TPU do not differ; "
            "it trains on: CPU, GPU",
        ),
        (
            torch_like(name="torch_tpu", precisions={"tpu": ("bf16",)}, generations=("v4", "v6e")),
            {"device": TPU},
            "torch_tpu knows no TPU v3; it trains on: v4, v6e",
        ),
        (XLA, {"device": T4}, "torch_xla has no path to a GPU; it trains on: CPU, TPU"),
        (
            torch_like(precisions={"cpu": ("fp32",)}),
            {"precision": "bf16"},
            "torch_ddp cannot set bf16 on a CPU; choose one of: fp32",
        ),
        (
            SCALES_ALONE,
            {"device": T4, "precision": "fp16", "num_workers": 2},
            "torch_ddp scales the loss of one replica only; for 2 replicas choose other than fp16",
        ),
        (
            NORMALISES_ALONE,
            {**COMPILED_GAN, "num_workers": 2},
            "torch_ddp cannot sum batch normalisation; for 2 replicas leave trainer.compile=on out",
        ),
        (
            torch_like(name="noop", trains=False),
            {"timing": TimingSpec(target=0.9)},
            "noop trains nothing, so it comes to no quality; leave out measure.target",
        ),
        (
            SPLITS,
            {"workload": "mnist_gan"},
            "kernel_split cannot split transposed convolutions, which mnist_gan has; choose another trainer",
        ),
        (
            SPLITS,
            {"workload": "imdb_bigru"},
            "kernel_split splits convolutions, and imdb_bigru has none; choose another trainer",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence_with_what_does(trainer, changes, reason):
    assert reason_against(point(**changes), trainer) == reason
