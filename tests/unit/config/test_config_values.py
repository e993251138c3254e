"""Typed configurations are set, resolved and checked, and say in one line what is wrong."""

import re
from dataclasses import dataclass
from typing import Literal

import pytest
from omegaconf import MISSING, OmegaConf

from orchestrator.config.dataclass_schema import schema_from_dataclass
from orchestrator.config.loader import load
from orchestrator.config.schema import (
    ExecutorConf,
    PricesConf,
    RetryConf,
    RootConf,
    TrainerConf,
    trainer_conf,
)
from orchestrator.config.values import assign, check_schema, convert_to_plain, load_defaults, read_value
from orchestrator.core.errors import FAILURE_KINDS, NEVER_RETRIED, ConfigError, UnknownNameError
from orchestrator.core.trial_spec import TimingSpec
from orchestrator.train.registry import trainer_info


@dataclass(frozen=True, kw_only=True)
class Frozen:
    kind: Literal["a", "b"]
    must: int
    sizes: tuple[int, ...] = (1, 2)
    maybe: float | None
    table: dict[str, float]
    text: str = "t"


def root():
    config = OmegaConf.structured(RootConf)
    config.executor = OmegaConf.structured(ExecutorConf)
    return config


def test_a_twin_has_the_fields_and_defaults_of_the_frozen_class():
    twin = OmegaConf.structured(schema_from_dataclass(Frozen))
    assert OmegaConf.to_container(twin) == {
        "kind": MISSING,
        "must": MISSING,
        "sizes": [1, 2],
        "maybe": None,
        "table": {},
        "text": "t",
    }
    assert (
        TimingSpec(**load_defaults(OmegaConf.structured(schema_from_dataclass(TimingSpec)))) == TimingSpec()
    )


def test_a_twin_is_typed_and_has_the_choices_of_a_literal():
    twin = OmegaConf.structured(schema_from_dataclass(Frozen))
    with pytest.raises(ConfigError, match=r"sizes='x' must be a whole number"):
        assign(twin, "sizes", ("x",))
    for key, value in (("kind", "c"), ("must", 1)):
        assign(twin, key, value)
    with pytest.raises(UnknownNameError, match=r"unknown made\.kind 'c'; known: a, b"):
        convert_to_plain(twin, group="made")


def test_lists_become_tuples():
    twin = OmegaConf.structured(schema_from_dataclass(Frozen))
    for key, value in (("kind", "a"), ("must", 1), ("sizes", (3, 4)), ("maybe", 2)):
        assign(twin, key, value)
    assert Frozen(**convert_to_plain(twin, group="made")) == Frozen(
        kind="a", must=1, sizes=(3, 4), maybe=2.0, table={}
    )


def test_a_float_that_is_whole_is_a_whole_number():
    config = root()
    assign(config, "steps", 1e6, text="1e6")
    assert repr(config.steps) == "1000000"
    assign(config, "outputs", 1e3, text="1e3")
    assert config.outputs == "1e3"
    for value in (float("inf"), float("nan"), -0.5):
        with pytest.raises(ConfigError, match="must be a whole number"):
            assign(config, "steps", value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("steps", "many", "steps='many' must be a whole number"),
        ("steps", 1.5, "steps=1.5 must be a whole number"),
        ("steps", True, "steps=true must be a whole number"),
        ("steps", None, "steps=null must be a value other than null"),
        ("steps", (1, 2), "steps=[1,2] must be a whole number"),
        ("outputs", ("a",), "outputs=['a'] must be a text"),
        ("executor.run_seconds", "soon", "executor.run_seconds='soon' must be a number"),
        (
            "executor.run_second",
            1,
            "unknown key 'executor.run_second'; did you mean 'executor.run_seconds'? "
            "known: executor.name, executor.resources_seconds, executor.run_seconds, executor.start_seconds",
        ),
    ],
)
def test_a_wrong_value_or_key_is_named_with_what_is_possible(key, value, message):
    with pytest.raises(ConfigError) as raised:
        assign(root(), key, value)
    assert str(raised.value) == message


def test_a_wrong_value_of_a_mapping_is_named_with_its_own_key():
    with pytest.raises(ConfigError, match=r"prices\.own\.t4=null must be a value other than null"):
        assign(OmegaConf.create({"prices": PricesConf()}), "prices.own", {"t4": None})


def test_a_key_under_a_value_does_not_exist():
    with pytest.raises(UnknownNameError, match=r"unknown key 'steps\.x'; did you mean 'steps'"):
        assign(root(), "steps.x", 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${oc.env:NO_SUCH}", "steps needs the environment variable 'NO_SUCH', which is not set"),
        ("${steps}", "steps takes its value from itself; give it one"),
        ("${nope.x}", "steps takes its value from 'nope.x', which does not exist"),
        ("${nope:x}", "steps cannot be resolved: Unsupported interpolation type nope"),
    ],
)
def test_an_interpolation_that_leads_nowhere_shows_it(value, message):
    config = root()
    assign(config, "steps", value)
    with pytest.raises(ConfigError) as raised:
        read_value(config, "steps")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "written",
    [
        "${oc.env:SECRET}",
        "a_${oc.env:SECRET}",
        "${oc.decode:${oc.env:SECRET}}",
        "${tracking.uri}",
        "${outputs}",
    ],
)
def test_a_name_takes_no_text_from_the_environment(written, monkeypatch, tmp_path):
    """The secret of a key becomes a folder, a record and a page."""
    monkeypatch.setenv("SECRET", "hunter2")
    words = ["+sweep=smoke", f"sweep.name='{written}'"]
    words += ["tracking.uri='http://${oc.env:SECRET}@host'", "outputs=${oc.env:SECRET}"]
    with pytest.raises(ConfigError) as raised:
        load(words, working_directory=tmp_path)
    assert str(raised.value) == (
        "sweep.name takes text from the environment, which records and pages would show; only these may: "
        "data_folder, outputs, path, python, uri"
    )


def test_addresses_folders_and_numbers_may_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PLACE", "http://me:secret@host")
    monkeypatch.setenv("STEPS", "77")
    words = [
        "+sweep=smoke",
        "tracking.uri=${oc.env:PLACE}",
        "steps=${oc.env:STEPS}",
        "outputs=${oc.env:STEPS}",
    ]
    settings = load(words, working_directory=tmp_path)
    assert settings.tracking_uri == "http://me:secret@host"
    assert settings.outputs == tmp_path / "77"
    assert {point.steps for point in settings.sweep.points} == {77}


@pytest.mark.parametrize("name", ["1e3", "007", "1.50", "true", "12"])
def test_a_name_that_looks_like_a_number_stays_as_typed(name, tmp_path):
    assert load(["+sweep=smoke", f"sweep.name={name}"], working_directory=tmp_path).sweep.name == name


def test_a_word_that_cannot_be_read_is_shown_without_its_secrets(tmp_path):
    with pytest.raises(ConfigError) as raised:
        load(["tracking.uri=http://u:p@ss/w@host/?token=x y"], working_directory=tmp_path)
    assert str(raised.value).startswith("cannot read 'tracking.uri=http://host/?… y'; write KEY=VALUE")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["+sweep=smoke", "compile.python=/nonexistent"],
            "compile.python=/nonexistent is not an",
        ),
        (
            ["+sweep=single", "workload=script", "script.steps_total=nan"],
            "script.steps_total=nan must be",
        ),
        (["+sweep=single", "workload=script", "script.sample=1"], "unknown key 'script.sample'"),
    ],
)
def test_a_wrong_value_is_refused_by_the_key_that_the_user_wrote(words, message, tmp_path):
    (tmp_path / "t.py").write_text("")
    script = ["script.command=python t.py"] if "workload=script" in words else []
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        load([*words, *script], working_directory=tmp_path)


def test_a_missing_value_names_its_file():
    with pytest.raises(ConfigError) as raised:
        convert_to_plain(OmegaConf.structured(TrainerConf), group="trainer", file="conf/trainer/mine.yaml")
    assert str(raised.value) == "conf/trainer/mine.yaml: name has no value and no default; give one"


@pytest.mark.parametrize(
    ("trainer", "knob", "value", "said"),
    [
        ("tensorflow", "strategy", "mirror", "did you mean 'mirrored'? known: auto, mirrored, multi_worker"),
        ("noop", "fault", "rise", "did you mean 'raise'? known: die, exhaust, hang, nan, none, raise"),
    ],
)
def test_a_knob_of_a_trainer_takes_only_the_values_of_the_registry(trainer, knob, value, said):
    conf = trainer_conf(trainer_info(trainer))
    with pytest.raises(UnknownNameError) as raised:
        convert_to_plain(OmegaConf.structured(conf(name=trainer, **{knob: value})), group="trainer")
    assert str(raised.value) == f"unknown trainer.{knob} {value!r}; {said}"


@pytest.mark.parametrize(("value", "meant"), [(True, "on"), (False, "off"), ("on", "on"), ("off", "off")])
def test_a_switch_may_be_written_without_quotes(value, meant):
    conf = trainer_conf(trainer_info("torch_ddp"))
    config = OmegaConf.structured(conf(name="torch_ddp", compile=value))
    assert convert_to_plain(config, group="trainer")["compile"] == meant


@pytest.mark.parametrize(("group", "schema"), [("device", "schema"), ("workload", "NAME_schema")])
def test_a_file_without_a_schema_is_refused_with_its_right_first_line(group, schema):
    with pytest.raises(ConfigError) as raised:
        check_schema(OmegaConf.create({"name": "mine"}), group=group, option="mine")
    assert str(raised.value) == (
        f"conf/{group}/mine.yaml does not build on a schema; begin it with 'defaults: [{schema}, _self_]'"
    )


def test_there_is_a_retry_limit_for_every_kind_of_failure_but_the_decisions_on_a_trial():
    *kinds, backoff = OmegaConf.structured(RetryConf)
    assert (*kinds, *NEVER_RETRIED) == FAILURE_KINDS
    assert backoff == "backoff_seconds"
