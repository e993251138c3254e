"""Order of devices by their peaks."""

import math

from orchestrator.extensions.predictions.step_time.published_estimate import Contender, ordered_seconds


def contender(flops, seconds, *, memory=1.0, replicas=1, host=1.0, precision="fp16"):
    return Contender(
        precision=precision,
        flops_per_second=flops,
        memory_bytes_per_second=memory,
        replicas=replicas,
        value_bytes=2,
        device_seconds=seconds,
        host_seconds=host,
    )


def ordered(asked, others):
    return ordered_seconds(asked, others).device_seconds


def test_seconds_that_keep_the_order_stay():
    weak, strong = contender(1.0, 4.0), contender(2.0, 3.0)
    assert [ordered(one, (weak, strong)) for one in (weak, strong)] == [4.0, 3.0]


def test_a_stronger_device_that_seems_slower_is_as_fast_as_the_weaker_one():
    weak, strong = contender(1.0, 2.0), contender(2.0, 8.0)
    assert [ordered(one, (weak, strong)) for one in (weak, strong)] == [2.0, 2.0]


def test_devices_without_a_stronger_one_have_no_order():
    one, other = contender(1.0, 2.0, memory=3.0), contender(2.0, 8.0, memory=1.0)
    assert ordered(other, (one, other)) == 8.0
    assert ordered(contender(2.0, 8.0, memory=3.0, replicas=8), (one, other)) == 8.0


def test_in_a_chain_no_device_is_slower_than_a_weaker_one():
    chain = [contender(float(flops), seconds) for flops, seconds in enumerate((5.0, 9.0, 2.0, 7.0, 1.0), 1)]
    found = [ordered(one, chain) for one in chain]
    assert found == sorted(found, reverse=True)
    assert all(math.isfinite(seconds) for seconds in found)


def test_the_host_of_a_stronger_device_launches_no_slower_in_the_same_precision():
    weak, strong = contender(1.0, 4.0, host=2.0), contender(2.0, 3.0, host=3.0)
    assert ordered_seconds(strong, (weak, strong)).host_seconds == 2.0
    other = contender(1.0, 4.0, host=1.0, precision="fp32")
    assert ordered_seconds(strong, (other, strong)).host_seconds == 3.0
