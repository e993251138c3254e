"""Values that a script reports, checked against the worker's clock, and rates that they show or refuse."""

import contextlib
import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from orchestrator.core.errors import TrialError
from orchestrator.extensions.scripts.callback import orchestrator_callback as callback
from orchestrator.extensions.scripts.part import (
    PROTOCOL_VERSION,
    LeftOut,
    Loaded,
    Part,
    part_in,
    require_version,
    require_whole_time,
)
from orchestrator.extensions.scripts.trainer import find_loader_rate, require_training

SAID: dict[str, Any] = {
    "event": "part",
    "seconds": 0.9,
    "paused_seconds": 0.05,
    "cpu_seconds": 1.5,
    "data_wait_seconds": 0.1,
    "samples": 640,
    "is_given": False,
    "left_out": {"batches": 1, "samples": 3, "seconds": 0.01},
    "loaded": {"num_processes": 2, "samples": 576, "seconds": 0.2},
    "loss": 0.5,
    "is_torn": False,
    "num_workers": 1,
    "kind": "cpu",
    "name": None,
    "dtype": "float32",
    "peak_memory_bytes": None,
    "is_rounded": False,
    "peak_host_bytes": 2**30,
}


def read(**changes: Any) -> Part:
    """Read a report of ten steps for which the worker waited one second on a host of two cores."""
    return part_in({**SAID, **changes}, steps=10, wall_seconds=1.0, cores=2)


def test_a_report_in_its_ranges_is_read_as_it_is() -> None:
    part = read()
    assert (part.seconds, part.samples, part.data_wait_seconds) == (0.9, 640, 0.1)
    assert part.left_out == LeftOut(batches=1, samples=3, seconds=0.01)
    assert part.loaded == Loaded(num_processes=2, samples=576, seconds=0.2)


def test_the_loader_of_a_callback_without_a_report_is_unknown() -> None:
    said = {name: value for name, value in SAID.items() if name != "loaded"}
    assert part_in(said, steps=10, wall_seconds=1.0, cores=2).loaded == Loaded()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seconds", value) for value in (5e-324, 0, -1, 1.2, 1e300, math.inf, math.nan, "1", True, None)),
        *(("seconds", value) for value in (10**400, 1 - 10**400)),
        *(("paused_seconds", value) for value in (-1, 2.0, math.nan, None)),
        *(("cpu_seconds", value) for value in (-1, 3.0, math.inf)),
        *(("data_wait_seconds", value) for value in (-1, 3.0, math.nan)),
        *(("samples", value) for value in (-1, math.inf, math.nan, 10**400, "64")),
        *(("peak_host_bytes", value) for value in (-1, math.inf, math.nan, 10**400, None)),
        *(("peak_memory_bytes", value) for value in (-1, math.inf, math.nan, 10**400, "1")),
        *(("kind", value) for value in ("npu", None, ["cpu"])),
        *(("loaded", value) for value in ([], {"samples": 1}, {"samples": 1, "seconds": math.nan})),
        ("loaded", {"num_processes": -1, "samples": 1, "seconds": 1.0}),
        *(("left_out", value) for value in (None, {}, {"batches": 1, "samples": 1, "seconds": math.inf})),
    ],
)
def test_a_value_out_of_its_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(TrialError, match="the script reported") as raised:
        read(**{name: value})
    assert raised.value.kind == "invalid_measurement"
    assert len(str(raised.value)) < 200


def test_samples_that_are_not_known_are_refused_with_the_words_to_write() -> None:
    with pytest.raises(TrialError, match=r"steps\(loader, samples=lambda batch: len\(batch\)\)"):
        read(samples=None)


def test_a_loss_that_is_too_large_for_a_number_is_infinite() -> None:
    assert read(loss=10**400).loss == math.inf
    assert read(loss="low").loss is None


def test_the_versions_of_callback_and_worker_are_the_same() -> None:
    require_version({"version": callback._VERSION})
    for version in (None, 1, PROTOCOL_VERSION + 1, 10**400):
        with pytest.raises(TrialError, match="of the protocol, and this orchestrator"):
            require_version({"version": version})


def test_much_less_time_than_the_worker_waited_is_refused() -> None:
    require_whole_time(reported_seconds=9.0, wall_seconds=10.0)
    require_whole_time(reported_seconds=1e-5, wall_seconds=0.01)
    with pytest.raises(TrialError, match="the worker waited 60 s"):
        require_whole_time(reported_seconds=0.06, wall_seconds=60.0)


def parts(left_out: LeftOut) -> list[Part]:
    """Return a first part and a timed one: 914 samples/s in whole batches of 64."""
    first = read(samples=64)
    return [first, read(samples=640, seconds=0.7, left_out=asdict(left_out))]


def test_smaller_batches_that_halve_the_rate_are_refused() -> None:
    """65 samples in batches of 64: the second batch has 1 sample and takes as long."""
    with pytest.raises(
        TrialError, match=r"trains 475\.\d samples/s with its smaller batches and 914\.3 without"
    ):
        require_training(parts(LeftOut(batches=10, samples=10, seconds=0.668)))


@pytest.mark.parametrize(
    "left_out",
    [
        LeftOut(),
        LeftOut(batches=1, samples=1, seconds=0.01),
        LeftOut(batches=10, samples=360, seconds=0.39),  # as fast as whole ones
    ],
)
def test_smaller_batches_that_do_not_change_the_rate_are_left_out(left_out: LeftOut) -> None:
    require_training(parts(left_out))


STEPS = replace(read(), seconds=1.0, samples=640)
"""A part of ten steps of 64 samples, 640 samples/s."""


def find(*, num_processes: int | None, waited: float | None = 0.0, kind: str = "cpu") -> float | None:
    """Find the rate of a loader that took 0.2 s for 576 samples."""
    loaded = Loaded(num_processes=num_processes, samples=576, seconds=0.2)
    part = replace(STEPS, loaded=loaded, data_wait_seconds=waited, kind=kind)
    return find_loader_rate([STEPS, part, part])


def test_a_loader_in_the_process_of_the_script_takes_its_time_inside_next() -> None:
    assert find(num_processes=0) == pytest.approx(576 / 0.2)


def test_a_loader_with_processes_has_the_rate_of_the_steps_that_wait_for_it() -> None:
    assert find(num_processes=2, waited=0.3, kind="gpu") == pytest.approx(640)


@pytest.mark.parametrize(
    ("num_processes", "waited", "kind"),
    [(2, 0.02, "gpu"), (2, None, "gpu"), (2, 0.3, "cpu"), (None, 0.3, "gpu")],
    ids=["read ahead", "wait not seen", "shares the cores", "processes not seen"],
)
def test_another_rate_cannot_be_known(num_processes: int | None, waited: float | None, kind: str) -> None:
    assert find(num_processes=num_processes, waited=waited, kind=kind) is None


@pytest.mark.parametrize("parts", [[], [STEPS], 2 * [replace(STEPS, loaded=Loaded(num_processes=0))]])
def test_without_a_batch_after_the_first_one_the_loader_rate_is_unknown(parts: list[Part]) -> None:
    assert find_loader_rate(parts) is None


@pytest.mark.parametrize(
    ("said", "is_refused"), [(False, True), (True, False), (None, False), ("no", False), ([], False)]
)
def test_steps_without_a_backward_pass_are_refused(said, is_refused):
    part = read(has_trained=said)
    with pytest.raises(TrialError, match="trained nothing") if is_refused else contextlib.nullcontext():
        require_training([part])
