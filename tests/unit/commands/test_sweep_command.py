"""Words of several commands in one process: none sees what an earlier one has left."""

import os

import pytest
from user_workload import SPEC, write

from orchestrator.commands.arguments import parsed_arguments
from orchestrator.commands.sweep import load_settings
from orchestrator.core.errors import ConfigError
from orchestrator.plan.trial_specs import build_workload
from workloads.origins import PATH_VARIABLE
from workloads.registry import workload

OWN = ("+sweep=smoke", "workload=mine", "workload_path=own")


def compute_version(words):
    """Return the workload version of a sweep's first point."""
    with parsed_arguments(words) as overrides:
        point = load_settings(overrides).sweep.points[0]
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
    assert compute_version(OWN) == 3
    write(own / "mine", {"spec.py": SPEC.replace("VERSION = 3", "VERSION = 40")})
    assert compute_version(OWN) == 40


def test_an_own_workload_is_unknown_to_a_command_without_its_path(own):
    compute_version(OWN)
    with pytest.raises(ConfigError, match=r"^unknown workload 'mine'; "):
        compute_version(OWN[:2])


def test_a_plan_of_an_edited_workload_uses_its_current_files(own):
    for version in (3, 40):
        write(own / "mine", {"spec.py": SPEC.replace("VERSION = 3", f"VERSION = {version}")})
        with parsed_arguments(OWN) as words:
            assert build_workload(load_settings(words).sweep.points[0]).version == version
