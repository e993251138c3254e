"""Records of trials whose convolutions were split: the model's own times, put off by a factor."""

import math
from dataclasses import replace

from builders import placement, record, train_result, trial_spec
from report_builders import plan_of

from orchestrator.core.result import DeviceFacts
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.core.work_share import KernelLink, KernelShare
from orchestrator.extensions.kernel_split.analysis.step_time import find_layers, step_seconds
from orchestrator.extensions.kernel_split.training.shares import divide_shares
from workloads.registry import workload

LINK = KernelLink(bytes_per_second=1e9, latency_seconds=50e-6)
REST_PER_BYTE = 2e-9
SPEEDS = (20e9, 10e9, 10e9, 10e9)
"""FLOP/s of each rank."""


def rest_of(layers):
    """Seconds of all but the convolutions."""
    return REST_PER_BYTE * sum(layer.output_bytes for layer in layers)


def split_record(
    *,
    kernels=(5, 50),
    batch=32,
    workers=2,
    off=1.0,
    link=LINK,
    has_rest=True,
    threads=1,
    busy=1.0,
    speeds=SPEEDS,
    **changes,
):
    """A measurement of cifar10_cnn whose step takes what the model says, times `off`.

    A trainer that splits nothing keeps no shares. Each worker keeps `busy` cores busy.
    """
    usual = {
        "workload": "cifar10_cnn",
        "workload_options": {"kernels": kernels},
        "trainer": "kernel_split",
        "data": "synthetic:cifar10",
        "global_batch_size": batch,
        "num_workers": workers,
        "replicas": workers,
        "timing": TimingSpec(),
        "steps": 200,
    }
    spec = trial_spec(**{**usual, **changes})
    layers = find_layers(workload("cifar10_cnn", {"kernels": kernels}).networks["model"], batch=batch)
    speeds = speeds[:workers]
    shares = [divide_shares(layer.kernels, speeds) for layer in layers]
    free = KernelLink(bytes_per_second=math.inf, latency_seconds=0.0)
    seconds = off * step_seconds(
        layers, shares, [speeds] * len(layers), rest_seconds=rest_of(layers), link=link or free
    )
    devices = tuple(
        DeviceFacts(
            kind="cpu",
            name="Some CPU",
            count=1,
            precision=spec.precision,
            kernel_shares=tuple(
                KernelShare(
                    layer=f"model.{layer.node}",
                    kernels=held[rank],
                    of_kernels=layer.kernels,
                    probe_flops=1e9,
                    probe_seconds=1e9 / speeds[rank],
                )
                for layer, held in zip(layers, shares, strict=True)
            )
            if spec.trainer == "kernel_split"
            else (),
            kernel_link=link if rank else None,
            kernel_rest_seconds=rest_of(layers) if has_rest and not rank else None,
        )
        for rank in range(workers)
    )
    result = train_result(
        block_seconds=((10 * seconds,) * 6,) * workers, cpu_seconds=(60 * seconds * busy,) * workers
    )
    return record(
        placement=placement(spec, replicas=workers, num_processes=workers, threads=threads),
        result=replace(result, devices=devices),
    )


KERNELS = ((5, 50), (30, 100), (50, 150))
OFF = (1.1, 0.95, 1.2, 1.05, 0.9, 1.0)


def split_sweep():
    """Three networks at two batches on one worker and on two, whose steps are off by as much as OFF says."""
    settings = [(kernels, batch) for kernels in KERNELS for batch in (32, 64)]
    records = [split_record(kernels=kernels, batch=batch, workers=1) for kernels, batch in settings]
    records += [
        split_record(kernels=kernels, batch=batch, off=off)
        for (kernels, batch), off in zip(settings, OFF, strict=True)
    ]
    return records, plan_of(records)
