"""Training rates of transformers that others published, each with its source."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerRate:
    """A transformer in training, without activation checkpointing, in parallel over data only.

    Attributes:
        device: name of its file in conf/device.
        num_workers: such devices that share a batch.
        workload: the same network here.
        options: of the workload: its size, and the length of a sequence or the edge of an image.
        global_batch_size: sequences or images of one forward and backward pass on all devices together.
        samples_per_second: sequences or images, of all devices together.
        source: who published it, and with what; the notes under TRANSFORMER_RATES name its files.
    """

    device: str
    precision: str
    num_workers: int
    workload: str
    options: Mapping[str, int | str]
    global_batch_size: int
    samples_per_second: float
    source: str


_Network = tuple[str, Mapping[str, int | str]]


def _bert(size: str, sequence_length: int, task: str) -> _Network:
    return "bert_base", {"size": size, "sequence_length": sequence_length, "task": task}


def _gpt2(size: str, sequence_length: int) -> _Network:
    return "gpt2", {"size": size, "sequence_length": sequence_length}


def _vit(size: str, image_size: int) -> _Network:
    return "vit_b16", {"size": size, "image_size": image_size, "num_classes": 1000}


_BAAI, _FLASHLIGHT, _LAMBDA, _MOSAICML = "BAAI", "Flashlight", "Lambda", "MosaicML"
_LLM_C, _LLM_C_H100, _NANOGPT = "llm.c", "modded-nanogpt", "nanoGPT"
_ELECTRA, _JAX, _PADDLE = "NVIDIA ELECTRA", "NVIDIA JAX-Toolbox", "NVIDIA Paddle 22.12"
_PYTORCH_20, _PYTORCH_21 = "NVIDIA PyTorch 20.06", "NVIDIA PyTorch 21.11"
_TENSORFLOW_20, _TENSORFLOW_21 = "NVIDIA TensorFlow 20.06", "NVIDIA TensorFlow 21.02"

TRANSFORMER_RATES = tuple(
    TransformerRate(
        device=device,
        precision=precision,
        num_workers=num_workers,
        workload=workload,
        options=options,
        global_batch_size=batch_size,
        samples_per_second=samples_per_second,
        source=source,
    )
    for (workload, options), rates in (
        (
            _bert("large", 128, "masked_lm"),
            (
                ("v100", "fp32", 1, 8, 40.0, _PYTORCH_20),
                ("v100", "fp16", 1, 16, 164.0, _PYTORCH_20),
                ("a100_40", "tf32", 1, 54, 234.0, _PYTORCH_20),
                ("a100_40", "fp16", 1, 64, 415.0, _PYTORCH_20),
                ("v100", "fp32", 1, 8, 39.43, _TENSORFLOW_20),
                ("v100", "fp16", 1, 16, 134.34, _TENSORFLOW_20),
                ("a100_40", "tf32", 1, 64, 238.10, _TENSORFLOW_20),
                ("a100_40", "fp16", 1, 64, 356.845, _TENSORFLOW_20),
                ("a100_80", "tf32", 1, 176, 282.98, _TENSORFLOW_21),
                ("a100_80", "fp16", 1, 312, 485.59, _TENSORFLOW_21),
                ("a100_80", "tf32", 1, 128, 317.0, _PYTORCH_21),
                ("a100_80", "fp16", 1, 256, 580.0, _PYTORCH_21),
                ("a100_80", "tf32", 1, 128, 307.0, _PADDLE),
                ("a100_80", "fp16", 1, 256, 694.0, _PADDLE),
            ),
        ),
        (
            _bert("large", 512, "masked_lm"),
            (
                ("v100", "fp16", 1, 4, 34.0, _PYTORCH_20),
                ("a100_40", "tf32", 1, 8, 41.0, _PYTORCH_20),
                ("a100_40", "fp16", 1, 16, 78.0, _PYTORCH_20),
                ("v100", "fp32", 1, 2, 9.80, _TENSORFLOW_20),
                ("v100", "fp16", 1, 4, 28.72, _TENSORFLOW_20),
                ("a100_40", "tf32", 1, 8, 39.96, _TENSORFLOW_20),
                ("a100_40", "fp16", 1, 16, 70.856, _TENSORFLOW_20),
                ("a100_80", "tf32", 1, 22, 54.92, _TENSORFLOW_21),
                ("a100_80", "fp16", 1, 40, 96.52, _TENSORFLOW_21),
                ("a100_40", "tf32", 1, 12, 41.8, _BAAI),
                ("a100_40", "tf32", 8, 96, 294.5, _BAAI),
                ("a100_40", "fp16", 8, 160, 405.5, _BAAI),
                ("a100_40", "bf16", 8, 256, 614.4, _BAAI),
            ),
        ),
        (
            _bert("large", 384, "classification"),
            (
                ("v100", "fp32", 8, 32, 61.0, _PYTORCH_20),
                ("v100", "fp16", 1, 10, 50.0, _PYTORCH_20),
                ("v100", "fp16", 8, 80, 359.0, _PYTORCH_20),
                ("a100_40", "tf32", 1, 16, 44.0, _PYTORCH_20),
                ("a100_40", "tf32", 8, 128, 324.0, _PYTORCH_20),
                ("a100_40", "fp16", 1, 32, 116.0, _PYTORCH_20),
                ("a100_40", "fp16", 8, 256, 861.0, _PYTORCH_20),
                ("v100", "fp32", 1, 2, 7.36, _TENSORFLOW_20),
                ("v100", "fp32", 8, 16, 52.39, _TENSORFLOW_20),
                ("v100", "fp16", 1, 4, 29.74, _TENSORFLOW_20),
                ("v100", "fp16", 8, 32, 189.77, _TENSORFLOW_20),
                ("a100_40", "tf32", 1, 16, 61.364, _TENSORFLOW_20),
                ("a100_40", "tf32", 8, 128, 440.47, _TENSORFLOW_20),
                ("a100_40", "fp16", 1, 32, 102.26, _TENSORFLOW_20),
                ("a100_40", "fp16", 8, 256, 767.071, _TENSORFLOW_20),
                ("v100", "fp32", 1, 3, 9.85, _TENSORFLOW_21),
                ("v100", "fp32", 8, 24, 73.03, _TENSORFLOW_21),
                ("v100", "fp16", 1, 6, 39.10, _TENSORFLOW_21),
                ("v100", "fp16", 8, 48, 255.36, _TENSORFLOW_21),
                ("a100_80", "tf32", 1, 32, 61.5, _PYTORCH_21),
                ("a100_80", "tf32", 8, 256, 469.8, _PYTORCH_21),
                ("a100_80", "fp16", 1, 32, 110.5, _PYTORCH_21),
                ("a100_80", "fp16", 8, 256, 846.7, _PYTORCH_21),
                ("a100_80", "tf32", 1, 32, 83.0, _PADDLE),
                ("a100_80", "tf32", 8, 256, 629.0, _PADDLE),
                ("a100_80", "fp16", 1, 32, 123.0, _PADDLE),
                ("a100_80", "fp16", 8, 256, 929.0, _PADDLE),
                ("v100", "fp32", 1, 8, 12.42, _LAMBDA),
                ("v100", "fp16", 1, 16, 57.87, _LAMBDA),
                ("a100_40", "tf32", 1, 28, 59.45, _LAMBDA),
                ("a100_40", "fp16", 1, 48, 133.59, _LAMBDA),
                ("a100_pcie_40", "tf32", 1, 28, 53.94, _LAMBDA),
                ("a100_pcie_40", "fp16", 1, 48, 117.87, _LAMBDA),
                ("a100_80", "tf32", 1, 64, 75.59, _LAMBDA),
                ("a100_80", "fp16", 1, 112, 152.85, _LAMBDA),
                ("a100_pcie_80", "tf32", 1, 64, 70.87, _LAMBDA),
                ("a100_pcie_80", "fp16", 1, 112, 140.44, _LAMBDA),
                ("rtx_4090", "tf32", 1, 16, 44.99, _LAMBDA),
                ("rtx_4090", "fp16", 1, 28, 93.59, _LAMBDA),
                ("h100_pcie", "tf32", 1, 64, 100.72, _LAMBDA),
                ("h100_pcie", "fp16", 1, 112, 204.87, _LAMBDA),
                ("h100", "tf32", 1, 64, 145.52, _LAMBDA),
                ("h100", "fp16", 1, 112, 311.37, _LAMBDA),
                ("h200", "tf32", 1, 96, 181.57, _LAMBDA),
                ("h200", "fp16", 1, 192, 350.32, _LAMBDA),
            ),
        ),
        (
            _bert("base", 384, "classification"),
            (
                ("v100", "fp32", 1, 8, 35.0, _ELECTRA),
                ("v100", "fp32", 8, 64, 268.0, _ELECTRA),
                ("v100", "fp16", 1, 16, 154.0, _ELECTRA),
                ("v100", "fp16", 8, 128, 1051.0, _ELECTRA),
                ("a100_40", "tf32", 1, 32, 107.0, _ELECTRA),
                ("a100_40", "tf32", 8, 256, 828.0, _ELECTRA),
                ("a100_40", "fp16", 1, 32, 317.0, _ELECTRA),
                ("a100_40", "fp16", 8, 256, 2221.0, _ELECTRA),
                ("v100", "fp32", 1, 24, 42.70, _LAMBDA),
                ("v100", "fp16", 1, 48, 189.94, _LAMBDA),
                ("a100_40", "tf32", 1, 80, 199.97, _LAMBDA),
                ("a100_40", "fp16", 1, 160, 416.78, _LAMBDA),
                ("a100_pcie_40", "tf32", 1, 80, 179.35, _LAMBDA),
                ("a100_pcie_40", "fp16", 1, 160, 368.09, _LAMBDA),
                ("a100_80", "tf32", 1, 172, 239.78, _LAMBDA),
                ("a100_80", "fp16", 1, 320, 443.72, _LAMBDA),
                ("a100_pcie_80", "tf32", 1, 172, 224.01, _LAMBDA),
                ("a100_pcie_80", "fp16", 1, 320, 415.70, _LAMBDA),
                ("rtx_4090", "tf32", 1, 48, 137.16, _LAMBDA),
                ("rtx_4090", "fp16", 1, 96, 297.67, _LAMBDA),
                ("h100_pcie", "tf32", 1, 172, 302.49, _LAMBDA),
                ("h100_pcie", "fp16", 1, 320, 580.53, _LAMBDA),
                ("h100", "tf32", 1, 172, 432.95, _LAMBDA),
                ("h100", "fp16", 1, 320, 858.96, _LAMBDA),
                ("h200", "tf32", 1, 296, 514.61, _LAMBDA),
                ("h200", "fp16", 1, 592, 932.19, _LAMBDA),
            ),
        ),
        (
            _gpt2("small", 512),
            (
                ("a100_40", "bf16", 8, 832, 1253886 / 512, _MOSAICML),
                ("a100_80", "bf16", 8, 1024, 1325455 / 512, _MOSAICML),
            ),
        ),
        (
            _gpt2("small", 1024),
            (
                ("a100_40", "bf16", 1, 20, 100 / 0.755, _NANOGPT),
                ("a100_pcie_40", "tf32", 1, 4, 4 / 0.080, _LLM_C),
                ("a100_40", "bf16", 8, 416, 1186314 / 1024, _MOSAICML),
                ("a100_80", "bf16", 8, 512, 1251751 / 1024, _MOSAICML),
                ("a100_80", "bf16", 8, 512, 512 / 0.300, _LLM_C),
                ("h100", "bf16", 8, 512, 512 / 0.140, _LLM_C_H100),
            ),
        ),
        (
            _gpt2("small", 2048),
            (
                ("a100_40", "bf16", 8, 208, 1090678 / 2048, _MOSAICML),
                ("a100_80", "bf16", 8, 320, 1142641 / 2048, _MOSAICML),
            ),
        ),
        (
            _gpt2("medium", 512),
            (
                ("a100_40", "bf16", 8, 512, 530277 / 512, _MOSAICML),
                ("a100_80", "bf16", 8, 1024, 554643 / 512, _MOSAICML),
            ),
        ),
        (
            _gpt2("medium", 1024),
            (
                ("a100_40", "tf32", 1, 4, 14.2, _BAAI),
                ("a100_40", "tf32", 8, 32, 97.5, _BAAI),
                ("a100_40", "bf16", 8, 256, 500184 / 1024, _MOSAICML),
                ("a100_80", "bf16", 8, 512, 518504 / 1024, _MOSAICML),
                ("a100_80", "bf16", 8, 512, 512 / 0.820, _LLM_C),
            ),
        ),
        (
            _gpt2("medium", 2048),
            (
                ("a100_40", "bf16", 8, 128, 447963 / 2048, _MOSAICML),
                ("a100_80", "bf16", 8, 256, 470263 / 2048, _MOSAICML),
            ),
        ),
        (_gpt2("large", 1024), (("a100_80", "bf16", 8, 256, 512 / 1.7, _LLM_C),)),
        (_gpt2("xl", 1024), (("h100", "bf16", 8, 128, 1024 / 2.80, _LLM_C),)),
        (
            _vit("b16", 224),
            (
                ("v100", "fp32", 1, 64, 93.95, _FLASHLIGHT),
                ("v100", "fp32", 8, 512, 742.64, _FLASHLIGHT),
                ("v100", "fp16", 1, 64, 263.42, _FLASHLIGHT),
                ("v100", "fp16", 8, 512, 2020.85, _FLASHLIGHT),
                ("a100_80", "bf16", 8, 4096, 7200.38, _JAX),
                ("h100", "bf16", 8, 4096, 11669.52, _JAX),
            ),
        ),
        (_vit("b16", 384), (("a100_80", "bf16", 8, 512, 1841.43, _JAX),)),
    )
    for device, precision, num_workers, batch_size, samples_per_second, source in rates
)
"""As they were published, all of tuned code:

- NVIDIA/DeepLearningExamples: README.md of a network, "Training performance results", on DGX-1 (8x V100
  16G) and DGX A100 (8x A100 40GB or 80GB). PyTorch 20.06: PyTorch/LanguageModeling/BERT @78ec680. PyTorch
  21.11: the same folder @729963d. TensorFlow 20.06: TensorFlow/LanguageModeling/BERT @729963d. TensorFlow
  21.02: TensorFlow2/LanguageModeling/BERT @729963d. Paddle 22.12: PaddlePaddle/LanguageModeling/BERT
  @729963d. ELECTRA: TensorFlow2/LanguageModeling/ELECTRA @729963d, fine-tuning of ELECTRA-base, whose
  discriminator is BERT-base; its mixed precision is with XLA.
- NVIDIA/JAX-Toolbox @fd58524, rosetta/rosetta/projects/vit/README.md: "Pre-training Performance Results",
  and "Convergence Results" for 384 pixels. The tables name no precision; the commands say bfloat16. The
  H100 is taken for SXM. A hidden layer precedes the classifier in pre-training.
- lambdal/deeplearning-benchmark @aa5addb, pytorch/: training_sequences_per_second at the end of the logs of
  PyTorch_bert_{base,large}_squad_{FP32,FP16}, of 100 steps on one device, the slow first ones included. One
  log each in results/: LambdaCloud_V100_16GB_v1, A100_40GB_SXM4_v1, LambdaCloud_A100_40GB_PCIe_v1,
  A100_80GB_SXM4_v1, A100_80GB_PCIe_v1, 4090_v1. The mean of three logs each in results_v2/:
  LambdaOD_1x_Texas_1xH100_80GB_PCIe_209-20-158-50_v2, LambdaOD_1x_Texas_1xH100_80GB_SXM5_192-222-52-129_v2,
  LambdaBM_ENG04_1xH200_140GB_SXM_h200_v2. What it calls FP32 is taken for tf32, except on the V100: the
  rates of A100, H100 and H200 are above the fp32 peak. The V100 is taken for SXM2: its power is given as
  300 W.
- FlagOpen/FlagPerf @1b5a030 of BAAI, training/nvidia/bert_hf-pytorch/README.md and gpt2-pytorch/README.md:
  p_train on A100-SXM4-40GB, without evaluation. Its fp32 is tf32 there (training/nvidia/README.md), its amp
  is fp16, its bf16 is of the weights too. GPT-2 on one device updates the weights every 8 passes.
- mosaicml/llm-foundry @8c8dd48, scripts/train/benchmarking/README.md, tables "A100 80GB" and "A100 40GB":
  tokens a second over the length of a sequence. MPT 125m and 350m are GPT-2 small and medium with a
  vocabulary of 50368 and flash attention. The A100 is taken for SXM4. FSDP with FULL_SHARD gathers the
  weights too, which is 1.5 times the traffic of ours. An update comes every 2 passes on 80 GB, and on 40 GB
  every 3 (125m) or 4 (350m).
- karpathy/llm.c @f1e2ace, scripts/run_gpt2_{124M,350M,774M,1558M}.sh: sequences of a step over its seconds,
  which the comments round ("~300ms/iter"). CUDA code with cuDNN attention and ZeRO 1, and a vocabulary
  of 50304. 774M and 1558M exchange gradients every 2 and 8 passes. In tf32: README.md @fc40ffc, PyTorch with
  torch.compile, "~80ms/iteration" with 4 sequences; README.md @7017000 calls the author's A100 "40GB PCIe".
- KellerJordan/modded-nanogpt @f411b3d, records/track_1_short/2024-10-13_llmc/README.md: "The mean per-step
  time was 140ms" with llm.c on 8x H100 HBM3. The batch is that of run_gpt2_124M.sh, which the log's number
  of steps confirms.
- karpathy/nanoGPT @3adf61e, transformer_sizing.ipynb: batch size of 20, 5 passes before an update, 755 ms
  on a single A100. It is taken for SXM4 40GB: README.md names a node of 8XA100 40GB. PyTorch 2.0.
- flashlight/flashlight @04b969f, flashlight/app/benchmark/README.md, "NVIDIA V100 GPUs". They have 32 GB:
  ResNet-50 took 28.78 GB, ViT 7.22 to 10.83 GB. SXM2 is a guess. Random images lie on the device.

Their steps differ from ours:

- Question answering on SQuAD (384 tokens) stands under classification. Its head has two outputs for each
  position, which is less than 0.1% of the arithmetic. Sequences are padded to their full length.
- All positions go through the product with the vocabulary in PyTorch 20.06 and for BAAI. Only masked
  positions do in TensorFlow, PyTorch 21.11 and Paddle: 20 of 128, 80 of 512. Logits at all positions would
  take 1.087 times the arithmetic of BERT-large at 128 tokens, and 1.082 times at 512.
- NVIDIA's masked_lm rows accumulate 32 to 16384 passes before an update. Their batch size is that of one
  pass, and their steps lack the optimizer's memory traffic. They are of one device: several devices would
  exchange gradients as rarely.
- The optimizer is LAMB in NVIDIA's masked_lm rows, SGD in Flashlight's and in that of 384 pixels, Adam or
  AdamW in the others.
"""
