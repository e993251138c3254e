"""Gain of splitting convolutions over heterogeneous workers, measured and predicted.

    python benchmarks/kernel_split.py [--kernels 50:500 500:1500] [--batch 16] [--steps 5]
                                      [--seconds 3] [--mbit-per-second 1000 100] [--json]

Trials of cifar10_cnn in fp32 under trainer=kernel_split; every worker has one thread, and the baseline is one
worker alone. In the slow cases worker 1 is stopped for half of every 20 ms (SIGSTOP, SIGCONT): half a device,
from its first line on, calibration included, or from the middle of the training on ("slows"), where the last
timed steps count. Those that were calibrated to the slow worker are the ideal that they are set
beside; `recovered` is how much of what the ideal gains over shares that stay re-balancing has got.

Other cases train in a network namespace of their own whose loopback `tc` shapes (token bucket, both
directions through one): real bandwidths. Where a host grants no such namespace one line says so; leave
them out with `--mbit-per-second` and nothing behind it.

Two ways deal out batches instead, by speed (trainer=unequal_ddp) or evenly (trainer=torch_ddp).

Predicted is the speed-up that `kernel_split/analysis/step_time.py` makes of what a trial's record has of its
set-up, speeds and links, and of the rest of the baseline's steps (all but the convolutions); Amdahl's bound
leaves out the traffic. Nothing is predicted where speeds change or batches are dealt out. `convolutions` are
the step without that rest. Run it on a quiet machine: where others wait for a core, a worker that was stopped
gets it at once, and is no slower than before.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median

from shaped_network import reason_against
from split_trial import Case, build_record
from trials import count

from orchestrator.core.result import DeviceFacts, TrainResult
from orchestrator.core.work_share import KernelLink, KernelShare
from orchestrator.extensions.kernel_split.analysis.step_time import bound, find_layers, step_seconds
from workloads.registry import workload

_STEPS_BEFORE_A_CHANGE = 7
_STEPS_TO_FOLLOW = 18  # a look of five steps that saw both speeds, two that saw the new one, some to spare
_SECONDS_TO_FOLLOW = 1.8  # likewise

IDEAL, STAYS, REBALANCED = "measured, one slow", "measured, one slows", "re-balanced, one slows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case of the table.

    Attributes:
        shares: kernels, [layer][rank], at the end; of a batch that is dealt out samples, [0][rank].
        moved_after: steps after which kernels moved.
        step_seconds: median of the last steps, of the slowest rank in each.
        speed_up: over one worker alone.
        predicted: the speed-up that the model makes of this case's calibration; None where it says nothing.
        bound: Amdahl's, likewise.
        convolution_seconds: of the measured step, all but the rest; None where no layer is split.
    """

    kernels: str
    way: str
    shares: tuple[tuple[int, ...], ...]
    moved_after: tuple[int, ...]
    step_seconds: float
    speed_up: float
    predicted: float | None
    bound: float | None
    convolution_seconds: float | None


class Network:
    """One network in all its cases; the first one run is the baseline."""

    def __init__(self, kernels: str, *, batch: int, steps: int, seconds: int) -> None:
        spec = workload("cifar10_cnn", {"kernels": tuple(map(int, kernels.split(":")))})
        self._layers = find_layers(spec.networks["model"], batch=batch)
        self._plain = Case(kernels=kernels, batch=batch, workers=2, steps=steps)
        self._least_seconds = seconds
        self._alone_seconds = self._predicted_alone = self._rest = 0.0

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes without and with a change during the run."""
        yield self._alone()
        yield self._outcome("even", replace(self._plain, shares="even"))[0]
        found, result = self._outcome("measured", self._plain)
        yield found
        slow = replace(self._plain, slow_after_seconds=0.0)
        yield self._outcome("even, one slow", replace(slow, shares="even"))[0]
        yield self._outcome(IDEAL, slow)[0]
        dealt = replace(slow, trainer="unequal_ddp")
        yield self._outcome("batches by speed, one slow", dealt)[0]
        dealt_evenly = replace(slow, trainer="torch_ddp", shares=None)
        yield self._outcome("batches evenly, one slow", dealt_evenly)[0]
        to_follow = max(_STEPS_TO_FOLLOW, math.ceil(_SECONDS_TO_FOLLOW / found.step_seconds))
        before = _seconds_to_the_first_block(result) + _STEPS_BEFORE_A_CHANGE * found.step_seconds
        later = replace(
            self._plain,
            steps=_STEPS_BEFORE_A_CHANGE + to_follow + self._plain.steps,
            slow_after_seconds=before,
        )
        yield self._outcome(STAYS, later)[0]
        yield self._outcome(REBALANCED, replace(later, rebalance="on"))[0]

    def outcomes_at(self, mbit_per_second: int) -> Iterator[Outcome]:
        """Yield the outcomes of an even and of a calibrated split."""
        for shares in ("even", "measured"):
            case = replace(self._plain, shares=shares, mbit_per_second=mbit_per_second)
            yield self._outcome(f"{shares}, {mbit_per_second} Mbit/s", case)[0]

    def _alone(self) -> Outcome:
        """Again if its steps are so short that more of them are to be timed in every case."""
        case = replace(self._plain, workers=1)
        first, _ = self._outcome("alone", case)
        steps = math.ceil(self._least_seconds / first.step_seconds)
        if steps <= case.steps:
            return first
        self._plain = replace(self._plain, steps=steps)
        self._alone_seconds = self._predicted_alone = self._rest = 0.0
        return self._outcome("alone", replace(case, steps=steps))[0]

    def _outcome(self, way: str, case: Case) -> tuple[Outcome, TrainResult]:
        result = build_record(case).result
        assert result is not None, "a failed trial has ended the benchmark"
        devices, is_split = result.devices, case.trainer == "kernel_split"
        seconds = median(map(max, list(zip(*result.block_seconds, strict=True))[-self._plain.steps :]))
        self._alone_seconds = self._alone_seconds or seconds
        self._rest = self._rest or devices[0].kernel_rest_seconds or 0.0
        is_modelled = is_split and not case.slow_after_seconds
        predicted, most = self._modelled(devices) if is_modelled else (None, None)
        found = Outcome(
            kernels=case.kernels,
            way=way,
            shares=_shares_of(devices),
            moved_after=tuple(move.step for move in devices[0].kernel_moves),
            step_seconds=seconds,
            speed_up=self._alone_seconds / seconds,
            predicted=predicted,
            bound=most,
            convolution_seconds=seconds - self._rest if is_split else None,
        )
        return found, result

    def _modelled(self, devices: Sequence[DeviceFacts]) -> tuple[float, float]:
        """The speed-up, and Amdahl's bound of it."""
        speeds = [[rank.flops_per_second for rank in ranks] for ranks in _of_layers(devices)]
        link, rest = _link_of(devices), self._rest
        expected = step_seconds(self._layers, _shares_of(devices), speeds, rest_seconds=rest, link=link)
        self._predicted_alone = self._predicted_alone or expected
        most = bound(self._layers, speeds, alone_seconds=self._predicted_alone, rest_seconds=rest)
        return self._predicted_alone / expected, most


def recovered(outcomes: Sequence[Outcome]) -> float | None:
    """Return the recovered part of the gain of calibrated shares over constant ones; None where there is no
    gain.
    """
    seconds = {outcome.way: outcome.step_seconds for outcome in outcomes}
    to_gain = seconds[STAYS] - seconds[IDEAL]
    return (seconds[STAYS] - seconds[REBALANCED]) / to_gain if to_gain > 0 else None


def _seconds_to_the_first_block(result: TrainResult) -> float:
    """Return the seconds of a worker's life before its first block."""
    return result.setup_seconds + result.first_step_seconds + result.warmup_seconds


def _link_of(devices: Sequence[DeviceFacts]) -> KernelLink:
    """The one that there is; one worker alone sends nothing."""
    found = [device.kernel_link for device in devices if device.kernel_link]
    return found[0] if found else KernelLink(bytes_per_second=math.inf, latency_seconds=0.0)


def _shares_of(devices: Sequence[DeviceFacts]) -> tuple[tuple[int, ...], ...]:
    """Kernels, [layer][rank], or samples, [0][rank]; nothing where shares are even by nature."""
    dealt = tuple(device.batch_share.samples for device in devices if device.batch_share)
    return (dealt,) if dealt else tuple(tuple(one.kernels for one in ranks) for ranks in _of_layers(devices))


def _of_layers(devices: Sequence[DeviceFacts]) -> list[tuple[KernelShare, ...]]:
    return list(zip(*(device.kernel_shares for device in devices), strict=True))


def row_of(found: Outcome) -> str:
    """A line of the table."""
    shares = ", ".join(":".join(map(str, share)) for share in found.shares) or "-"
    moved = ", ".join(map(str, found.moved_after)) or "-"
    predicted, most = (f"{seconds:.2f}" if seconds else "-" for seconds in (found.predicted, found.bound))
    convolutions = f"{found.convolution_seconds:.3g}" if found.convolution_seconds else "-"
    return (
        f"| {found.kernels} | {found.way} | {shares} | {moved} | {found.step_seconds:.3g} "
        f"| {found.speed_up:.2f} | {predicted} | {most} | {convolutions} |"
    )


def conclusion_of(outcomes: Sequence[Outcome]) -> str:
    """Summarise the effect of rebalancing."""
    share = recovered(outcomes)
    said = "the slow worker cost nothing" if share is None else f"re-balancing recovered {share:.0%}"
    return f"{outcomes[0].kernels}: {said}"


def _kernels(word: str) -> str:
    numbers = word.split(":")
    if len(numbers) != 2 or not all(number.isdigit() and int(number) > 0 for number in numbers):
        raise argparse.ArgumentTypeError(f"{word!r} must be the kernels of two layers, as in 50:500")
    return word


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kernels", nargs="+", type=_kernels, default=("50:500", "500:1500"), help="of the two layers"
    )
    parser.add_argument("--batch", type=partial(count, least=2), default=16)
    parser.add_argument("--steps", type=count, default=5, help="timed of each case, at least")
    parser.add_argument("--seconds", type=count, default=3, help="of the baseline's timed steps, likewise")
    parser.add_argument(
        "--mbit-per-second", nargs="*", type=count, default=(1000, 100), help="of networks; none: leave out"
    )
    parser.add_argument("--json", action="store_true", help="one object a line instead of a table")
    asked = parser.parse_args(words)
    reason = reason_against() if asked.mbit_per_second else None
    if reason:
        print(f"no bandwidth but that of this host: {reason}", file=sys.stderr)
    if not asked.json:
        print(
            "| kernels | way | shares by layer | moved after | s/step | speed-up | predicted | bound "
            "| convolutions, s |\n|---|---|---|---|---|---|---|---|---|"
        )
    write: Callable[[Outcome], str] = (lambda outcome: json.dumps(asdict(outcome))) if asked.json else row_of
    conclusions = []
    for kernels in asked.kernels:
        network = Network(kernels, batch=asked.batch, steps=asked.steps, seconds=asked.seconds)
        found = []
        for outcome in network.outcomes():
            found.append(outcome)
            print(write(outcome), flush=True)
        for rate in () if reason else asked.mbit_per_second:
            for outcome in network.outcomes_at(rate):
                print(write(outcome), flush=True)
        told = {"kernels": kernels, "recovered": recovered(found)}
        conclusions.append(json.dumps(told) if asked.json else conclusion_of(found))
    if not asked.json:
        print()
    print("\n".join(conclusions))


if __name__ == "__main__":
    main(sys.argv[1:])
