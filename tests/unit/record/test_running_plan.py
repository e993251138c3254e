"""The plan of the command that runs a sweep, for other terminals."""

import pytest
from builders import placement

from orchestrator.core.placement import Plan
from orchestrator.record.running_plan import FILE_NAME, RunningPlan, publish, published, running_plan_in

PLAN = Plan(sweep="example", placements=(placement(),), cached=(), skipped=())


def test_the_plan_is_there_as_long_as_the_command_runs(tmp_path):
    with published(tmp_path, PLAN) as running:
        assert running_plan_in(tmp_path) == running
        later = RunningPlan(plan=Plan(sweep="example", placements=(), cached=(), skipped=()), since=1.0)
        publish(tmp_path, later)
        assert running_plan_in(tmp_path) == later
    assert running_plan_in(tmp_path) is None


def test_it_goes_with_a_command_that_fails(tmp_path):
    with pytest.raises(KeyboardInterrupt), published(tmp_path, PLAN):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_it_or_with_another_file_has_no_plan(tmp_path):
    assert running_plan_in(tmp_path) is None
    (tmp_path / FILE_NAME).write_text("{}")
    assert running_plan_in(tmp_path) is None


def test_where_it_cannot_be_written_the_command_goes_on(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    with published(tmp_path, PLAN):
        assert running_plan_in(tmp_path) is None
