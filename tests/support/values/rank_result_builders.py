"""Report of one rank with defaults, so that a test shows only the fields that matter to it."""

from dataclasses import replace
from typing import Any

from orchestrator.core.result import DeviceFacts
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.rank_result import RankResult

_TIMES = LoopTimes(
    steps_per_block=10,
    first_step_seconds=0.2,
    warmup_steps=3,
    warmup_seconds=0.03,
    block_seconds=(0.1,) * 6,
    reading_seconds=((0.001, 0.001),) * 6,
    stopped_because="interval",
    compile_counts=None,
    steps=120,
    training_seconds=1.4,
    phase_seconds={"training": 1.3},
    losses=((1, 2.3), (64, 0.5), (120, 0.1)),
    network_losses={"model": ((1, 2.3), (64, 0.5), (120, 0.1))},
    cpu_seconds=0.6,
    load_average=(0.5, 0.6),
    energy_joules={},
)


def report(times: dict[str, Any] | None = None, **changes: Any) -> RankResult:
    """The one rank of the trial whose result is `builders.train_result()`; `times` changes its times."""
    base = RankResult(
        setup_seconds=0.5,
        times=replace(_TIMES, **(times or {})),
        samples=7680,
        train_samples=4000,
        unchecked=(),
        quality={"accuracy": 0.97},
        held_out_samples=1000,
        evaluation_seconds=0.1,
        flops_per_step=1e9,
        bytes_per_step=1e8,
        data_wait_seconds=0.0,
        pipeline_samples_per_second=None,
        peak_host_bytes=400_000_000,
        exchange_seconds=(),
        product_seconds=(),
        unmoved=(),
        device=DeviceFacts(kind="cpu", name="Some CPU", count=1, precision="fp32"),
        versions={"python": "3.11.9"},
    )
    return replace(base, **changes)
