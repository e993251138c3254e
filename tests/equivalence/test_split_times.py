"""Parts of a rank's step time, under a clock that ticks when it is read; results of calibrations."""

from itertools import count

import pytest
import torch

from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.analysis.step_time import find_layers
from orchestrator.extensions.kernel_split.training.calibration import (
    Size,
    build_probe,
    choose_size,
    find_probes,
    largest_message,
    map_flops,
)
from orchestrator.extensions.kernel_split.training.link import LinkMessage, fit_link
from orchestrator.extensions.kernel_split.training.networks import split_layers
from orchestrator.extensions.kernel_split.training.step_timer import KEPT_STEPS, StepSeconds, StepTimer
from orchestrator.train.measurement.calibration import mean_seconds
from workloads.registry import workload
from workloads.with_torch.training import Networks


def watch(*, num_layers: int = 1) -> StepTimer:
    """A second passes from one reading of its clock to the next."""
    ticks = map(float, count())
    return StepTimer(torch.device("cpu"), num_layers=num_layers, clock=ticks.__next__)


def test_a_step_is_its_rest_and_what_the_master_is_away_for():
    found = watch(num_layers=2)
    with found.step():
        with found.away, found.convolving[0]:
            pass
        for _ in range(2):
            with found.away, found.convolving[1]:
                pass
    assert found.last(1) == [StepSeconds(whole=13.0, away=9.0, convolving=(1.0, 2.0))]
    assert found.rest_seconds() == 4.0


def test_what_is_convolved_between_two_steps_is_of_neither():
    found = watch()
    for _ in range(2):
        with found.step():
            pass
        with found.away, found.convolving[0]:
            pass
    assert found.last(2) == [StepSeconds(whole=1.0, away=0.0, convolving=(0.0,))] * 2


def test_the_last_steps_are_remembered_and_what_is_forgotten_is_not():
    found = watch()
    assert found.rest_seconds() is None
    for _ in range(KEPT_STEPS + 5):
        with found.step():
            pass
    assert (len(found.last(3)), len(found.last(KEPT_STEPS + 5)), found.num_steps) == (3, 100, 105)
    found.forget()
    assert (found.last(1), found.num_steps) == ([], 0)


def test_a_message_takes_the_latency_and_then_its_bytes():
    link = fit_link(small_seconds=0.5, large_seconds=2.5, more_bytes=100)
    assert link == KernelLink(bytes_per_second=50.0, latency_seconds=0.5)


def test_a_small_message_that_was_held_up_leaves_a_bandwidth_all_the_same():
    assert fit_link(small_seconds=3.0, large_seconds=2.0, more_bytes=100).bytes_per_second == 100.0


@pytest.mark.parametrize(
    ("flops", "groups", "size"),
    [
        (1e6, 1, Size(samples=16, kernels=750)),  # an even share as it is
        (1e8, 1, Size(samples=6, kernels=33)),  # few kernels before fewer samples
        (1e7, 1, Size(samples=16, kernels=125)),
        (1e12, 1, Size(samples=1, kernels=32)),
        (1e8, 750, Size(samples=1, kernels=750)),
    ],
)
def test_a_probe_is_an_even_share_or_what_one_take_has_time_for(flops, groups, size):
    assert choose_size(flops, batch=16, kernels=750, groups=groups) == size


def places(name="cifar10_cnn", **options):
    return split_layers(Networks(workload(name, options), 0))


def test_a_probe_leaves_no_trace_in_what_is_drawn_later():
    (place, _), before = places(kernels=(5, 7)), torch.get_rng_state()
    build_probe(place, batch=2, world_size=1, dtype=torch.float32, seconds=0.0, synchronize=lambda: None)
    assert torch.equal(torch.get_rng_state(), before)


def test_probes_do_the_work_that_the_model_of_time_counts():
    spec = workload("cifar10_cnn", {"kernels": (5, 50)})
    counted = [layer.flops for layer in find_layers(spec.networks["model"], batch=4)]
    found = places(kernels=(5, 50))
    assert [4 * place.whole.out_channels * map_flops(place) for place in found] == counted
    alone = find_probes(found, batch=4, dtype=torch.float32, world_size=1, synchronize=lambda: None)
    assert [item.flops for item in alone] == counted
    assert [item.dtype for item in alone] == [torch.float32] * 2


def test_a_convolution_of_samples_goes_back_to_its_kernels_alone():
    assert [place.reads_samples for place in places(kernels=(5, 50))] == [True, False]
    assert not any(
        place.reads_samples for place in places("mnist_gan")
    )  # one of two reads what the other made


def test_a_large_message_is_an_even_share_of_the_most_maps_within_eight_mebibytes():
    few = largest_message(places(kernels=(5, 50)), batch=8, world_size=2)
    assert few == LinkMessage(samples=8, channels=25, height=16, width=16)
    many = largest_message(places(kernels=(500, 1500)), batch=16, world_size=2)
    assert many == LinkMessage(samples=8, channels=250, height=32, width=32)
    assert many.bytes == 4 * 8 * 250 * 32 * 32


@pytest.mark.parametrize(
    ("take_seconds", "seconds", "takes"),
    [(0.25, 1.0, 4), (2.0, 1.0, 3), (2.0**-6, 1.0, 30), (2.0**-10, 1.0, 103), (0.25, 0.1, 3)],
)
def test_takes_go_on_until_there_are_enough_of_them_or_of_seconds(take_seconds, seconds, takes):
    done = []
    found = mean_seconds(
        lambda: done.append(1),
        lambda: None,
        seconds=seconds,
        clock=lambda: take_seconds * len(done),
    )
    assert (found, len(done)) == (take_seconds, 1 + takes)
