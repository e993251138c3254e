"""`record.path` on an S3 server: what a new head finds there, and what becomes of a server that is away."""

import shutil
import socket
from contextlib import closing

import pytest
from builders import record, trial_spec
from cli_process import NOOP, ask, records_in
from fsspec.core import url_to_fs
from s3_server import BUCKET, S3, SECRET, s3

from orchestrator.core.errors import RecordError
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.record.bucket import BucketStore
from orchestrator.record.ledger import Ledger
from orchestrator.record.replicated_ledger import ReplicatedLedger

pytest.importorskip("moto", reason="moto is not installed")
pytest.importorskip("s3fs", reason="s3fs is not installed")

URL = f"s3://{BUCKET}/sweeps"
WORDS = (*NOOP, f"record.path={URL}")


@pytest.fixture(scope="module")
def server():
    found = s3()
    with found.running():
        yield found


@pytest.fixture
def at_hand(server: S3, monkeypatch):
    """The same server for this process."""
    reach(server, monkeypatch)


def reach(server: S3, monkeypatch):
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    url_to_fs(URL)[0].clear_instance_cache()  # else a client keeps the address that it was made with


def objects(url):
    files, root = url_to_fs(url)
    files.invalidate_cache()
    return [files.cat_file(item) for item in files.ls(f"{root}/records", detail=False)]


@pytest.mark.usefixtures("at_hand")
def test_an_object_is_created_if_it_is_absent_and_never_written_over():
    archive = BucketStore(f"{URL}/created")
    for each in (record(), record(environment={"written": "again"}), record(attempt=2)):
        archive.put(each)
    assert sorted(archive.only_here([]), key=lambda kept: kept.attempt) == [record(), record(attempt=2)]


@pytest.mark.usefixtures("at_hand")
def test_more_records_than_one_call_reads_come_back(tmp_path):
    archive = BucketStore(f"{URL}/many")
    made = [record(attempt=index, ended_at=1_790_000_003.0 + index) for index in range(1, 121)]
    for item in made:
        archive.put(item)
    assert archive.only_here(made[:7]) == tuple(made[7:])


@pytest.mark.more
def test_a_new_head_with_an_empty_disk_repeats_no_trial(server, tmp_path):
    first = ask(*WORDS, cwd=tmp_path, variables=server.variables)
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith(f"records: outputs/smoke/records.jsonl and {URL}/smoke\n")
    kept = (tmp_path / "outputs/smoke/records.jsonl").read_bytes()
    shutil.rmtree(tmp_path / "outputs")
    planned = ask("plan", *WORDS, cwd=tmp_path, variables=server.variables)
    assert "to run: 0 to measure, 0 to rehearse; 1 cached, 0 skipped" in planned.out
    assert not (tmp_path / "outputs").exists()
    again = ask(*WORDS, cwd=tmp_path, variables=server.variables)
    assert (again.code, again.err) == (0, "")
    assert "to run: 0 to measure, 0 to rehearse; 1 cached, 0 skipped" in again.out
    assert (tmp_path / "outputs/smoke/records.jsonl").read_bytes() == kept
    written = [path.read_bytes() for path in (tmp_path / "outputs").rglob("*") if path.is_file()]
    assert not [value for value in (*written, first.out.encode()) if SECRET.encode() in value]


@pytest.mark.usefixtures("at_hand")
def test_predictions_stand_on_records_that_only_the_bucket_has(tmp_path):
    spec = trial_spec(workload="lenet5", device="t4", host_cpu=None)
    BucketStore(f"{URL}/single-vgg16").put(record(spec=spec, sweep="single-vgg16"))
    (found,) = predict_points(
        ("workload=vgg16", "device=t4", f"record.path={URL}"), working_directory=tmp_path
    )
    assert "own records on this device of lenet5: 1 of sweep single-vgg16" in found.step.source


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("s3://nobody-has-it/sweeps", "The specified bucket does not exist"),
        (URL, "Could not connect to the endpoint URL"),
    ],
)
@pytest.mark.more
def test_a_place_that_cannot_be_had_is_refused_before_anything_is_made(server, tmp_path, path, cause):
    found = server if "nobody" in path else s3()  # where nothing listens
    told = ask(*NOOP, f"record.path={path}", cwd=tmp_path, variables=found.variables)
    assert (told.code, told.err.count("\n"), records_in(tmp_path)) == (2, 1, [])
    assert f"error: records in {path}/smoke: " in told.err
    assert cause in told.err


@pytest.mark.more
def test_a_server_that_is_lost_in_the_middle_and_comes_back_empty_gets_every_record(tmp_path, monkeypatch):
    server = s3()
    reach(server, monkeypatch)
    path = tmp_path / "outputs" / "example" / "records.jsonl"
    with server.running():
        lock = ReplicatedLedger(path, BucketStore(f"{URL}/lost"))
        held = lock.lock()
        held.__enter__()
        lock.append(record())
        assert len(objects(f"{URL}/lost")) == 1
    lock.append(record(attempt=2))
    with pytest.raises(RecordError, match="alone has the last records"):
        held.__exit__(None, None, None)
    assert len(Ledger(path).records()) == 2
    with server.running(), ReplicatedLedger(path, BucketStore(f"{URL}/lost")).lock():
        assert len(objects(f"{URL}/lost")) == 2


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr("orchestrator.record.bucket._CALL_SECONDS", 0.2)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        reach(S3(silent.getsockname()[1]), monkeypatch)
        with pytest.raises(RecordError, match=rf"^records in {URL}: no answer within 0.2 s$"):
            BucketStore(URL).put(record())
