"""Time and memory of a report of many records.

    python benchmarks/report_size.py [--records 10000]

Writes a ledger of synthetic records into a temporary folder, reads it back as `report` does, and writes all
files of the report. Seconds are of this process' clock; memory is the largest resident set that it ever had.
"""

import argparse
import gc
import itertools
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from orchestrator.core.codec import to_json
from orchestrator.core.objective import FASTEST
from orchestrator.core.placement import Aim, Baseline, Cached, Placement, Plan
from orchestrator.core.result import DeviceFacts, TrainResult, TrialRecord
from orchestrator.core.trial_spec import TrialSpec, trial_id
from orchestrator.pipeline.report import write_report
from orchestrator.record.ledger import FILE_NAME, Ledger

_REPEATS = 5


def specs(count: int) -> Iterator[TrialSpec]:
    """Five repeats of devices, precisions, batches and workers, with as many numbers of steps as it takes."""
    axes = (("cpu", "t4"), ("fp32", "bf16"), (64, 128, 256, 512), (1, 2), ("torch_ddp", "tensorflow"))
    settings = ((steps, values) for steps in itertools.count(300) for values in itertools.product(*axes))
    every = (
        TrialSpec(
            workload="mnist_cnn",
            workload_version=1,
            trainer=trainer,
            trainer_version=1,
            device=device,
            precision=precision,
            data=f"standin:mnist-v1:{'ab' * 32}",
            global_batch_size=batch,
            steps=steps,
            num_workers=workers,
            replicas=workers,
            repeat=repeat,
            host_cpu="Some CPU x2" if device == "cpu" else None,
        )
        for steps, (device, precision, batch, workers, trainer) in settings
        for repeat in range(_REPEATS)
    )
    return itertools.islice(every, count)


def build_record(spec: TrialSpec, number: int) -> TrialRecord:
    """Fifteen blocks and sixteen losses, as a measured trial has."""
    step = (0.004 + 0.00005 * spec.global_batch_size) / spec.num_workers**0.5
    step *= (0.3 if spec.device == "t4" else 1) * (0.7 if spec.precision == "bf16" else 1)
    step *= 1 + (number * 7919 % 101 - 50) / 2500
    blocks = tuple(10 * step * (0.99 + 0.02 * index / 14) for index in range(15))
    losses = tuple((index, 2.3 / (1 + index / 18)) for index in (1, *range(20, 301, 20)))
    name = trial_id(spec)
    return TrialRecord(
        trial_id=name,
        sweep="many",
        provenance="measured",
        attempt=1,
        spec=spec,
        placement=Placement(
            trial=spec,
            trial_id=name,
            provenance="measured",
            kind="cpu" if spec.device == "cpu" else "gpu",
            precision=spec.precision,
            replicas=spec.replicas,
            num_processes=spec.num_workers,
            threads=1,
            node="localhost",
            cpus=2,
            devices=0,
        ),
        started_at=1_790_000_000.0 + number,
        ended_at=1_790_000_003.0 + number,
        environment={"orchestrator": "0.1.0", "python": "3.11.7", spec.trainer: "2.9.0", "numpy": "2.3.0"},
        result=TrainResult(
            launch_seconds=0.6,
            setup_seconds=0.5,
            first_step_seconds=0.2,
            warmup_steps=3,
            warmup_seconds=0.03,
            steps_per_block=10,
            block_seconds=(blocks,) * spec.num_workers,
            stopped_because="interval",
            compile_counts=None,
            steps=300,
            samples=300 * spec.global_batch_size,
            training_seconds=300 * step,
            phase_seconds={"training": 300 * step},
            losses=losses,
            network_losses={"model": losses},
            quality={"accuracy": 0.95 + (number * 31 % 17) / 1000},
            evaluation_seconds=0.1,
            flops_per_step=1e9,
            bytes_per_step=1e8,
            data_wait_seconds=0.0,
            pipeline_samples_per_second=None,
            cpu_seconds=(1.9 * sum(blocks),) * spec.num_workers,
            load_average=(0.5, 0.6),
            peak_host_bytes=(400_000_000,) * spec.num_workers,
            devices=(DeviceFacts(kind="cpu", name="Some CPU", count=1, precision=spec.precision),),
        ),
    )


def plan_of(count: int) -> Plan:
    """A plan that finds all of them in the ledger; the baseline is the CPU in fp32."""
    every = list(specs(count))
    names = {id(trial): trial_id(trial) for trial in every}
    base = [trial for trial in every if (trial.device, trial.precision, trial.repeat) == ("cpu", "fp32", 0)]
    return Plan(
        sweep="many",
        placements=(),
        cached=tuple(
            Cached(trial=trial, trial_id=names[id(trial)], provenance="measured") for trial in every
        ),
        skipped=(),
        baseline=Baseline(keys=("device", "precision"), points=tuple(names[id(trial)] for trial in base)),
        aims={"mnist_cnn": Aim(metric="accuracy", higher_is_better=True)},
    )


def _cpu_seconds(*whose: int) -> float:
    """CPU seconds of this process and of those that ended, or of one of both kinds."""
    usages = map(resource.getrusage, whose or (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    count = parser.parse_args().records
    gc.set_threshold(50_000)  # as the command does
    with tempfile.TemporaryDirectory() as outputs:
        ledger = Path(outputs) / "many" / FILE_NAME
        ledger.parent.mkdir()
        with ledger.open("w") as file:
            file.writelines(to_json(build_record(spec, i)) + "\n" for i, spec in enumerate(specs(count)))
        plan = plan_of(count)
        start, cpu = time.perf_counter(), _cpu_seconds()
        records = Ledger(ledger).records()
        read = time.perf_counter()
        outcome = write_report(ledger.parent, records, plan, FASTEST)
        written = time.perf_counter()
        used = _cpu_seconds() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(f"{count:,} records, {len(outcome.findings.measured):,} settings: {written - start:.1f} s")
        print(f"  reading the ledger {read - start:.1f} s, the report {written - read:.1f} s")
        print(
            f"  CPU {used:.1f} s, of which drawings beside it {_cpu_seconds(resource.RUSAGE_CHILDREN):.1f} s"
        )
        print(f"  peak memory {peak / 1e9:.2f} GB")
        for file in outcome.files:
            print(f"  {file.name} {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
