"""Values to JSON and back, and what a reader is told of JSON that is not the value."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from builders import placement, record, train_result, trial_spec
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_builders import held
from price_builders import price, price_row
from report_builders import forecast

from orchestrator.core.codec import from_json, from_plain, to_json, to_plain
from orchestrator.core.device import Device, Node
from orchestrator.core.errors import RecordError
from orchestrator.core.estimate import TrackRecord
from orchestrator.core.placement import Cached, FullTraining, Plan, Skipped
from orchestrator.core.price import Unpriced
from orchestrator.core.result import DeviceFacts, Failure, TrainResult, TrialRecord
from orchestrator.core.trial_spec import TimingSpec, TrialSpec, trial_id
from orchestrator.core.work_share import KernelLink, KernelMove, KernelShare

_TPU = Device(
    name="tpu_v3_8",
    kind="tpu",
    chips=4,
    replicas=8,
    native_precisions=("bf16",),
    peak_flops_per_second={"bf16": 4.2e14},
    driver_names=("TPU v3",),
    slice_type="v3-8",
    source="a table",
)
_PLAN = Plan(
    sweep="example",
    placements=(placement(provenance="rehearsed", substitutions=("gloo for nccl",)),),
    cached=(Cached(trial=trial_spec(), trial_id="0" * 16, provenance="measured", stale="torch 2.9"),),
    skipped=(Skipped(point="mnist_cnn t4", reason="no"), Skipped(point="", reason="", trial=trial_spec())),
    forecasts=(forecast(), forecast(step_seconds=None, price=Unpriced(reason="no prices"))),
    hindcasts={"0" * 16: forecast().step},
    track_record=TrackRecord(num_inside=3, num_measured=4),
    trainings={
        "mnist_cnn": FullTraining(epochs=12.5, train_samples=60_000),
        "mine": FullTraining(epochs=None, train_samples=None),
    },
)
_VALUES = (
    trial_spec(workload_options={"filters": (8, 16), "bias": True, "rate": 0.5, "note": None}),
    placement(),
    train_result(compile_counts=(3, 3), pipeline_samples_per_second=9.5),
    record(),
    record(price=price(note="spot only", is_hypothetical=True)),
    record(price=Unpriced(reason="no row")),
    price_row(spot=None),
    record(failure=Failure(kind="diverged", message="the loss is nan", refused=train_result())),
    DeviceFacts(kind="gpu", name="Tesla T4", count=1, precision="fp16", peak_memory_bytes=10**12),
    DeviceFacts(
        kind="cpu",
        name="Some CPU",
        count=1,
        precision="fp32",
        kernel_shares=(
            KernelShare(layer="model.0", kernels=1, of_kernels=3, probe_flops=6e9, probe_seconds=0.5),
        ),
        kernel_moves=(KernelMove(step=9, before=(2,), after=(1,)),),
        kernel_link=KernelLink(bytes_per_second=1e9, latency_seconds=1e-4),
        kernel_rest_seconds=0.5,
    ),
    Node(name="localhost", cpus=2, cpu_model="Some CPU", devices={"t4": held(2)}),
    _TPU,
    _PLAN,
)

scalars = st.one_of(
    st.text(max_size=8),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
)
options = st.dictionaries(
    st.text(max_size=8), st.one_of(scalars, st.lists(scalars, max_size=3).map(tuple)), max_size=3
)
specs = st.builds(
    trial_spec,
    steps=st.integers(64, 10**6),
    seed=st.integers(0, 2**63),
    host_cpu=st.none() | st.text(),
    workload_options=options,
    trainer_options=options,
    timing=st.builds(TimingSpec, interval_fraction=st.floats(1e-9, 1.0)),
)


@pytest.mark.parametrize("value", _VALUES, ids=lambda value: type(value).__name__)
def test_a_value_comes_back_equal(value):
    assert from_json(type(value), to_json(value)) == value


@settings(max_examples=50)
@given(specs)
def test_any_spec_comes_back_equal_and_with_its_id(spec):
    read = from_json(TrialSpec, to_json(spec))
    assert read == spec
    assert trial_id(read) == trial_id(spec)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0), st.floats(allow_nan=False)), max_size=5).map(tuple))
def test_any_curve_of_losses_comes_back_equal(losses):
    assert from_json(TrainResult, to_json(train_result(losses=losses))).losses == losses


def test_not_a_number_and_infinities_survive_in_standard_json():
    text = to_json(train_result(losses=((1, math.nan), (2, math.inf), (3, -math.inf))))
    json.loads(text, parse_constant=pytest.fail)  # called for NaN and Infinity, which standard JSON lacks
    (_, first), (_, second), (_, third) = from_json(TrainResult, text).losses
    assert math.isnan(first)
    assert (second, third) == (math.inf, -math.inf)


def test_a_value_is_one_line_with_any_texts():
    value = record(failure=Failure(kind="error", message="first\nsecond\u2028third é"))
    assert "\n" not in to_json(value)
    assert from_json(TrialRecord, to_json(value)) == value


def test_an_int_is_read_where_a_float_stands_in_the_type():
    read = from_plain(TrainResult, {**to_plain(train_result()), "setup_seconds": 2})
    assert (read.setup_seconds, type(read.setup_seconds)) == (2.0, float)


def test_ints_among_the_floats_of_lists_are_read_as_floats():
    plain = {**to_plain(train_result()), "block_seconds": [[1, 0.5], [2, 3]], "losses": [[1, 2], [3, "NaN"]]}
    read = from_plain(TrainResult, plain)
    assert read.block_seconds == ((1.0, 0.5), (2.0, 3.0))
    assert {type(seconds) for rank in read.block_seconds for seconds in rank} == {float}
    assert [(type(step), type(loss)) for step, loss in read.losses] == [(int, float)] * 2


def test_a_field_with_a_default_may_be_absent():
    plain = to_plain(trial_spec())
    del plain["seed"], plain["timing"]
    assert from_plain(TrialSpec, plain) == trial_spec(timing=TimingSpec())


def _changed(value: object, path: str, to: Any) -> Any:
    """`value` as plain data with the field at the dotted `path` set."""
    plain = inner = to_plain(value)
    *parents, last = path.split(".")
    for name in parents:
        inner = inner[name]
    inner[last] = to
    return plain


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("attempt", True, "TrialRecord.attempt: expected int, found True"),
        ("attempt", 1.0, "TrialRecord.attempt: expected int, found 1.0"),
        ("attempt", "1", "TrialRecord.attempt: expected int, found '1'"),
        ("started_at", False, "TrialRecord.started_at: expected float, found False"),
        ("started_at", "yesterday", "TrialRecord.started_at: expected float, found 'yesterday'"),
        ("log_path", 5, "TrialRecord.log_path: expected str | null, found 5"),
        ("spec", [], "TrialRecord.spec: expected TrialSpec, found []"),
        ("result", 3, "TrialRecord.result: expected TrainResult | null, found 3"),
        ("result.losses", [[1]], "TrialRecord.result.losses[0]: expected list of 2, found [1]"),
        ("result.losses", [[1.0, 2.0]], "TrialRecord.result.losses[0][0]: expected int, found 1.0"),
        (
            "result.losses",
            [[1, 2.0, 3]],
            "TrialRecord.result.losses[0]: expected list of 2, found [1, 2.0, 3]",
        ),
        (
            "result.block_seconds",
            [[0.5, None]],
            "TrialRecord.result.block_seconds[0][1]: expected float, found None",
        ),
        ("result.losses", {}, "TrialRecord.result.losses: expected list, found {}"),
        ("result.quality", [], "TrialRecord.result.quality: expected object, found []"),
        ("result.quality", {"loss": "low"}, "TrialRecord.result.quality.loss: expected float, found 'low'"),
        ("result.devices", [{"kind": "cpu"}], "TrialRecord.result.devices[0]: field 'count' is missing"),
        (
            "provenance",
            "predicted",
            "TrialRecord.provenance: expected 'measured' | 'rehearsed', found 'predicted'",
        ),
        (
            "spec.workload_options",
            {"filters": {}},
            "TrialRecord.spec.workload_options.filters: "
            "expected str | int | float | bool | null | tuple, found {}",
        ),
        ("spec.steps", 0, "TrialRecord: steps=0 must be at least 1"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_with_what_was_expected(path, value, message):
    with pytest.raises(RecordError) as caught:
        from_plain(TrialRecord, _changed(record(), path, value))
    assert str(caught.value) == message


def test_an_unknown_field_is_named_with_those_that_are_known():
    with pytest.raises(
        RecordError, match=r"TrialSpec.timing: unknown field 'warmup'; known: warmup_steps, max_"
    ):
        from_plain(TrialSpec, _changed(trial_spec(), "timing.warmup", 3))


def test_a_missing_field_is_named():
    with pytest.raises(RecordError, match=r"^TrialSpec: field 'data' is missing$"):
        from_plain(TrialSpec, {name: each for name, each in to_plain(trial_spec()).items() if name != "data"})


def test_a_long_wrong_value_is_cut():
    with pytest.raises(RecordError) as caught:
        from_plain(TrialSpec, _changed(trial_spec(), "steps", "9" * 1000))
    assert len(str(caught.value)) < 110


def test_text_that_is_not_json_is_refused():
    with pytest.raises(RecordError, match=r"^not JSON: Expecting property name"):
        from_json(TrialSpec, "{")


def test_a_violated_rule_of_the_value_itself_is_shown_unchanged():
    plain = _changed(record(), "result", None)
    with pytest.raises(RecordError, match=r"needs exactly one of result and failure"):
        from_plain(TrialRecord, plain)


def test_an_unknown_failure_kind_is_shown_with_the_known_ones():
    plain = _changed(record(failure=Failure(kind="oom", message="")), "failure.kind", "bad luck")
    with pytest.raises(RecordError, match=r"failure\.kind: expected 'oom' \| 'preempted' .*found 'bad luck'"):
        from_plain(TrialRecord, plain)


def test_a_record_from_before_prices_were_kept_is_read_and_has_none():
    plain = {name: each for name, each in to_plain(record()).items() if name != "price"}
    assert from_plain(TrialRecord, plain) == record()
    assert record().price is None


def test_what_is_wrong_with_a_price_is_named():
    with pytest.raises(RecordError, match=r"^TrialRecord\.price\.nodes: expected int, found 'two'$"):
        from_plain(TrialRecord, _changed(record(price=price()), "price.nodes", "two"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, r"^not JSON: it nests too deeply$"),
        ("9" * 5_000, r"^not JSON: Exceeds the limit"),
        (b"\x80", r"^not JSON: 'utf-8' codec can't decode byte 0x80"),
    ],
)
def test_what_no_reader_of_json_can_take_is_refused(text, message):
    with pytest.raises(RecordError, match=message):
        from_json(TrialSpec, text)


def test_a_whole_number_that_is_no_float_is_refused():
    with pytest.raises(RecordError, match=r"started_at: expected float, found a number that is too large"):
        from_plain(TrialRecord, _changed(record(), "started_at", 10**400))


def test_a_plan_without_full_trainings_is_read():
    plain = to_plain(_PLAN)
    del plain["trainings"]
    assert from_plain(Plan, plain) == replace(_PLAN, trainings={})
