"""Looks at a host: what its files say, how often, and that a long trial keeps no more than a short one."""

import os

import pytest
from builders import host_use as seen

from orchestrator.execute.trial.host_usage import HostUsageSampler, host_use, read_gpus

STAT = "cpu  100 20 30 400 50 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
MEMINFO = "MemTotal:  4000 kB\nMemFree:  10 kB\nMemAvailable:  1000 kB\nHugePages_Total:  0\n"


def test_busy_is_what_is_neither_idle_nor_waiting_and_guests_count_once(tmp_path):
    (tmp_path / "stat").write_text(STAT)
    (tmp_path / "meminfo").write_text(MEMINFO)
    found = host_use(read_gpus([]), proc=tmp_path)
    per_second = os.sysconf("SC_CLK_TCK")
    assert found.cpu_busy_seconds * per_second == pytest.approx(100 + 20 + 30 + 6 + 7 + 8)
    assert found.cpu_seconds * per_second == pytest.approx(171 + 400 + 50)
    assert (found.memory_bytes, found.memory_total_bytes) == (3000 * 1024, 4000 * 1024)


def test_this_host_has_counters():
    first, second = host_use(read_gpus([])), host_use(read_gpus([]))
    assert second.cpu_seconds >= first.cpu_seconds > 0
    assert second.at >= first.at
    assert 0 < second.memory_bytes < second.memory_total_bytes


def test_a_look_is_due_two_seconds_after_the_last_one():
    sampler = HostUsageSampler(seen)
    sampler.sample(now=5.0)
    assert (sampler.due, len(sampler.seen)) == (7.0, 1)


def test_a_long_trial_is_looked_at_less_often_and_its_first_look_stays():
    times = iter(range(1_000_000))
    sampler = HostUsageSampler(lambda: seen(at=float(next(times))))
    for _ in range(1000):
        sampler.sample(now=0.0)
    assert 128 < len(sampler.seen) <= 256
    assert sampler.seen[0].at == 0.0
    assert sampler.due > 100.0
