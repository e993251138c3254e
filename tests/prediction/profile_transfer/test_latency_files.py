"""Latency tables from files of both layouts, and units that cannot be right."""

import gzip

import numpy as np
import pytest
from latency_builders import FAST, SLOW, both_ways, published_frame, schema_frame

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.latency_data.table import find_family

MEASUREMENTS = 2 * 6 * 2 * 2  # repeats x models x batches x sizes


def read(frame, folder, name="some.csv"):
    frame.to_csv(folder / name, index=False)
    return read_latencies(folder / name)


def refused(frame, folder):
    with pytest.raises(ConfigError) as caught:
        read(frame, folder)
    return str(caught.value)


def test_a_published_row_is_a_measurement_of_its_anchor_and_of_each_target(tmp_path):
    table = read(published_frame(), tmp_path)
    assert table.devices == (SLOW, FAST)
    assert table.profiled_devices == (SLOW,)
    assert len(table.rows) == 2 * MEASUREMENTS
    vgg = table.rows.query("model == 'VGG11' and batch_size == 16 and image_size == 64 and repeat == 'exp01'")
    assert dict(zip(vgg["device"], vgg["step_seconds"], strict=True)) == pytest.approx(
        {SLOW: 0.012, FAST: (2 + 8 / 3 + 1 / 4 + 1 / 2.5) / 1e3}
    )


def test_published_op_times_of_two_steps_become_seconds_of_one(tmp_path):
    table = read(published_frame(), tmp_path)
    vgg = table.rows.query("model == 'VGG11' and batch_size == 16 and image_size == 64").index[0]
    assert table.op_seconds.loc[vgg, "Device_Conv2D"] == pytest.approx(0.008)


def test_one_measurement_in_several_files_is_read_once(tmp_path):
    table = both_ways(tmp_path)
    assert len(table.rows) == 2 * MEASUREMENTS
    assert table.profiled_devices == (SLOW, FAST)
    assert len(table.op_seconds) == len(table.rows)


def test_a_file_in_the_schema_is_read_like_the_published_one(tmp_path):
    published, declared = read(published_frame(), tmp_path), read(schema_frame(), tmp_path, "mine.csv.gz")
    assert declared.devices == ("t4",)
    own = published.rows[published.rows["device"] == SLOW]
    assert np.allclose(declared.rows["step_seconds"], own["step_seconds"])
    for op in ("Device_Conv2D", "Host_IDLE"):
        assert np.allclose(declared.op_seconds[op], published.op_seconds[op])


def test_the_schema_takes_a_family_and_a_price_and_asks_for_neither(tmp_path):
    frame = schema_frame()
    assert read(frame, tmp_path).usd_per_hour("t4") is None
    assert set(read(frame.assign(family="mine", usd_per_hour=0.54), tmp_path).rows["family"]) == {"mine"}
    assert read(frame.assign(usd_per_hour=0.54), tmp_path).usd_per_hour("t4") == 0.54


def test_a_row_without_op_times_is_a_latency_alone(tmp_path):
    frame = schema_frame()
    ops = [name for name in frame if "_op_" in name]
    frame.loc[frame["repeat"] == "exp02", [*ops, "profiled_steps"]] = np.nan
    assert len(read(frame, tmp_path).op_seconds) == MEASUREMENTS / 2


@pytest.mark.parametrize(
    ("column", "factor", "message"),
    [
        ("batch_latency", 1e2, "check the units of both"),
        ("batch_latency", 1e3, "is above epoch_latency=10; both are seconds"),
        ("epoch_latency", 1e-6, "is above epoch_latency=1e-05; both are seconds"),
        ("Device_Conv2D", 1e3, "check the units of both"),
        (FAST, 1e-3, "check the units of their latencies"),
        (FAST, 1e-6, "cannot be"),
        (FAST, 1e3, "check the units of their latencies"),
    ],
)
def test_a_published_column_in_another_unit_is_an_error(tmp_path, column, factor, message):
    frame = published_frame()
    frame[column] *= factor
    assert message in refused(frame, tmp_path)


@pytest.mark.parametrize(("factor", "message"), [(1e3, "check the unit"), (1e-3, "check the unit")])
def test_a_single_row_in_another_unit_is_an_error_too(tmp_path, factor, message):
    frame = published_frame()
    frame.loc[7, FAST] *= factor
    told = refused(frame, tmp_path)
    assert message in told
    assert "repeats of VGG16, batch 64, 64 pixels" in told


def test_a_workload_in_another_unit_than_its_device_is_an_error(tmp_path):
    frame = published_frame()
    frame.loc[frame["model"] == "LeNet5", FAST] *= 1e3
    assert "LeNet5, batch 16: g4dn.xlarge takes" in refused(frame, tmp_path)


def test_a_latency_that_differs_between_two_files_is_an_error(tmp_path):
    published_frame().to_csv(tmp_path / "one.csv", index=False)
    other = published_frame(FAST)
    other[SLOW] *= 1.05
    other.to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ConfigError, match="; one of the two is in a wrong unit"):
        read_latencies(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_milliseconds": "step"}, "exactly one column of step_seconds, step_milliseconds"),
        ({"step_milliseconds": "step_minutes"}, "found step_minutes"),
        ({"device_op_microseconds.Conv2D": "device_op_us.Conv2D"}, "must be device_op_UNIT.NAME"),
        ({"repeat": "run"}, "unknown column 'run'; known: device, model, batch_size"),
        ({"model": "family"}, "column 'model' is missing"),
        ({"profiled_steps": "usd_per_hour"}, "op times need the column 'profiled_steps'"),
        ({"device": "machine"}, "has neither a column 'device', as the schema"),
    ],
)
def test_a_column_that_the_schema_lacks_is_named(tmp_path, change, message):
    assert message in refused(schema_frame().rename(columns=change), tmp_path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("batch_size", "many", "row 4: batch_size='many' is not a number"),
        ("batch_size", 0, "row 4: batch_size=0 must be at least 1"),
        ("model", None, "row 4 has no model"),
        ("step_milliseconds", None, "a step of nan s cannot be"),
        ("step_milliseconds", -3, "a step of -0.003 s cannot be"),
        ("device_op_microseconds.Conv2D", -1, "an op time is negative or not finite"),
        ("profiled_steps", None, "row 4 has op times and no profiled_steps of at least 1"),
    ],
)
def test_a_value_that_cannot_be_is_named(tmp_path, column, value, message):
    frame = schema_frame().astype({column: object})
    frame.loc[3, column] = value
    assert message in refused(frame, tmp_path)


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="is neither a file nor a folder"):
        read_latencies(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"holds no \.csv"):
        read_latencies(tmp_path)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ConfigError, match="as CSV: No columns"):
        read_latencies(tmp_path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("dataset", "photos", "must begin with the size"), ("batchsize", None, "must be at least 1")],
)
def test_a_published_value_that_cannot_be_is_named(tmp_path, column, value, message):
    frame = published_frame().astype({column: object})
    frame.loc[3, column] = value
    assert message in refused(frame, tmp_path)


def test_a_published_column_that_is_missing_is_named(tmp_path):
    frame = published_frame().drop(columns="batchsize")
    assert "column 'batchsize' of the published layout is missing" in refused(frame, tmp_path)


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("VGG13", "vgg"),
        ("InceptionResNetV2", "inception"),
        ("CIFAR10_CNN", "toy"),
        ("MobileNetV2", "mobilenet"),
        ("ConvNeXt-T", "convnext"),
        ("3dnet", "3dnet"),
    ],
)
def test_a_family_is_found_by_the_name_of_a_model(model, family):
    assert find_family(model) == family


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"device," * 2_000, "column 'device' appears 2000 times"),
        (b"device,model\nt4,VGG11,3,4\n", "a row has more fields than the header"),
        (b"\xff\xfe" * 100, "cannot read "),
    ],
)
def test_a_table_that_contradicts_its_header_is_refused(tmp_path, content, message):
    (tmp_path / "some.csv").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_latencies(tmp_path)


def test_a_damaged_archive_is_refused(tmp_path):
    packed = gzip.compress(schema_frame().to_csv(index=False).encode())
    (tmp_path / "some.csv.gz").write_bytes(packed[:12] + b"\xff" * 8 + packed[20:])
    with pytest.raises(ConfigError, match=r"^cannot read '.*some\.csv\.gz' as CSV: Error -3"):
        read_latencies(tmp_path)


def test_a_number_that_is_no_float_is_refused(tmp_path):
    frame = schema_frame().astype({"batch_size": object})
    frame.loc[3, "batch_size"] = 10**400
    assert refused(frame, tmp_path).endswith(": a number of batch_size is too large for one")
