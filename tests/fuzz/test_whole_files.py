"""Bad config files of a working directory, through the whole command."""

import json

import pytest
import yaml
from commands_fuzzed import BASE, planned
from hostile_values import damaged, many, mutated, texts
from hypothesis import given
from hypothesis import strategies as st
from repository import ROOT
from session_cache import cache  # noqa: F401  a fixture

SHIPPED = ROOT / "conf"
WORDS = {
    "sweep/nasty": ("+sweep=nasty",),
    "device/cpu": (),
    "precision/fp32": (),
    "trainer/noop": (),
    "workload/mnist_cnn": (),
    "measure/default": (),
    "data/auto": ("data=auto",),
    "executor/inline": (),
    "cluster/local": (),
    "pools/nasty": ("pools=nasty",),
    "tracking/none": (),
    "retry/default": (),
    "checkpoint/default": (),
    "prices/gcp": (),
    "config": (),
}
"""A file of a user's `conf/` -> the words that choose it, where the usual ones do not."""
LIKE = {"sweep/nasty": "sweep/smoke", "pools/nasty": "pools/gcp"}
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def shipped(name: str) -> str:
    return (SHIPPED / f"{LIKE.get(name, name)}.yaml").read_text()


def plan_with(factory: pytest.TempPathFactory, name: str, content: bytes) -> None:
    folder = factory.mktemp("here")
    file = folder / "conf" / f"{name}.yaml"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    planned(
        [*BASE[1:], *(WORDS[name] if name.startswith("sweep") else (*BASE[:1], *WORDS[name]))], folder=folder
    )


names = st.sampled_from(sorted(WORDS))


@many(160)
@given(name=names, data=st.data())
def test_a_mutated_config_file_is_planned_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    said = json.loads(json.dumps(yaml.safe_load(shipped(name)), default=str))
    changed = data.draw(mutated(said))
    header = "# @package sweep\n" if name.startswith("sweep") else ""
    plan_with(tmp_path_factory, name, f"{header}{json.dumps(changed)}".encode(errors="replace"))


@many(80)
@given(name=names, data=st.data())
def test_a_file_may_be_anything(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    anything = texts.map(lambda text: text.encode(errors="replace"))
    plan_with(tmp_path_factory, name, data.draw(st.one_of(damaged(shipped(name).encode()), anything)))


@pytest.mark.parametrize(
    "content",
    [
        *("[" * 3000, "a: " * 3000, "- " * 3000, "\x00", "\ufeff", "%YAML 9\n---\n", "a: *b\n", "1: 2\n"),
        *("a: !!python/name:os.system\n", "x: !!python/object/apply:os.system ['exit 1']\n", "a: 1\na: 2\n"),
        *("? [1]\n: 2\n", "{[1]: 2}\n", "name: !!timestamp x\n", "name: !!int x\n", "name: 2026-99-99\n"),
        *(
            "name: !!binary é\n",
            "name: ${name}\n",
            "name: ${.grid}\ngrid: ${.name}\n",
            "_target_: os.system\n",
        ),
        *("name: ${oc.create:1}\n", "repeats: 1e400\nname: x\n", "common: {steps: .nan}\nname: x\n"),
        *("grid: {seed: [.nan, .inf]}\nname: x\n", BOMB, f"{BOMB}grid: {{seed: *i}}\nname: x\n"),
        *("name: " + "x" * 10_000_000, "grid: {seed: [" + "1," * 200_000 + "1]}\nname: x\n"),
    ],
    ids=lambda content: content[:20].encode("unicode_escape").decode(),
)
def test_a_sweep_may_be_an_attack(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    header = "# @package sweep\ndefaults: [schema, _self_]\n"
    plan_with(tmp_path_factory, "sweep/nasty", (header + content).encode(errors="replace"))


@pytest.mark.parametrize("entry", ["nasty", "../../../etc/passwd", "{a: b}", "/etc/passwd", "_self_, _self_"])
def test_a_defaults_list_may_lead_anywhere(tmp_path_factory: pytest.TempPathFactory, entry: str) -> None:
    plan_with(tmp_path_factory, "sweep/nasty", f"# @package sweep\ndefaults: [{entry}]\n".encode())
