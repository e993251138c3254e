"""Planning a sweep costs as much a point, however many points it has."""

import time
from io import StringIO

import pytest
from rich.console import Console

from orchestrator.commands.sweep import load_settings, status

WORDS = (
    "+sweep=smoke",
    "device=t4",
    "trainer=torch_ddp",
    "precision=fp32",
    "data.source=synthetic",
    "sweep.repeats=1",
    "sweep.include=[]",
)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def plan_seeds(number):
    """Return the number of trials of a plan of that many seeds, and the CPU seconds that it took."""
    start = time.process_time()
    settings = load_settings([*WORDS, f"seed=range(0,{number})"])
    planned = status(settings, console=Console(file=StringIO())).plan
    return len(planned.placements) + len(planned.skipped), time.process_time() - start


def test_planning_four_times_the_points_takes_at_most_five_times_the_cpu_time():
    plan_seeds(1)  # imports, and the bundled models
    (few, seconds_of_few), (many, seconds_of_many) = plan_seeds(1500), plan_seeds(6000)
    assert many == 4 * few >= 4000
    assert seconds_of_many <= 5 * seconds_of_few
