"""Step time of a native PyTorch job against the same loop written bare, in pairs that take turns.

    python benchmarks/native_step.py [--pairs 8] [--batch-size 64]

Both sides train the same network with AdamW on 4,096 random images through PyTorch's DataLoader, on the same
threads, and keep the memory that they free, as in `cross_check.py`. Exits with 1 if our step takes over 1%
longer, by the median over the pairs.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from cross_check import KEEPS_MEMORY
from independent import Bare, Protocol
from trials import context_of, count, require_all, sweep_of
from turns import in_turns

from orchestrator.core.interval import median_interval
from orchestrator.core.placement import Placement
from orchestrator.pipeline.planning import plan_sweep
from orchestrator.train.environment import without_hidden_settings
from workloads.origins import PATH_VARIABLE

TOLERANCE = 0.01
_HERE = Path(__file__).parent
_POINT = ("+sweep=smoke", "executor=inline", "precision=fp32", "sweep.include=[]", "trainer=torch_ddp")


def ratios_of(protocol: Protocol, *, num_pairs: int, batch_size: int) -> list[float]:
    """Return the ratio of the median blocks, ours over the loop's, of every pair."""
    asked = (*_POINT, "workload=shapes_cnn", f"global_batch_size={batch_size}")
    ratios: list[float] = []
    with sweep_of(*asked, *protocol.overrides()) as (settings, preflight):
        plan = plan_sweep(settings, preflight)
        require_all(plan)
        (placement,) = plan.placements
        context = context_of(settings, preflight, plan.placements)
        (spec,) = context.native_specs.values()
        bare = _bare(placement, context.pythons["torch_ddp"], num_parameters=spec.cost.num_weights)
        for index in range(num_pairs):
            pair = in_turns(placement, context, bare, protocol, bare_first=index % 2 == 1)
            ratios.append(median(pair.ours) / median(pair.bare))
            print(f"pair {index + 1} of {num_pairs}: {ratios[-1]:.4f}", file=sys.stderr)
    return ratios


def _bare(placement: Placement, python: str, *, num_parameters: int) -> Bare:
    threads, batch_size = str(placement.threads), placement.trial.global_batch_size
    script = str(_HERE / "bare/with_own_loop.py")
    return Bare(
        command=(python, script, f"--threads={threads}", f"--batch-size={batch_size}"),
        variables={**without_hidden_settings(os.environ), "OMP_NUM_THREADS": threads},
        num_parameters=num_parameters,
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=count, default=8)
    parser.add_argument("--batch-size", type=count, default=64)
    parser.add_argument("--blocks", type=count, default=30)
    parser.add_argument("--steps-per-block", type=count, default=20)
    asked = parser.parse_args(words)
    os.environ.update(KEEPS_MEMORY)  # both sides inherit it
    os.environ[PATH_VARIABLE] = str(_HERE / "native_jobs")
    protocol = Protocol(blocks=asked.blocks, steps_per_block=asked.steps_per_block)
    ratios = ratios_of(protocol, num_pairs=asked.pairs, batch_size=asked.batch_size)
    ratio = median_interval(ratios)
    print(f"step time of ours over the bare loop's, batch {asked.batch_size}: {ratio.median:.4f}")
    print(f"interval of the median of {len(ratios)} pairs: [{ratio.low:.4f}, {ratio.high:.4f}]")
    return 0 if ratio.median <= 1 + TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
