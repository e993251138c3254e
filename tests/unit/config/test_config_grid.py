"""A sweep's configuration and the command line's say in it become combinations."""

import pytest
from omegaconf import OmegaConf

from orchestrator.config.grid import build_grid
from orchestrator.config.overrides import read
from orchestrator.config.request import classify_overrides
from orchestrator.config.schema import SweepConf
from orchestrator.core.errors import ConfigError

BASE = {"device": "cpu", "precision": "fp32", "num_workers": 1, "seed": 0}


def available() -> tuple[str, ...]:
    """Name the devices of a host with a T4."""
    return ("cpu", "t4")


def grid(*words, **parts):
    request = classify_overrides(read(words, options=lambda _group: ()))
    sweep = OmegaConf.structured(SweepConf(name="example", **parts))
    return build_grid(sweep, request, base=BASE, available=available, build_name=str)


def combinations(*words, **parts):
    return [dict(combination) for combination in grid(*words, **parts).combinations()]


def test_a_value_without_an_axis_comes_from_the_base():
    assert combinations(grid={"device": ["cpu", "t4"]}) == [BASE, {**BASE, "device": "t4"}]


def test_the_first_axis_changes_slowest_and_a_scalar_is_an_axis_of_one():
    found = combinations(grid={"precision": ["fp32", "bf16"], "device": ["cpu", "t4"], "seed": 5})
    assert [
        (combination["precision"], combination["device"], combination["seed"]) for combination in found
    ] == [
        ("fp32", "cpu", 5),
        ("fp32", "t4", 5),
        ("bf16", "cpu", 5),
        ("bf16", "t4", 5),
    ]


def test_what_is_common_holds_for_included_points_too():
    found = combinations(
        common={"measure.max_blocks": 6, "seed": 7}, grid={"device": ["cpu"]}, include=[{"device": "t4"}]
    )
    assert [
        (combination["device"], combination["seed"], combination["measure.max_blocks"])
        for combination in found
    ] == [
        ("cpu", 7, 6),
        ("t4", 7, 6),
    ]


def test_a_value_of_the_command_line_replaces_that_of_the_axis_and_of_includes():
    found = combinations(
        "precision=bf16",
        grid={"device": ["cpu", "t4"], "precision": ["fp32", "fp16"]},
        include=[{"device": "v100", "precision": "fp16"}],
    )
    assert [(combination["device"], combination["precision"]) for combination in found] == [
        ("cpu", "bf16"),
        ("t4", "bf16"),
        ("v100", "bf16"),
    ]


def test_several_values_of_the_command_line_are_an_axis_of_the_grid_and_of_each_include():
    found = combinations("seed=1,2", grid={"device": ["cpu"]}, include=[{"device": "t4"}])
    assert [(combination["device"], combination["seed"]) for combination in found] == [
        ("cpu", 1),
        ("cpu", 2),
        ("t4", 1),
        ("t4", 2),
    ]


def test_an_axis_is_added_or_taken_away():
    found = combinations(
        "+sweep.grid.seed=[1,2]", "~sweep.grid.precision", grid={"precision": ["fp16"], "device": ["cpu"]}
    )
    assert [(combination["precision"], combination["seed"]) for combination in found] == [
        ("fp32", 1),
        ("fp32", 2),
    ]


def test_an_exclude_may_name_a_key_that_is_no_axis():
    found = combinations("+sweep.grid.seed=[1,2]", exclude=[{"num_workers": 1, "seed": 2}], grid={})
    assert [combination["seed"] for combination in found] == [1]


def test_a_list_is_one_value_of_a_knob_that_is_a_list():
    found = combinations(
        grid={"workload.filters": [[8, 16], [4, 8]]}, exclude=[{"workload.filters": [[4, 8]]}]
    )
    assert [combination["workload.filters"] for combination in found] == [(8, 16)]


def test_devices_one_by_one_are_a_value_and_stand_for_the_keys_that_follow_from_them():
    found = combinations(
        grid={"devices": [["cpu", "t4"], ["t4"]]}, include=[{"device": "t4"}], common={"seed": 7}
    )
    assert found == [
        {"devices": ("cpu", "t4"), "precision": "fp32", "seed": 7},
        {"devices": ("t4",), "precision": "fp32", "seed": 7},
        {**BASE, "device": "t4", "seed": 7},
    ]
    assert combinations("devices=[t4,cpu]", grid={"seed": [1]})[0]["devices"] == ("t4", "cpu")


def test_devices_one_by_one_can_be_excluded_and_be_the_baseline():
    axes = {"devices": [["cpu", "t4"], ["t4", "cpu"]]}
    found = grid(grid=axes, exclude=[{"devices": ["cpu", "t4"]}], baseline={"devices": ["t4", "cpu"]})
    assert [combination["devices"] for combination in found.combinations()] == [("t4", "cpu")]


@pytest.mark.parametrize("key", ["device", "num_workers", "num_hosts"])
def test_devices_one_by_one_beside_what_follows_from_them_are_refused(key):
    value = "cpu" if key == "device" else 2
    message = (
        f"devices=['cpu','t4'] and {key}={value!r} exclude each other; devices names the device of every "
        f"worker, so remove {key}"
    )
    both = {"devices": ["cpu", "t4"]}
    for word, parts, cure in (
        (f"{key}={value}", {"include": [both]}, ""),
        (f"{key}={value}", {"grid": {"devices": [["cpu", "t4"]]}}, ""),
        ("devices=[cpu,t4]", {"grid": {key: [value]}}, f", as ~sweep.grid.{key} does"),
        ("devices=[cpu,t4]", {"include": [{key: value}]}, ", as sweep.include=null does"),
        ("seed=1", {"include": [{**both, key: value}]}, ", as sweep.include=null does"),
    ):
        with pytest.raises(ConfigError) as raised:
            grid(word, **parts)
        assert str(raised.value) == f"{message}{cure}"


@pytest.mark.parametrize("devices", ["cpu", [], [["cpu", 1]], [["cpu", ["t4"]]], 7, ["cpu", "t4"]])
def test_what_is_no_list_of_devices_is_refused(devices):
    with pytest.raises(
        ConfigError, match=r"^devices=.* must be a list with the device of each worker, as devices="
    ):
        combinations(grid={"devices": devices or [[]]})


def test_a_list_in_the_place_of_a_name_is_refused():
    for word, parts in (
        ("seed=1", {"grid": {"device": [["cpu", "t4"]]}}),
        ("seed=1", {"include": [{"device": ["cpu", "t4"]}]}),
        ("seed=1", {"grid": {"seed": [1]}, "common": {"device": ["cpu", "t4"]}}),
        ("device=[cpu,t4]", {}),
        ("device=v100,[cpu,t4]", {}),
    ):
        with pytest.raises(ConfigError) as raised:
            combinations(word, **parts)
        assert str(raised.value) == (
            "device=['cpu','t4'] must be one name; a trial of each is device=cpu,t4, and one trial over all "
            "of them is devices=[cpu,t4]"
        )
    with pytest.raises(ConfigError, match=r"must be one name; a trial of each is precision=fp32,bf16$"):
        combinations("precision=[fp32,bf16]")


def test_more_than_64_devices_one_by_one_are_refused():
    with pytest.raises(ConfigError) as raised:
        combinations(grid={"devices": [["cpu", "t4"] * 33]})
    assert str(raised.value) == (
        "devices names 66 devices, and a trial has at most 64 that are told one by one; for more that are "
        "alike set device=NAME and num_workers=NUMBER"
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"grid": [1]}, "sweep.grid: [1] must be a mapping from axis to value"),
        ({"include": {"a": 1}}, "sweep.include={'a': 1} must be a list of mappings from axis to value"),
        ({"exclude": ["cpu"]}, "sweep.exclude: 'cpu' must be a mapping from axis to value"),
        (
            {"grid": {"device": [{"a": 1}]}},
            "sweep.grid: device=[{'a': 1}] must be a value or a list of values",
        ),
        (
            {"grid": {"device": ["${oc.env:NO_SUCH}"]}},
            "grid.device[0] needs the environment variable 'NO_SUCH', which is not set",
        ),
    ],
)
def test_a_sweep_of_another_shape_is_refused(parts, message):
    with pytest.raises(ConfigError) as raised:
        grid(**parts)
    assert str(raised.value) == message


def test_a_grid_of_too_many_combinations_is_refused_before_any_is_made():
    axes = {"seed": list(range(5_000)), "num_workers": list(range(1, 5_001)), "device": ["cpu"]}
    with pytest.raises(ConfigError) as raised:
        grid("precision=fp32,bf16", grid=axes, include=[{"device": "t4"}])
    assert str(raised.value) == (
        "the sweep has 50,000,002 combinations (5,000 seed x 5,000 num_workers x 2 precision, 2 included); "
        "a sweep has at most 100,000 trials"
    )


@pytest.mark.parametrize("part", ["grid", "common"])
def test_an_axis_that_points_do_not_have_is_refused(part):
    known = r"known: activation_checkpointing, data, data\.KEY, device"
    message = rf"unknown axis in sweep\.{part} 'devise'; did you mean 'device'\? {known}"
    with pytest.raises(ConfigError, match=message):
        grid(**{part: {"devise": ["cpu"]}})


def test_an_axis_that_is_not_there_cannot_be_taken_away():
    with pytest.raises(ConfigError, match=r"unknown axis in sweep\.grid 'seed'; known: device"):
        grid("~sweep.grid.seed", grid={"device": ["cpu"]})


TWO_BY_TWO = {"device": ["cpu", "t4"], "precision": ["fp32", "bf16"]}


def test_a_baseline_names_values_of_points():
    found = grid(grid=TWO_BY_TWO, baseline={"device": "cpu", "precision": "fp32"})
    assert found.baseline == {"device": "cpu", "precision": "fp32"}
    assert len(found.combinations()) == 4


def test_a_sweep_need_not_have_a_baseline():
    assert not grid(grid=TWO_BY_TWO).baseline


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"baseline": {"device": "v100", "precision": "fp32"}},
            "sweep.baseline: device='v100' is not a point of this sweep; possible: 'cpu', 't4'; "
            "choose one of them, or sweep.baseline=null",
        ),
        (
            {"baseline": {"trainer.compile": "on"}},
            "sweep.baseline: trainer.compile='on' is not a point of this sweep; possible: none; "
            "choose one of them, or sweep.baseline=null",
        ),
        (
            {"baseline": {"device": "t4", "precision": "fp32"}, "exclude": [{"device": "t4", "seed": 0}]},
            "sweep.baseline: device='t4' is not a point of this sweep; possible: 'cpu'; "
            "choose one of them, or sweep.baseline=null",
        ),
        (
            {
                "baseline": {"device": "t4", "precision": "fp32"},
                "exclude": [{"device": "t4", "precision": "fp32"}],
            },
            "sweep.baseline: no point of this sweep has device='t4', precision='fp32' together; "
            "add it to the grid, or set sweep.baseline=null",
        ),
    ],
)
def test_a_baseline_that_is_no_point_is_refused(parts, message):
    with pytest.raises(ConfigError) as raised:
        grid(grid=TWO_BY_TWO, **parts).combinations()
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (["cpu"], "sweep.baseline: ['cpu'] must be a mapping from axis to value"),
        ({"device": ["cpu", "t4"]}, "sweep.baseline: device=['cpu','t4'] must be one value"),
        ({"devices": [["cpu", "t4"]]}, "sweep.baseline: devices=[['cpu','t4']] must be one value"),
        ({"devise": "cpu"}, "unknown axis in sweep.baseline 'devise'; did you mean 'device'? known: "),
    ],
)
def test_a_baseline_of_another_shape_is_refused(baseline, message):
    with pytest.raises(ConfigError) as raised:
        grid(grid=TWO_BY_TWO, baseline=baseline)
    assert str(raised.value).startswith(message)


def find_devices(grid) -> list[str]:
    return [combination["device"] for combination in grid.combinations()]


@pytest.mark.parametrize(
    ("axis", "words", "devices"),
    [
        (["auto"], (), ["cpu", "t4"]),
        (["auto", "t4", "v100"], (), ["cpu", "t4", "v100"]),
        (["v100", "auto"], (), ["v100", "cpu", "t4"]),
        (["v100"], ("device=auto",), ["cpu", "t4"]),
        (["v100"], ("device=v100,auto",), ["v100", "cpu", "t4"]),
        (["v100"], ("+sweep.grid.device=[auto]",), ["cpu", "t4"]),
    ],
)
def test_auto_is_every_device_that_is_available(axis, words, devices):
    assert find_devices(grid(*words, grid={"device": axis})) == devices


def test_auto_in_an_included_entry_is_one_entry_for_every_available_device():
    included = grid(grid={"device": ["v100"]}, include=[{"device": "auto", "seed": 1}, {"seed": 2}])
    assert [(combination["device"], combination["seed"]) for combination in included.combinations()[1:]] == [
        ("cpu", 1),
        ("t4", 1),
        (BASE["device"], 2),
    ]
