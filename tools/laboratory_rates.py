"""Rates that laboratories published of networks on ImageNet, with the peaks of their devices.

`laboratory_rates.csv` and `laboratory_devices.csv` hold the figures:

- Lambda, TensorFlow: LambdaColdStorage/lambda-tensorflow-benchmark @080a6b7, tf-train-throughput-fp16.csv,
  -fp32.csv and tf-train-bs-*.csv. No licence file. fp32 on Ampere is taken for tf32.
- Lambda, PyTorch: lambdal/deeplearning-benchmark @0551cb7 and @08d77c4,
  pytorch/pytorch-train-throughput-fp16.csv, -fp32.csv and pytorch-train-bs-*.csv, column resnet50. No
  licence file. Batches of H100 SXM5 are those of the other cards of 80 GB, and those of the RTX 6000 Ada
  those of the RTX A6000: the file has no row for them.
- NVIDIA, PyTorch 21.03: NVIDIA/DeepLearningExamples @291f0d0, PyTorch/Classification/ConvNets/resnet50v1.5/
  README.md; the batch is that of its default. BSD 3-Clause.
- TensorFlow 1.1: tensorflow/tensorflow @5984ffe, tensorflow/docs_src/performance/benchmarks.md, synthetic
  data. Apache 2.0.
- Johnson: jcjohnson/cnn-benchmarks @0367b1f, README.md, with cuDNN 5: forward and backward, no update. MIT.
- Sako: u39kun/deep-learning-benchmark @02ef743, README.md, VGG16: forward and backward, no update. No
  licence file.
- Wightman: huggingface/pytorch-image-models @aa4b585, results/benchmark-train-amp-{nchw,nhwc}-pt112-cu113-
  rtx3090.csv. Apache 2.0.
- Kumar: sandeepkumar-skb/pytorch_experiments, torchvision_exp/README.md. No licence file.

Peaks are NVIDIA's of the boards, dense, with fp32 accumulation; those of consumer boards written from
memory.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from imagenet_rates import PublishedRate

from orchestrator.core.device import Device

_HERE = Path(__file__).parent


def laboratory_rates() -> tuple[PublishedRate, ...]:
    """Read the rates."""
    return tuple(
        PublishedRate(
            device=row["device"],
            precision=row["precision"],
            num_workers=int(row["num_workers"]),
            workload=row["workload"],
            image_size=int(row["image_size"]),
            global_batch_size=int(row["global_batch_size"]),
            samples_per_second=float(row["samples_per_second"]),
            source=f"{row['laboratory']} {row['software']}",
        )
        for row in _rows("laboratory_rates.csv")
    )


def laboratory_devices() -> Mapping[str, Device]:
    """Read the devices that are in no file of conf/device."""
    return {row["device"]: _device(row) for row in _rows("laboratory_devices.csv")}


def _device(row: Mapping[str, str]) -> Device:
    peaks = {name: float(row[name]) for name in ("fp32", "tf32", "fp16") if row[name]}
    return Device(
        name=row["device"],
        kind="gpu",
        chips=1,
        replicas=1,
        native_precisions=tuple(peaks),
        peak_flops_per_second=peaks,
        memory_bytes_per_second=float(row["memory_bytes_per_second"]),
        link_bytes_per_second=1.575e10,  # PCIe 3 x16
        driver_names=(),
        slice_type=None,
        source=row["gpu"],
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_HERE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
