"""Bad workloads of a user: whatever their code gives, one line tells what is wrong."""

import json
from typing import Any

import pytest
from hostile_values import damaged, many, outcome, plain, texts
from hypothesis import given
from hypothesis import strategies as st
from user_workload import SPEC, searched

from workloads.plain import of_plain, to_plain
from workloads.registry import find_origin, options_here, workload, workload_names
from workloads.spec import WorkloadSpec

VALUES = st.one_of(plain, texts)
PLACES = {
    "VERSION = 3": "VERSION = {}",
    "units: int = 5": "units: int = {}",
    "class Options:": "class Options:\n    more: {} = 1",
    "(28, 28, 1)": "{}",
    "units=10": "units={}",
    '"mine"': "{}",
    "learning_rate=0.1": "learning_rate={}",
    "target=0.5": "target={}",
    '"accuracy"': "{}",
    '"workloads.data.mnist:MNIST"': "{}",
}
"""A place of the code -> how something else is written there."""


def refused_or_read(factory: pytest.TempPathFactory, spec: str, knobs: dict[str, Any]) -> None:
    folder = factory.mktemp("own")
    (folder / "mine").mkdir()
    (folder / "mine" / "spec.py").write_bytes(spec.encode(errors="replace"))
    with searched(folder), outcome(ValueError):
        assert "mine" in workload_names()
        origin = find_origin("mine")
        options_here("mine", origin)  # in this process, for a process of its own takes its time
        spec = workload("mine", knobs, origin=origin)
        of_plain(WorkloadSpec, json.loads(json.dumps(to_plain(spec, path="spec"))), path="spec")


@many(150)
@given(spec=damaged(SPEC.encode()).map(lambda content: content.decode(errors="replace")))
def test_any_code_is_a_workload_or_refused(tmp_path_factory: pytest.TempPathFactory, spec: str) -> None:
    refused_or_read(tmp_path_factory, spec, {})


@many(150)
@given(place=st.sampled_from(sorted(PLACES)), value=VALUES)
def test_a_workload_may_give_anything(
    tmp_path_factory: pytest.TempPathFactory, place: str, value: Any
) -> None:
    told = repr(value).replace("nan", "float('nan')").replace("inf", "float('inf')")
    refused_or_read(tmp_path_factory, SPEC.replace(place, PLACES[place].format(told)), {})


@many(150)
@given(knobs=st.dictionaries(st.sampled_from(("units", "filters", "x")) | texts, VALUES, max_size=2))
def test_a_knob_may_be_anything(tmp_path_factory: pytest.TempPathFactory, knobs: dict[str, Any]) -> None:
    refused_or_read(tmp_path_factory, SPEC, knobs)


WHOLE = json.dumps(to_plain(workload("mnist_gan", {}), path="spec")).encode()


@many(500)
@given(content=damaged(WHOLE))
def test_any_answer_of_a_users_process_is_a_spec_or_refused(content: bytes) -> None:
    with outcome(ValueError, RecursionError):
        of_plain(WorkloadSpec, json.loads(content), path="spec")


@many(200)
@given(value=plain)
def test_any_value_is_a_spec_or_refused(value: Any) -> None:
    with outcome(ValueError):
        of_plain(WorkloadSpec, value, path="spec")
