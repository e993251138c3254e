"""Rates of loaders, measured without a training."""

import time
from itertools import count

from workloads.native.loader_rate import measure_loader_rate


def slow(seconds, number=None):
    for index in count() if number is None else range(number):
        time.sleep(seconds if index else 20 * seconds)
        yield index


def test_the_rate_is_that_of_the_parts_after_the_first():
    rate = measure_loader_rate(slow(0.01), samples=8)
    assert 200 < rate <= 800


def test_data_that_end_early_or_fail_have_no_rate():
    assert measure_loader_rate(slow(0.001, number=4), samples=8) is None
    assert measure_loader_rate(iter(()), samples=8) is None
    assert measure_loader_rate((1 / 0 for _ in range(9)), samples=8) is None
