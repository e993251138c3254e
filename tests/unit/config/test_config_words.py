"""Words of a command line become keys and values, and each kind of word finds its place."""

import pytest

from orchestrator.config.overrides import read
from orchestrator.config.request import classify_overrides
from orchestrator.core.errors import ConfigError

DEVICES = ("a100_40", "a100_80", "cpu", "t4")


def asked(*words):
    return classify_overrides(read(words, options=lambda _group: DEVICES))


@pytest.mark.parametrize("word", ["+sweep=smoke", "sweep=smoke"])
def test_a_sweep_is_named_with_or_without_a_plus(word):
    assert asked(word).sweep == "smoke"


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("precision=bf16", ("bf16",)),
        ("device=cpu,t4", ("cpu", "t4")),
        ("device=glob(a100*)", ("a100_40", "a100_80")),
        ("seed=range(1,4)", (1, 2, 3)),
        ("seed=3,1,2", (3, 1, 2)),
        ("workload.filters=[8,16]", ((8, 16),)),
        ("workload.filters=[8,16],[4]", ((8, 16), (4,))),
        ("trainer.strategy='auto','mirrored'", ("auto", "mirrored")),
    ],
)
def test_values_of_a_point_replace_those_of_the_sweep(word, values):
    assert asked(word).choices == {word.partition("=")[0]: values}


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("+sweep.grid.seed=[1,2,3]", (1, 2, 3)),
        ("sweep.grid.seed=1,2,3", (1, 2, 3)),
        ("+sweep.grid.seed=7", (7,)),
        ("+sweep.grid.seed=[]", ()),
        ("+sweep.grid.seed=range(0,3)", (0, 1, 2)),
    ],
)
def test_an_axis_is_added_to_the_grid(word, values):
    assert asked(word).axes == {"seed": values}


def test_an_axis_is_taken_out_of_the_grid():
    assert asked("~sweep.grid.precision").dropped == ["precision"]


def test_other_keys_are_settings_and_their_last_value_holds():
    found = asked("executor=inline", "executor.run_seconds=5", "sweep.repeats=2", "sweep.repeats=3")
    assert found.picks == {"executor": "inline"}
    assert {key: word.value() for key, word in found.settings.items()} == {
        "executor.run_seconds": 5,
        "sweep.repeats": 3,
    }


def test_ten_thousand_numbers_are_read_as_hydra_reads_ten():
    ten, many = (",".join(map(str, range(n))) for n in (10, 10_000))
    assert asked(f"+sweep.grid.seed=[{ten}]").axes["seed"] == tuple(range(10))
    assert asked(f"+sweep.grid.seed=[{many}]").axes["seed"] == tuple(range(10_000))
    assert asked(f"seed={many}").choices["seed"] == tuple(range(10_000))


_WRITE = "; write KEY=VALUE, KEY=A,B or +sweep=NAME"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("seed=range(0,10000000)",),
            "'seed=range(0,10000000)' gives seed more than 100,000 values; "
            "a sweep has at most that many trials",
        ),
        (("foo",), f"cannot read 'foo', which has no '='{_WRITE}"),
        (("--foo",), f"cannot read '--foo', which is not an option{_WRITE}"),
        (("seed=[1,2",), f"cannot read 'seed=[1,2'{_WRITE}"),
        (("=1",), f"cannot read '=1'{_WRITE}"),
        (("device@x=t4",), f"cannot read 'device@x=t4'{_WRITE}"),
        (("seed=interval(1,2)",), f"cannot read 'seed=interval(1,2)'{_WRITE}"),
        (("device=glob(x*)",), "'device=glob(x*)' matches nothing; known: a100_40, a100_80, cpu, t4"),
        (("seed=['${steps}',2]",), "\"seed=['${steps}',2]\": an axis takes values, not interpolations"),
        (
            ("sweep=a", "+sweep=b"),
            "'+sweep=b' names another sweep; one command runs one sweep",
        ),
        (("sweep=a,b",), "'sweep=a,b' names another sweep; one command runs one sweep"),
        (("~seed",), "'~seed' cannot be taken away; only an axis of a sweep can: ~sweep.grid.NAME"),
        (
            ("executor=ray,inline",),
            "'executor=ray,inline': executor holds for the whole command; axes may be: workload, device, "
            "precision, trainer, measure, data, num_workers, num_hosts, global_batch_size, steps, seed, "
            "micro_batch_size, activation_checkpointing, sharding, devices",
        ),
        (
            ("device.chips=3",),
            "'device.chips' is a fact of conf/device/; write another file there and choose it: device=NAME",
        ),
        (
            ("seed={a:1}",),
            "the command line: seed={'a': 1} must be a value or a list of values",
        ),
    ],
)
def test_a_word_that_cannot_be_understood_shows_what_can(words, message):
    with pytest.raises(ConfigError) as raised:
        asked(*words)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "devise=cpu",
            "unknown key 'devise'; did you mean 'device'\\? known: activation_checkpointing, budget, ",
        ),
        ("hydra/launcher=joblib", "'hydra.launcher' has no effect; executor=ray runs trials side by side, "),
        ("sweep.grid.devise=[cpu]", "unknown axis in sweep.grid 'devise'; did you mean 'device'\\? known: "),
        (
            "sweep.grid.executor=[ray]",
            "unknown axis in sweep.grid 'executor'; known: activation_checkpointing, data, data.KEY, ",
        ),
        ("workload.name=x", "'workload.name' is a fact of conf/workload/"),
    ],
)
def test_a_key_that_does_not_exist_names_the_nearest(word, message):
    with pytest.raises(ConfigError, match=message):
        asked(word)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "steps=" + "x" * 10_000_000,
            r"^'steps=x{24}'… has 10,000,006 characters, and a word at most 20,000; write its",
        ),
        (
            "steps=" + "[" * 600 + "]" * 600,
            r"^cannot read 'steps=\[{24}'…: it nests too deeply; write a flat",
        ),
        ("steps=" + "9" * 5_000, r"^cannot read 'steps=9{24}'…: Exceeds the limit \(4300 digits\)"),
    ],
)
def test_a_word_that_would_take_for_ever_is_refused(word, message):
    with pytest.raises(ConfigError, match=message):
        asked(word)
