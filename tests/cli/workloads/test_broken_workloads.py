"""The one line that each broken workload of a user gives."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from user_workload import SPEC, searched, write

from orchestrator.cli import main
from workloads.origins import PATH_VARIABLE
from workloads.registry import options_class, workload, workload_names

WORDS = (
    "plan",
    "+sweep=smoke",
    "workload=mine",
    "trainer=noop",
    "precision=fp32",
    "sweep.include=[]",
    "data.source=synthetic",
    "executor=inline",
    "tracking=none",
)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """A folder where workloads are looked for; a layer lies in it that cannot be imported here."""
    folder = tmp_path / "own"
    write(folder, {"mine/layers.py": "import torc\nclass Twin: ..."})
    with searched(folder):
        yield folder


CUSTOM = 'Custom(torch="{}", keras="mine.layers:Twin", parameters=(), output_shape=(10,), forward_flops=1.0)'
LAST = "Dense(units=10)"
MEASURE, DATA = "workloads.quality:classification", "workloads.data.mnist:MNIST"
LACKS = "HERE/spec.py has no {}; it needs VERSION, Options and make"
NOT_FROZEN = "Options must be a frozen dataclass: @dataclass(frozen=True, kw_only=True)"
BROKEN = {
    ("VERSION = 3", "VERSION = = 3"): "HERE/spec.py, line 6: SyntaxError: invalid syntax",
    ("VERSION = 3", "import nump"): "HERE/spec.py, line 6: ModuleNotFoundError: No module named 'nump'",
    ("VERSION = 3", 'raise ValueError("no\\nluck")'): "HERE/spec.py, line 6: ValueError: no",
    ("VERSION = 3", ""): LACKS.format("VERSION"),
    ("class Options", "class Optoins"): LACKS.format("Options"),
    ("def make", "def male"): LACKS.format("make"),
    ("frozen=True", "frozen=False"): NOT_FROZEN,
    ("@dataclass(frozen=True)", ""): NOT_FROZEN,
    ("units: int = 5", "units: list[int] = ()"): (
        "option 'units' is of type list[int]; "
        "possible are int, float, bool, str, or a tuple of one as tuple[int, ...]"
    ),
    ("return classifier(", "return (lambda *_, **__: 5)("): "make returned int, expected WorkloadSpec",
    ('"mine"', '"yours"'): "make gives it the name 'yours', expected 'mine'",
    ("version=VERSION", "version=4"): "version=4 and VERSION=3 must be one whole number",
    ("options.units", "options.unit"): (
        "HERE/spec.py, line 11: AttributeError: 'Options' object has no attribute 'unit'"
    ),
    (LAST, "Dense(units=0)"): "layer 1, Dense(units=0, bias=True, initializer='glorot', gain=1.0), leaves",
    (LAST, "Dense(unit=0)"): "HERE/spec.py, line 11: TypeError: Dense.__init__() got an unexpected keyword",
    (LAST, "10"): "10 is not a layer; a layer of one's own is a Custom",
    ("Sgd(learning_rate=0.1)", "0.1"): "0.1 is not an optimizer; it may be Sgd, Adam or AdamW",
    ("version=VERSION", "version=VERSION, epochs=0"): "epochs=0 must be a number above 0, or None",
    ("version=VERSION", "version=VERSION, epochs=1e999"): "epochs=inf must be a number above 0, or None",
    (
        "version=VERSION",
        "version=VERSION, epochs=10**400",
    ): "OverflowError: int too large to convert to float",
    ("version=VERSION", "version=VERSION, epochs=True"): "epochs=True must be a number above 0, or None",
    ("version=VERSION", "version=VERSION, epochs='3'"): "epochs='3' must be a number above 0, or None",
    ("metric=", 'network="mdl", metric='): (
        "unknown network of its quality 'mdl'; did you mean 'model'? known: model"
    ),
    (DATA, "workloads.data.mnist:MNST"): (
        "data set 'workloads.data.mnist:MNST' cannot be loaded: "
        "AttributeError: module 'workloads.data.mnist' has no attribute 'MNST'"
    ),
    (DATA, "mine.data:MINE"): (
        "data set 'mine.data:MINE' cannot be loaded: ModuleNotFoundError: No module named 'mine.data'"
    ),
    (MEASURE, "mine.layers:measure"): (
        "measure 'mine.layers:measure' cannot be loaded: "
        "HERE/layers.py, line 1: ModuleNotFoundError: No module named 'torc'"
    ),
    (MEASURE, "workloads.quality:clasification"): (
        "measure 'workloads.quality:clasification' cannot be loaded: "
        "AttributeError: module 'workloads.quality' has no attribute 'clasification'"
    ),
    (LAST, CUSTOM.format("mine.layers:Twni")): (
        "unknown layer in HERE/layers.py, 'Twni'; did you mean 'Twin'? known: Twin"
    ),
    (LAST, CUSTOM.format("mine.torch_layers:Twin")): (
        "there is no layer 'mine.torch_layers:Twin', for there is no module 'mine.torch_layers'"
    ),
    (LAST, CUSTOM.format("mien.layers:Twin")): (
        "there is no layer 'mien.layers:Twin'; expected module:Class, as mine.layers:Mine"
    ),
    (LAST, CUSTOM.format("mine.layers")): (
        "there is no layer 'mine.layers'; expected module:Class, as mine.layers:Mine"
    ),
}


@pytest.mark.more_except(" = 3", "nump")
@pytest.mark.parametrize(("change", "message"), BROKEN.items(), ids=[item[1] for item in BROKEN])
def test_a_broken_one_is_shown_in_one_line(own: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in SPEC
    write(own, {"mine/spec.py": SPEC.replace(*change)})
    with pytest.raises(ValueError, match=r"^workload 'mine': ") as raised:
        workload("mine", {})
    here = message.replace("HERE", str(own / "mine"))
    assert str(raised.value).startswith(f"workload 'mine': {here}")
    assert "\n" not in str(raised.value)


def test_a_layer_that_only_a_framework_can_import_is_no_fault(own: Path) -> None:
    write(own, {"mine/spec.py": SPEC.replace(LAST, CUSTOM.format("mine.layers:Twin"))})
    assert workload("mine", {}).name == "mine"


def test_the_epochs_of_a_full_training_need_not_be_declared(own: Path) -> None:
    write(own, {"mine/spec.py": SPEC})
    assert workload("mine", {}).epochs is None


def test_a_number_of_training_samples_that_is_none_is_refused(own: Path) -> None:
    data = (
        "from dataclasses import replace\nfrom workloads.data.mnist import MNIST\n"
        "MINE = replace(MNIST, train_samples=0.5)"
    )
    write(own, {"mine/data.py": data, "mine/spec.py": SPEC.replace(DATA, "mine.data:MINE")})
    expected = r": ValueError: data set 'mnist' train_samples=0\.5 must be a whole number from 1 on, or None$"
    with pytest.raises(ValueError, match=expected) as raised:
        workload("mine", {})
    assert "\n" not in str(raised.value)


def test_a_default_of_the_wrong_type_is_refused(own: Path) -> None:
    write(own, {"mine/spec.py": SPEC.replace("= 5", '= "five"')})
    with pytest.raises(ValueError, match=r"^workload 'mine', option 'units': expected int, found 'five'$"):
        options_class("mine")


NO_WORKLOAD = r"own holds no folder with spec\.py, torch_job\.py or keras_job\.py"
NOT_FOUND = {
    "mnist_cnn/spec.py": (
        r"^there are two workloads 'mnist_cnn', in package workloads\.mnist_cnn and .*own/mnist_cnn; "
        "rename one of them$"
    ),
    "json/spec.py": r"^.*own/json has the name of another module, .*/json; rename the folder$",
    "random/spec.py": r"^.*own/random has the name of another module, .*/random\.py; rename the folder$",
    "my-own/spec.py": r"^.*own/my-own cannot be imported; its name may have letters, digits and _$",
    "mine/text.md": rf"^workload_path=.*{NO_WORKLOAD}; name one that holds NAME/spec",
    "spec.py": rf"^workload_path=(.*)/{NO_WORKLOAD}; name \1$",
}


@pytest.mark.parametrize("path", NOT_FOUND)
def test_a_folder_that_cannot_be_a_workload_is_shown_in_one_line(own: Path, path: str) -> None:
    write(own, {path: SPEC})
    with pytest.raises(ValueError, match=NOT_FOUND[path]):
        workload_names()


def test_a_path_that_is_no_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH_VARIABLE, "/no/such/folder")
    expected = r"^workload_path=/no/such/folder is not a folder; name one that holds NAME/spec\.py$"
    with pytest.raises(ValueError, match=expected):
        workload_names()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"mine/spec.py": "1 / 0"},
            "workload 'mine': HERE/mine/spec.py, line 1: ZeroDivisionError: division by zero",
        ),
        (
            {"mine/spec.py": SPEC.replace(DATA, MEASURE)},
            f"data set '{MEASURE}' is a function, expected a DataSet",
        ),
        (
            {
                "other/spec.py": SPEC.replace("mine", "other"),
                "conf/workload/mine.yaml": "defaults: [mine_schema, _self_]\nname: mine\n",
            },
            "conf/workload/mine.yaml builds on workload 'mine', which has no spec.py; "
            "workload_path=DIR finds DIR/mine/spec.py",
        ),
    ],
)
def test_a_command_ends_with_that_line_and_exit_code_2(
    files: dict[str, str],
    said: str,
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(own, files)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(own.parent / "cache"))
    monkeypatch.delenv(PATH_VARIABLE)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    assert main([*WORDS, f"workload_path={own}"]) == 2
    assert capsys.readouterr().err == f"error: {said.replace('HERE', str(own))}\n"
