"""Steps that Google's TPU compiler estimates, against published ones: about two minutes each, once.

    python benchmarks/compiled.py [--json]

Published rates and the networks that they belong to are in `published_networks/`. The error is the published
time over the compiled one. The interval comes from all errors: their root mean square of logarithms, times
Student's quantile with one degree of freedom less than there are pairs of family and generation. Each
family and each generation is also held out, and the interval of the others is tried on it.
"""

import argparse
import csv
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median

from scipy import stats

from orchestrator.compile.child import Limits
from orchestrator.compile.step import StepProgram
from orchestrator.config.loader import devices_named
from orchestrator.core.estimate import CompiledStep
from orchestrator.execute.machine.environment_probe import trainer_environment
from orchestrator.extensions.tpu_compiler.step_time import TpuStepCompiler
from orchestrator.extensions.tpu_compiler.tpu_programs import TpuPrograms
from orchestrator.record.driver_environment import code_sha256
from orchestrator.train.capture.request import CaptureRequest
from orchestrator.train.registry import trainer_info
from workloads.data.sources import default_cache
from workloads.origins import Origin

_FOLDER = Path(__file__).parent / "published_networks"
_ROOT = Path(__file__).parents[1]
_COVERAGE = 0.9
_PYTHONS = {
    "torch_xla": os.environ.get("ORCHESTRATOR_XLA_PYTHON", str(_ROOT / ".venv-xla/bin/python")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One published step and what the compiler estimates for it; seconds."""

    network: str
    family: str
    generation: str
    precision: str
    trainer: str
    published: float
    compiled: float

    @property
    def log(self) -> float:
        """Logarithm of the published time over the compiled one."""
        return math.log(self.published / self.compiled)


def factor_of(pairs: Sequence[Pair]) -> float:
    """Return the factor to both sides that is to hold 90 of 100 published steps; at least two groups."""
    groups = {(pair.family, pair.generation) for pair in pairs}
    spread = math.sqrt(fmean(pair.log**2 for pair in pairs))
    return math.exp(float(stats.t.ppf((1 + _COVERAGE) / 2, len(groups) - 1)) * spread)


def held_out(pairs: Sequence[Pair], of: Callable[[Pair], str]) -> list[dict[str, object]]:
    """Try the interval of the others on each network or generation."""
    rows = []
    for name in dict.fromkeys(map(of, pairs)):
        others = [pair for pair in pairs if of(pair) != name]
        if len({(pair.family, pair.generation) for pair in others}) < 2:
            continue
        factor = factor_of(others)
        inside = [abs(pair.log) <= math.log(factor) for pair in pairs if of(pair) == name]
        rows.append({"held out": name, "factor": factor, "inside": sum(inside), "of": len(inside)})
    return rows


def find_pairs(rows: Sequence[dict[str, str]]) -> list[Pair]:
    """Compile the published steps; one that gives no time is named on standard error."""
    programs = TpuPrograms(
        python=os.environ.get("ORCHESTRATOR_LIBTPU_PYTHON", str(_ROOT / ".venv-tpu-compile/bin/python")),
        folder=default_cache() / "compiled",
        limits=Limits(seconds=1800, memory_bytes=10 * 2**30),
        code_sha256=code_sha256([_FOLDER]),
        captures=True,
    )
    compiler, devices = TpuStepCompiler(programs, compiles=True), devices_named(_ROOT)
    pairs = []
    for row in rows:
        network = f"{row['variant']} {row['depth']} at {row['image_size']}"
        program = StepProgram(
            trainer=row["trainer"],
            options={},
            environment=trainer_environment(
                trainer_info(row["trainer"]), python=_PYTHONS.get(row["trainer"])
            ),
            request=CaptureRequest(
                workload="published_resnet",
                workload_options={
                    "variant": row["variant"],
                    "depth": int(row["depth"]),
                    "image_size": int(row["image_size"]),
                },
                precision=row["precision"],
                global_batch_size=int(row["global_batch_size"]),
                origin=Origin(package="published_resnet", folder=str(_FOLDER / "published_resnet")),
            ),
            device=devices[row["device"]],
            num_workers=1,
        )
        step = compiler.predict_step(program)
        if not isinstance(step, CompiledStep):
            sys.stderr.write(f"{network} on {row['device']}: {step.reason}\n")
            continue
        pair = Pair(
            network=network,
            family=row["variant"],
            generation=row["device"].split("_")[1],
            precision=row["precision"],
            trainer=row["trainer"],
            published=float(row["published_seconds"]),
            compiled=step.on_device_seconds,
        )
        sys.stderr.write(f"{network} on {row['device']}: {1e3 * pair.compiled:.1f} ms\n")
        pairs.append(pair)
    return pairs


def _line(pair: Pair) -> str:
    error = pair.compiled / pair.published - 1
    return (
        f"{pair.network:<28} {pair.generation:<4} {pair.trainer:<11} {pair.precision:<12} "
        f"{1e3 * pair.compiled:>8.1f} {1e3 * pair.published:>10.1f} {error:>+7.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with (_FOLDER / "tpu_steps.csv").open(newline="") as file:
        pairs = find_pairs(list(csv.DictReader(file)))
    if len({(pair.family, pair.generation) for pair in pairs}) < 2:
        sys.exit("too few steps were compiled; get the compiler with: make tpu-compile")
    summary = {
        "median_error": median(abs(pair.compiled / pair.published - 1) for pair in pairs),
        "within_1.35": sum(abs(pair.log) <= math.log(1.35) for pair in pairs),
        "pairs": len(pairs),
        "factor_90": factor_of(pairs),
        "held_out": held_out(pairs, lambda pair: pair.family) + held_out(pairs, lambda pair: pair.generation),
    }
    if arguments.json:
        print(json.dumps({"pairs": [asdict(pair) for pair in pairs], **summary}))
        return
    print(f"{'network':<28} {'TPU':<4} {'trainer':<11} {'precision':<12} compiled published   error")
    print("\n".join(map(_line, pairs)))
    print(json.dumps(summary, indent=2))


if __name__ == "__main__":
    main()
