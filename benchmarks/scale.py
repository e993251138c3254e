"""Driver time and memory of a sweep over many pools against the number of trials.

    python benchmarks/scale.py [--trials 60 120 240 500] [--pools 20] [--nodes 6]

Each sweep rehearses trials that compute nothing on a cluster of fake nodes with Ray's own autoscaler, in a
process and a folder of its own. Prints a table for `docs/findings/clusters.md`;
the growth of its columns counts.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import yaml
from trials import count, unseen

from orchestrator.config.loader import load
from orchestrator.pipeline.planning import plan_sweep
from orchestrator.pipeline.preflight import inspect
from orchestrator.pipeline.run import run_plan

_WORDS = ("+sweep=scale", "cluster=fake", "pools=scale", "tracking=none", "prices=none")


def device(name: str) -> dict[str, object]:
    """A kind of accelerator that no price list and no cloud knows."""
    return {
        "defaults": ["schema", "_self_"],
        "name": name,
        "kind": "gpu",
        "chips": 1,
        "replicas": 1,
        "instances": {1: name},
        "cpus": {1: 1},
        "ray_type": name.upper(),
        "native_precisions": ["fp32"],
        "peak_flops_per_second": {"fp32": 1e12},
        "driver_names": [],
        "slice_type": None,
        "source": "made up for this benchmark",
    }


def declare(folder: Path, *, num_trials: int, num_pools: int, num_nodes: int) -> None:
    """Write the configuration: a pool of one node for each device, and seeds enough for so many trials."""
    names = [f"device{number:02d}" for number in range(num_pools)]
    files: dict[str, object] = {f"device/{name}.yaml": device(name) for name in names}
    nodes = {name: {"device": name, "zone": "us-central1-a", "environment": "any"} for name in names}
    files["pools/scale.yaml"] = {
        "defaults": ["schema", "_self_"],
        "provider": "fake",
        "max_nodes": num_nodes,
        "idle_seconds": 1,
        "nodes": nodes,
    }
    files["sweep/scale.yaml"] = {
        "defaults": ["schema", "_self_"],
        "name": "scale",
        "common": {"trainer": "noop", "data.source": "synthetic"},
        "grid": {"device": names, "seed": list(range(num_trials // num_pools))},
    }
    for path, content in files.items():
        file = folder / "conf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(content))


def measured() -> str:
    """One row, of a sweep in this working directory."""
    began = time.perf_counter()
    settings = load(_WORDS, working_directory=Path.cwd())
    preflight = inspect(settings, download=False)
    todo = plan_sweep(settings, preflight)
    planned = time.perf_counter() - began
    began = time.perf_counter()
    outcome = run_plan(settings, preflight, todo, open_view=unseen, on_message=print, confirm=None)
    took = time.perf_counter() - began
    pools = Counter(record.placement.node.rpartition("-")[0] for record in outcome.records)
    failed = sum(record.failure is not None for record in outcome.records)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {len(outcome.records)} | {len(pools)} | {failed} | {planned:.2f} | {took:.1f} | "
        f"{1000 * took / len(outcome.records):.0f} | {memory:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=count, nargs="+", default=[60, 120, 240, 500])
    parser.add_argument("--pools", type=count, default=20)
    parser.add_argument("--nodes", type=count, default=6)
    arguments = parser.parse_args()
    print(
        "| trials | pools used | failed | plan s | run s | run ms a trial | most memory of the driver, MiB |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for num_trials in arguments.trials:
        with tempfile.TemporaryDirectory() as name:
            folder, pools, nodes = Path(name), arguments.pools, arguments.nodes
            declare(folder, num_trials=num_trials, num_pools=pools, num_nodes=nodes)
            if (child := os.fork()) == 0:  # memory is counted by the process
                os.chdir(name)
                print(measured(), flush=True)
                sys.exit(0)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
