"""Calibration of an unseen device by a few own measurements, tested on published measurements.

    python benchmarks/own_measurements.py $ORCHESTRATOR_DATA/profet [--draws 50]

Each device and each network on it is held out of the fit; so many of the other networks, each at one size
drawn at random, are then "measured" on that device, and the network that was held out is predicted at all of
its sizes. The deviations and the quantile are those that travel with the code, which saw all these devices.
Prints a table for `docs/prediction/accuracy.md`.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from orchestrator.predict.latency_data.read import read_latencies
from orchestrator.predict.profile_transfer.pairs import Floats
from orchestrator.predict.step_time.bundled_models import default_models
from orchestrator.predict.step_time.error_model import ErrorPrior, learned_from

sys.path.append(str(Path(__file__).parents[1] / "tools"))

from model_fitting import held_out_logs
from published_networks import PUBLISHED_DEVICES, measured_zoo

_SEED = 0


def errors(
    logs: Mapping[str, Floats], prior: ErrorPrior, *, count: int, draws: int
) -> Iterator[tuple[Floats, float]]:
    """Yield the log errors of a network on one device, and half the width of their interval, for each draw.

    Args:
        logs: network -> what is left of it when device and network are held out.
    """
    random = np.random.default_rng(_SEED)
    for model, asked in logs.items():
        others = [log for log in logs if log != model]
        for _ in range(draws):
            chosen = random.choice(len(others), size=count, replace=False)
            own = [float(random.choice(logs[others[index]])) for index in chosen]
            found = learned_from(own, device=prior.device, workload=prior.workload, freedom=prior.freedom)
            yield asked - found.mean, prior.quantile * found.deviation


def row(by_device: Mapping[str, Mapping[str, Floats]], prior: ErrorPrior, *, count: int, draws: int) -> str:
    """Return the table row of one number of measurements."""
    found = {name: list(errors(logs, prior, count=count, draws=draws)) for name, logs in by_device.items()}
    inside = {
        name: float(np.mean(np.concatenate([np.abs(error) <= half for error, half in pairs])))
        for name, pairs in found.items()
    }
    every = [pair for pairs in found.values() for pair in pairs]
    relative = np.abs(np.expm1(-np.concatenate([error for error, _ in every])))
    worst = min(inside, key=lambda name: inside[name])
    factor = float(np.exp(np.median([half for _, half in every])))
    return (
        f"| {count} | {relative.mean():.1%} | {np.median(relative):.1%} | "
        f"{np.mean(list(inside.values())):.0%} | {PUBLISHED_DEVICES[worst].gpu} {inside[worst]:.0%} | "
        f"{factor:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=50)
    arguments = parser.parse_args()
    by_device: dict[str, dict[str, Floats]] = {}
    measured = list(measured_zoo(read_latencies(arguments.data)))
    for (device, model), logs in held_out_logs(measured, for_new_devices=True).items():
        by_device.setdefault(device, {})[model] = logs
    print("| own networks measured | MAPE | median | coverage of 90% | worst device | factor |")
    print("|---|---|---|---|---|---|")
    prior = default_models().prior
    for count in (1, 2, 3, 5, 7):
        print(row(by_device, prior, count=count, draws=arguments.draws))


if __name__ == "__main__":
    main()
