"""Discovery of a user's own workloads, and the parts sent to a worker and recorded."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from user_workload import SPEC, searched, write

from orchestrator.config.loader import load
from orchestrator.config.workload_overrides import extract_workload_overrides
from orchestrator.core.errors import ConfigError
from orchestrator.record.driver_environment import code_sha256
from workloads.apart import GIGABYTES_VARIABLE, SECONDS_VARIABLE
from workloads.origins import PATH_VARIABLE, Origin
from workloads.registry import find_origin, forget, workload, workload_names

WORDS = ("+sweep=smoke", "workload=mine", "trainer=noop", "precision=fp32", "sweep.include=[]")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """A folder with the workload `mine`, where workloads are looked for."""
    folder = tmp_path / "own"
    write(folder, {"mine/spec.py": SPEC})
    with searched(folder):
        yield folder


def test_a_folder_with_a_spec_is_a_workload_and_needs_no_yaml(own: Path, tmp_path: Path) -> None:
    write(own, {"notes/text.md": ""})
    assert {"mine", "mnist_cnn"} <= set(workload_names())
    assert "notes" not in workload_names()
    assert find_origin("mine") == Origin(package="mine", folder=str(own / "mine"))
    assert workload("mine", {"units": 7}).version == 3
    [point] = load([*WORDS, "workload.units=9"], working_directory=tmp_path).sweep.points
    assert (point.workload, dict(point.workload_options)) == ("mine", {"units": 9})


def test_a_conf_folder_beside_it_is_searched(own: Path, tmp_path: Path) -> None:
    write(own, {"conf/workload/mine.yaml": "defaults: [mine_schema, _self_]\nname: mine\nunits: 8\n"})
    [point] = load(WORDS, working_directory=tmp_path).sweep.points
    assert dict(point.workload_options) == {"units": 8}


def test_a_distribution_names_its_workloads_by_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "[orchestrator.workloads]\nmine = things.inner\n"
    files = {"things/__init__.py": "", "things/inner/spec.py": SPEC}
    write(tmp_path, {**files, "things-1.0.dist-info/entry_points.txt": told})
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    assert find_origin("mine") == Origin(package="things.inner", folder=str(tmp_path / "things"))
    assert workload("mine", {}).name == "mine"
    (tmp_path / "things/inner/spec.py").unlink()
    forget()
    expected = (
        r"^entry point 'mine' of group 'orchestrator\.workloads' names 'things\.inner', "
        r"expected an installed package that has spec\.py, torch_job\.py or keras_job\.py$"
    )
    with pytest.raises(ValueError, match=expected):
        workload_names()
    forget()


def test_a_workload_is_found_by_its_origin_and_modules_beside_it_are_not(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(own, {"beside.py": "", "mine/inner.py": "import beside"})
    monkeypatch.delenv(PATH_VARIABLE)
    assert workload("mine", {}, origin=Origin(package="mine", folder=str(own / "mine"))).name == "mine"
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'beside'$"):
        import_module("mine.inner")
    with pytest.raises(ValueError, match=r"^unknown workload 'mine'"):
        workload("mine", {})


def test_a_package_that_fails_is_imported_anew_the_next_time(own: Path) -> None:
    write(own, {"mine/__init__.py": "1 / 0"})
    with pytest.raises(ValueError, match=r"^workload 'mine': .*__init__\.py, line 1: ZeroDivisionError: "):
        workload("mine", {})
    (own / "mine/__init__.py").unlink()
    forget()
    assert workload("mine", {}).name == "mine"


def test_the_hash_of_the_code_covers_a_users_package_wherever_it_lies(tmp_path: Path) -> None:
    here, there = tmp_path / "here/mine", tmp_path / "there/mine"
    for value in (here, there):
        write(value, {"spec.py": SPEC})
    assert code_sha256([here]) == code_sha256([there]) != code_sha256()
    write(there, {"spec.py": SPEC.replace("0.1", "0.2")})
    assert code_sha256([here]) != code_sha256([there])


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        ((), {}),
        (("workload_path=a",), {PATH_VARIABLE: "a"}),
        (("+workload_path=~/my own (1)",), {PATH_VARIABLE: "~/my own (1)"}),
        (("workload_path=a,b",), {PATH_VARIABLE: "a:b"}),
        (("workload_path=[a, 'b']",), {PATH_VARIABLE: "a:b"}),
        (("workload_path=a", "workload_path=b"), {PATH_VARIABLE: "b"}),
        (("workload_seconds=5", "+workload_gigabytes=2"), {SECONDS_VARIABLE: "5", GIGABYTES_VARIABLE: "2"}),
    ],
)
def test_the_words_are_taken_out_of_a_command_line(words: tuple[str, ...], variables: dict[str, str]) -> None:
    assert extract_workload_overrides(["plan", *words, "steps=3"]) == (["plan", "steps=3"], variables)


def test_a_word_without_a_folder_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^workload_path= names no folder; name one that holds NAME/spec"):
        extract_workload_overrides(["workload_path="])


def test_a_misspelt_key_names_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^unknown key 'workload_pat'; did you mean 'workload_path'\?"):
        load(["+sweep=smoke", "workload_pat=own"], working_directory=tmp_path)


@pytest.mark.parametrize("name", ["~nobody-here/own", "x" * 5000, "loop"])
def test_a_folder_that_can_be_nowhere_is_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    place = name if name.startswith("~") else tmp_path / name
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PATH_VARIABLE, str(place))
        with pytest.raises(
            ConfigError, match=r"^workload_path=.* is not a folder; name one that holds NAME/spec"
        ):
            load(WORDS, working_directory=tmp_path)


@pytest.mark.parametrize("name", ["own\x00", "own\n", "own\ud800"])
def test_a_folder_that_no_variable_can_name_is_shown(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^workload_path=own.+ names no folder; "):
        extract_workload_overrides([f"workload_path={name}"])
