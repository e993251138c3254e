"""Compatible trainers, devices and precisions, and the messages where they are not."""

from dataclasses import replace

import pytest
from plan_builders import A100, T4, TPU, point, tensorflow_like, torch_like

from orchestrator.core.trial_spec import MemorySettings, TimingSpec
from orchestrator.plan import compatibility
from orchestrator.plan.compatibility import reason_against
from orchestrator.train.registry import trainer_info
from workloads.cost import find_cost
from workloads.registry import workload

XLA = torch_like(
    name="torch_xla",
    precisions={"cpu": ("fp32", "bf16"), "tpu": ("fp32", "bf16", "tpu_default")},
)
COMPILED_GAN = {"workload": "mnist_gan", "trainer_options": {"compile": "on"}}
TENSORFLOW, SPLITS = trainer_info("tensorflow"), trainer_info("kernel_split")
TORCH_TPU = replace(trainer_info("torch_tpu"), precisions={"tpu": ("bf16",)})
TRAINIUM = replace(
    TPU, name="trainium2", kind="accelerator", slice_type=None, no_trainer="trainium2 needs Neuron"
)
H100 = replace(A100, name="h100", native_precisions=(*A100.native_precisions, "fp8"))
V4 = replace(TPU, name="tpu_v4_8", slice_type="v4-8")


@pytest.mark.parametrize(
    ("trainer", "changes"),
    [
        (torch_like(), {}),
        (torch_like(), {"timing": TimingSpec(target=0.9)}),
        (torch_like(trains=False), {}),
        (torch_like(), {"precision": "bf16"}),
        (torch_like(), {"device": T4, "precision": "fp16"}),
        (torch_like(), {"device": A100, "precision": "tf32"}),
        (trainer_info("torch_ddp"), {"device": H100, "precision": "fp8"}),
        (tensorflow_like(), {"device": TPU, "precision": "tpu_default"}),
        (tensorflow_like(), {"device": TPU, "precision": "bf16"}),
        (XLA, {"device": TPU, "precision": "fp32"}),
        (TORCH_TPU, {"device": V4, "precision": "bf16"}),
        (torch_like(), {"device": T4, "precision": "fp16", "num_workers": 2}),
        (TENSORFLOW, {"device": T4, "precision": "fp16"}),
        (TENSORFLOW, {"device": T4, "precision": "fp32", "num_workers": 2}),
        (TENSORFLOW, COMPILED_GAN),
        (TENSORFLOW, {"workload": "mnist_gan", "num_workers": 2}),
        (TENSORFLOW, {**COMPILED_GAN, "workload": "mnist_cnn", "num_workers": 2}),
        (SPLITS, {"num_workers": 8}),
        (SPLITS, {"workload": "mobilenet_v2", "workload_options": {"width": 0.25}}),
    ],
)
def test_what_goes_together_has_no_reason_against_it(trainer, changes):
    assert reason_against(point(**changes), trainer) is None


def test_weights_of_4_bits_are_refused_in_fp8_before_a_machine_starts(monkeypatch):
    packed = replace(find_cost(workload("mnist_cnn", {})), has_packed_weights=True)
    monkeypatch.setattr(compatibility, "find_cost", lambda _: packed)
    torch_ddp, fp8 = trainer_info("torch_ddp"), point(device=H100, precision="fp8")
    reason = "layers of mnist_cnn in 4 bits do not multiply in fp8; choose precision=bf16"
    assert reason_against(fp8, torch_ddp) == reason
    assert reason_against(point(device=H100, precision="bf16"), torch_ddp) is None


@pytest.mark.parametrize(
    ("trainer", "changes", "reason"),
    [
        (
            torch_like(),
            {"precision": "fp16"},
            "fp16 on a CPU is 65 to 200 times slower than fp32; choose bf16 or fp32",
        ),
        (XLA, {"device": TPU, "precision": "fp16"}, "a TPU has no fp16; choose bf16"),
        (torch_like(), {"device": TRAINIUM}, "trainium2 needs Neuron; choose a GPU or TPU"),
        (
            torch_like(),
            {"device": T4, "precision": "bf16"},
            "t4 has no bf16 arithmetic; choose one of: fp32, fp16",
        ),
        (
            trainer_info("torch_ddp"),
            {"device": A100, "precision": "fp8"},
            "a100_40 has no fp8 arithmetic; choose one of: fp32, tf32, bf16, fp16",
        ),
        (
            trainer_info("torch_ddp"),
            {"device": T4, "precision": "fp8"},
            "t4 has no fp8 arithmetic; choose one of: fp32, fp16",
        ),
        (
            trainer_info("torch_ddp"),
            {"precision": "fp8"},
            "cpu has no fp8 arithmetic; choose one of: fp32, bf16",
        ),
        (
            TENSORFLOW,
            {"device": H100, "precision": "fp8"},
            "tensorflow cannot set fp8 on a GPU; choose one of: fp32, tf32, bf16, fp16",
        ),
        (
            trainer_info("torch_xla"),
            {"device": replace(TPU, native_precisions=("bf16", "fp8")), "precision": "fp8"},
            "torch_xla cannot set fp8 on a TPU; choose one of: bf16, tpu_default",
        ),
        (torch_like(), {"precision": "tf32"}, "cpu has no tf32 arithmetic; choose one of: fp32, bf16"),
        (
            tensorflow_like(),
            {"device": TPU, "precision": "fp32"},
            "tensorflow cannot request full fp32 from a TPU, which would round to bf16 silently; "
            "choose tpu_default, which names the rounding",
        ),
        (
            torch_like(),
            {"device": T4, "precision": "tpu_default"},
            "tpu_default is the rounding of fp32 on a TPU; choose one of: fp32, fp16",
        ),
        (
            TENSORFLOW,
            {"device": TPU, "precision": "bf16", "trainer_options": {"compile": "on"}},
            "tensorflow always compiles a step on a TPU; remove trainer.compile=on for a TPU",
        ),
        (
            TENSORFLOW,
            {"device": TPU, "precision": "bf16", "trainer_options": {"strategy": "mirrored"}},
            "tensorflow trains on a TPU with TPUStrategy only; remove trainer.strategy=mirrored for a TPU",
        ),
        (torch_like(), {"device": TPU}, "torch_ddp does not train on a TPU; it trains on: CPU, GPU"),
        (
            trainer_info("torch_ddp"),
            {"device": TPU},
            "torch_ddp does not train on a TPU; choose trainer=torch_tpu, or a CPU or GPU",
        ),
        (SPLITS, {"device": TPU}, "kernel_split cannot send messages between TPUs; choose a CPU or GPU"),
        (
            trainer_info("torch_xla"),
            {"device": T4},
            "torch_xla needs a CUDA plugin for a GPU, and its package has none; "
            "choose another trainer, or a CPU or TPU",
        ),
        (
            trainer_info("unequal_ddp"),
            {"device": TPU},
            "unequal_ddp shares a batch by speed, and TPU chips have equal speeds; choose a CPU or GPU",
        ),
        (
            TORCH_TPU,
            {"device": TPU},
            "torch_tpu does not support TPU v3; it supports: v4, v5p, v5litepod, v6e",
        ),
        (
            trainer_info("torch_xla"),
            {"device": replace(TPU, slice_type="tpu7x-8")},
            "torch_xla 2.9 brings libtpu 0.0.21, which has no TPU v7x; choose another trainer or TPU",
        ),
        (XLA, {"device": T4}, "torch_xla does not train on a GPU; it trains on: CPU, TPU"),
        (
            torch_like(precisions={"cpu": ("fp32",)}),
            {"precision": "bf16"},
            "torch_ddp cannot set bf16 on a CPU; choose one of: fp32",
        ),
        (
            TENSORFLOW,
            {"device": T4, "precision": "fp16", "num_workers": 2},
            "tensorflow scales the loss for one replica only, because Keras looks for overflow in the "
            "gradients of the first one; for 2 replicas choose another precision than fp16",
        ),
        (
            TENSORFLOW,
            {**COMPILED_GAN, "num_workers": 2},
            "tensorflow cannot sum batch normalisation over replicas in a compiled step; "
            "for 2 replicas remove trainer.compile=on",
        ),
        (
            TENSORFLOW,
            {"memory_settings": MemorySettings(micro_batch_size=8)},
            "tensorflow has no micro_batch_size; choose trainer=torch_ddp, or leave it out",
        ),
        (
            trainer_info("torch_ddp"),
            {"workload": "mnist_gan", "memory_settings": MemorySettings(micro_batch_size=8)},
            "batch normalisation of mnist_gan takes its statistics of the whole batch; "
            "leave micro_batch_size out",
        ),
        (
            TENSORFLOW,
            {"workload": "gpt2", "memory_settings": MemorySettings(activation_checkpointing="full")},
            "tensorflow has no activation_checkpointing; choose trainer=torch_ddp, or leave it out",
        ),
        (
            trainer_info("torch_ddp"),
            {"memory_settings": MemorySettings(activation_checkpointing="selective")},
            "mnist_cnn repeats no block without batch normalisation; leave activation_checkpointing out",
        ),
        (
            TENSORFLOW,
            {"memory_settings": MemorySettings(sharding="full")},
            "tensorflow has no sharding (Keras has no such layout on TensorFlow); choose trainer=torch_ddp, "
            "or leave it out",
        ),
        (
            XLA,
            {"memory_settings": MemorySettings(sharding="full")},
            "torch_xla has no sharding (not yet); choose trainer=torch_ddp, or leave it out",
        ),
        (
            trainer_info("torch_ddp"),
            {"trainer_options": {"compile": "on"}, "memory_settings": MemorySettings(sharding="full")},
            "sharded weights are not compiled; remove trainer.compile=on, or leave sharding out",
        ),
        (
            trainer_info("torch_ddp"),
            {"memory_settings": MemorySettings(sharding="hybrid"), "num_workers": 4},
            "sharding=hybrid shards over the replicas of each host, and 4 on 1 are not several hosts of "
            "several; set num_hosts, or choose sharding=full",
        ),
        (
            trainer_info("torch_ddp"),
            {"memory_settings": MemorySettings(sharding="hybrid"), "num_workers": 2, "num_hosts": 2},
            "sharding=hybrid shards over the replicas of each host, and 2 on 2 are not several hosts of "
            "several; set num_hosts, or choose sharding=full",
        ),
        (
            trainer_info("torch_ddp"),
            {"workload": "mnist_gan", "memory_settings": MemorySettings(sharding="full")},
            "mnist_gan trains several networks or phases, and shards are of one network in one phase; "
            "leave sharding out",
        ),
        (
            torch_like(name="noop", trains=False),
            {"timing": TimingSpec(target=0.9)},
            "noop trains nothing and reaches no quality; remove measure.target",
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
