"""Words of several commands in one process: none sees what an earlier one has left."""

import os

import pytest
from user_workload import SPEC, write

from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.sweep import settings_of
from orchestrator.core.errors import ConfigError
from orchestrator.plan.trial_specs import workload_of
from workloads.origins import PATH_VARIABLE
from workloads.registry import workload

OWN = ("+sweep=smoke", "workload=mine", "workload_path=own")


def version_of(words):
    """Return the workload version of a sweep's first point."""
    with parsed_arguments(words) as overrides:
        point = settings_of(overrides).sweep.points[0]
        return workload(point.workload, {}).version


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A working directory with a workload in `own`."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "own/mine", {"spec.py": SPEC})
    return tmp_path / "own"


def test_the_place_of_workloads_holds_for_one_command_and_what_the_user_has_set_stays(monkeypatch, own):
    monkeypatch.setenv(PATH_VARIABLE, "before")
    with parsed_arguments(OWN) as words:
        assert (words, os.environ[PATH_VARIABLE]) == (list(OWN[:2]), "own")
    assert os.environ[PATH_VARIABLE] == "before"


def test_a_workload_that_was_edited_is_read_anew(own):
    assert version_of(OWN) == 3
    write(own / "mine", {"spec.py": SPEC.replace("VERSION = 3", "VERSION = 40")})
    assert version_of(OWN) == 40


def test_a_workload_is_unknown_to_a_command_that_does_not_say_where_it_lies(own):
    version_of(OWN)
    with pytest.raises(ConfigError, match=r"^unknown workload 'mine'; "):
        version_of(OWN[:2])


def test_what_is_planned_of_a_workload_that_was_edited_is_what_its_files_say(own):
    for version in (3, 40):
        write(own / "mine", {"spec.py": SPEC.replace("VERSION = 3", f"VERSION = {version}")})
        with parsed_arguments(OWN) as words:
            assert workload_of(settings_of(words).sweep.points[0]).version == version
