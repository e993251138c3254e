"""Config files of the user: found before the shipped ones, and each mistake in them is one line."""

from pathlib import Path

import pytest
from repository import ROOT

from orchestrator.config.composer import Composer
from orchestrator.config.loader import load
from orchestrator.config.places import config_folders
from orchestrator.core.errors import ConfigError

CPU = "defaults: [schema, _self_]\nname: mine\nkind: cpu\nchips: 1\nreplicas: 1\nnative_precisions: [fp32]\n"
DEVICE = f"{CPU}driver_names: []\nsource: a test\n"


def write(folder: Path, path: str, text: str) -> None:
    file = folder / "conf" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def refused(tmp_path: Path, path: str, text: str) -> str:
    """Return the error of composing the user's option, without the folder's name."""
    write(tmp_path, path, text)
    group, name = path.removesuffix(".yaml").split("/")
    with pytest.raises(ConfigError) as raised:
        Composer(tmp_path).nodes({group: [name]})
    return str(raised.value).replace(str(tmp_path), "HERE")


def test_a_users_device_preset_and_sweep_stand_beside_the_shipped_ones(tmp_path):
    write(tmp_path, "device/mine.yaml", DEVICE)
    write(
        tmp_path,
        "workload/wide.yaml",
        "defaults: [mnist_cnn_schema, _self_]\nname: mnist_cnn\ndense_units: 9\n",
    )
    write(
        tmp_path,
        "sweep/own.yaml",
        "defaults: [schema, _self_]\nname: own\ngrid: {device: [mine, cpu], workload: [wide, mnist_cnn]}\n",
    )
    points = load(["+sweep=own"], working_directory=tmp_path).sweep.points
    assert [(point.device.name, point.workload, dict(point.workload_options)) for point in points] == [
        ("mine", "mnist_cnn", {"dense_units": 9}),
        ("mine", "mnist_cnn", {}),
        ("cpu", "mnist_cnn", {"dense_units": 9}),
        ("cpu", "mnist_cnn", {}),
    ]


def test_a_users_file_is_found_before_the_shipped_one(tmp_path):
    write(tmp_path, "device/t4.yaml", DEVICE.replace("mine", "t4"))
    assert Composer(tmp_path).nodes({"device": ["t4"]})["device", "t4"].source == "a test"
    assert len(config_folders(tmp_path)) == 2


def test_the_repositorys_own_folder_is_searched_once():
    assert len(config_folders(ROOT)) == 1


HERE = "HERE/conf/device/mine.yaml"
NO_SCHEMA = "FILE does not build on a schema; begin it with 'defaults: [schema, _self_]'"
CYCLE = "a defaults list in conf/ leads back to its own file, or a value nests too deeply; take it out"
BROKEN = {
    "name: [1,\nfoo: }\n": f"{HERE}, line 2: not YAML: expected the node content, but found '}}'",
    "a:\n\tb: 1\n": f"{HERE}, line 2: not YAML: found character '\\t' that cannot start any token",
    "a: \x01\n": f"{HERE}: not YAML: unacceptable character #x0001: special characters are not allowed",
    f"{CPU}name: again\n": f"{HERE}, line 7: not YAML: found duplicate key name",
    "- 1\n- 2\n": NO_SCHEMA,
    "": NO_SCHEMA,
    CPU.replace("chips: 1", "chips: many"): "FILE: device.chips='many' must be a whole number",
    f"{CPU}driver_names: one\n": "FILE: device.driver_names='one' must be a list",
    "defaults: [shema, _self_]\n": "FILE builds on 'device/shema', which does not exist",
    "defaults: [mine, _self_]\n": CYCLE,
    "defaults: schema\n": "invalid defaults list in 'device/mine', defaults must be a list (got str)",
    ".nan\n": "a file in conf/ holds no mapping of keys to values: invalid loaded object type: float",
    "name: !!timestamp x\n": "a value in conf/ is not what the !!tag before it says",
    f"name: {'[' * 3000}": CYCLE,
    "#"
    * 250_001: "FILE has 250,001 bytes, and a config file at most 250,000; a list of numbers of any length "
    "may stand on the command line",
    f"a: &a [x]\nb: [{'*a, ' * 21}]\n": "FILE has 21 aliases (*NAME), and a config file at most 20",
    f"{CPU}source: ${{x\n": "source='${x' is not an interpolation; write ${key} or ${oc.env:NAME}",
}


@pytest.mark.more_except("\\nfoo:", "a:\\n\\tb:")
@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:30])
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path, text):
    message = BROKEN[text].replace("FILE", "conf/device/mine.yaml")
    assert refused(tmp_path, "device/mine.yaml", text) == message


def test_an_unknown_key_in_a_file_names_the_nearest(tmp_path):
    message = refused(tmp_path, "device/mine.yaml", f"{CPU}sorce: x\n")
    assert message.startswith(
        "unknown key of conf/device/mine.yaml: 'device.sorce'; did you mean 'device.source'? known: device."
    )


def test_text_that_is_not_utf8_is_refused(tmp_path):
    write(tmp_path, "device/mine.yaml", "")
    (tmp_path / "conf/device/mine.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"a file in conf/ is not UTF-8 text: 'utf-8' codec can't decode"):
        Composer(tmp_path).nodes({"device": ["mine"]})


CONFIG = "defaults: [orchestrator_schema, _self_]\n"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (f"{CONFIG}step: 3\n", "unknown key of conf/config.yaml: 'step'; did you mean 'steps'"),
        (f"{CONFIG}steps: x\n", "conf/config.yaml: steps='x' must be a whole number"),
        (
            CONFIG,
            "conf/config.yaml chooses no workload; add 'workload: NAME' to its defaults list, with one",
        ),
        ("defaults: [device: t5, _self_]\n", "unknown device in conf/config.yaml: 't5'; did you mean 't4'"),
    ],
)
def test_the_users_own_defaults_are_checked(tmp_path, config, message):
    write(tmp_path, "config.yaml", config)
    with pytest.raises(ConfigError) as raised:
        Composer(tmp_path).base({"sweep": "smoke"})
    assert str(raised.value).startswith(message)


@pytest.mark.more_except("give", "cpu,")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("source: a test", ""), "FILE: device.source has no value and no default; give one"),
        (
            ("kind: cpu", "kind: cpi"),
            "unknown device.kind 'cpi'; did you mean 'cpu'? known: accelerator, cpu, gpu, tpu",
        ),
        (("replicas: 1", "replicas: 0"), "FILE: device.replicas=0 must be at least 1"),
        (
            ("replicas: 1", "replicas: 1\ninstances: {0: box}"),
            "FILE: a count in device.instances=0 must be at least 1",
        ),
        (("name: mine", "name: nine"), "FILE: device.name='nine' must be 'mine'"),
    ],
)
def test_a_device_that_cannot_be_is_refused(tmp_path, change, message):
    write(tmp_path, "device/mine.yaml", DEVICE.replace(*change))
    words = ["+sweep=smoke", "device=mine", "trainer=torch_ddp", "precision=fp32"]
    with pytest.raises(ConfigError) as raised:
        load(words, working_directory=tmp_path)
    assert str(raised.value) == message.replace("FILE", "conf/device/mine.yaml")
