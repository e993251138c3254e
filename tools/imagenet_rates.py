"""Training rates on ImageNet that others published, each with its source."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRate:
    """A network on ImageNet in the steady state.

    Attributes:
        device: name of its file in conf/device.
        num_workers: such devices that share a batch.
        workload: the same network here.
        image_size: pixels of one edge.
        samples_per_second: of all devices together.
        source: who published it.
    """

    device: str
    precision: str
    num_workers: int
    workload: str
    image_size: int
    global_batch_size: int
    samples_per_second: float
    source: str


NUM_CLASSES = 1000

_NVIDIA, _LAMBDA = "NVIDIA TensorFlow", "Lambda TensorFlow"
_NVIDIA_MLPERF, _GOOGLE_MLPERF = "NVIDIA for MLPerf 3.0", "Google for MLPerf 0.5"

RATES = tuple(
    PublishedRate(
        device=device,
        precision=precision,
        num_workers=num_workers,
        workload=workload,
        image_size=299 if workload == "inception_v3" else 224,
        global_batch_size=batch_size,
        samples_per_second=samples_per_second,
        source=source,
    )
    for device, precision, num_workers, workload, batch_size, samples_per_second, source in (
        ("v100", "fp32", 1, "resnet50", 128, 412.0, _NVIDIA),
        ("v100", "fp32", 8, "resnet50", 1024, 3170.0, _NVIDIA),
        ("v100", "fp32", 1, "inception_v3", 192, 273.0, _LAMBDA),
        ("v100", "fp32", 1, "vgg16", 192, 249.0, _LAMBDA),
        ("v100", "fp16", 1, "resnet50", 256, 1270.0, _NVIDIA),
        ("v100", "fp16", 8, "resnet50", 2048, 9510.0, _NVIDIA),
        ("v100", "fp16", 1, "inception_v3", 384, 771.0, _LAMBDA),
        ("v100", "fp16", 1, "vgg16", 384, 456.0, _LAMBDA),
        ("a100_40", "tf32", 1, "resnet50", 256, 909.0, _NVIDIA),
        ("a100_40", "tf32", 8, "resnet50", 2048, 7000.0, _NVIDIA),
        ("a100_40", "fp16", 1, "resnet50", 256, 2375.0, _NVIDIA),
        ("a100_40", "fp16", 8, "resnet50", 2048, 17400.0, _NVIDIA),
        ("h100", "fp16", 8, "resnet50", 3200, 56073.0, _NVIDIA_MLPERF),
        ("tpu_v2_8", "bf16", 1, "resnet50", 1024, 4472.0, _GOOGLE_MLPERF),
        ("tpu_v3_8", "bf16", 1, "resnet50", 1024, 7451.0, _GOOGLE_MLPERF),
    )
)
"""As they were published, all of tuned code:

- NVIDIA/DeepLearningExamples @1d4211f, TensorFlow/Classification/ConvNets/resnet50v1.5/README.md, "Training
  performance results" of DGX-1 (8x V100 16G) and DGX A100 (8x A100 40GB): averages over an epoch.
- LambdaColdStorage/lambda-tensorflow-benchmark @080a6b7, tf-train-throughput-fp16.csv, -fp32.csv and
  tf-train-bs-*.csv: V100 32GB, of one device. Its AlexNet is another network than
  ours. Its other devices are in laboratory_rates.csv.
- mlcommons/training_results_v3.0 @9f08e30, NVIDIA/results/dgxh100_ngc23.04_mxnet/resnet/result_0.txt: the
  throughput of epoch 34, of which the log tells.
- mlcommons/training_results_v0.5 @8ed3fca, v0.5.0/google, resnet, result_4 of cloud_v2.8 and result_0 of
  cloud_v3.8: 4 x 1,281,167 images from the end of the evaluation of epoch 20 to the beginning of the next, in
  1,145.9 and 687.7 s. The division is ours, not verified by MLCommons.

Their ResNet-50 has the stride of a block in its 3x3 convolution (v1.5), ours in the first one.
"""
