"""Records in a bucket too: both places have all of them, whichever of both was lost meanwhile."""

import json
from dataclasses import replace

import pytest
from builders import record
from fsspec.core import url_to_fs

from orchestrator.core.codec import to_json
from orchestrator.core.errors import ConfigError, RecordError
from orchestrator.core.result import Failure
from orchestrator.record.bucket import BucketStore, Driver, name_object
from orchestrator.record.ledger import Ledger
from orchestrator.record.replicated_ledger import ReplicatedLedger


@pytest.fixture
def url(tmp_path):
    return f"memory://{tmp_path.name}/example"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "outputs" / "example" / "records.jsonl"


def archived(path, url, **changes):
    return ReplicatedLedger(path, BucketStore(url), **changes)


def objects(url):
    """Name -> content of every record's object."""
    files, root = url_to_fs(url)
    files.invalidate_cache()
    paths = files.ls(f"{root}/records", detail=False) if files.exists(f"{root}/records") else []
    return {path.rpartition("/")[2]: files.cat_file(path) for path in paths}


def put(url, name, content):
    files, root = url_to_fs(url)
    files.pipe_file(f"{root}/{name}", content)


def test_a_record_is_in_both_places_when_append_returns(path, url):
    ledger = archived(path, url)
    with ledger.lock():
        ledger.append(record())
        assert list(objects(url).values()) == [path.read_bytes()]
    assert Ledger(path).records() == (record(),)


def test_a_new_disk_gets_every_record_in_the_order_in_which_they_ended(path, url, tmp_path):
    made = [record(attempt=value, ended_at=1_790_000_100.0 - value) for value in (1, 2, 3)]
    with archived(path, url).lock():
        for item in made:
            BucketStore(url).put(item)
    new = tmp_path / "new" / "example" / "records.jsonl"
    assert archived(new, url).records() == tuple(made[::-1])
    assert not new.exists()
    with archived(new, url).lock():
        assert Ledger(new).records() == tuple(made[::-1])


def test_what_only_the_file_has_is_sent_when_the_sweep_is_taken_up(path, url):
    Ledger(path).append(record())
    with archived(path, url).lock():
        assert list(objects(url).values()) == [path.read_bytes()]


def test_the_same_record_is_one_object_and_its_first_content_stays(url):
    archive = BucketStore(url)
    for value in (record(), record(environment={"written": "again"})):
        archive.put(value)
    assert archive.only_here([]) == (record(),)


@pytest.mark.parametrize(
    "change",
    [
        {"attempt": 2},
        {"started_at": 1_790_000_000.000001},
        {"trial_id": "another"},
        {"provenance": "rehearsed"},
    ],
)
def test_another_attempt_is_another_object(change):
    assert name_object(replace(record(), **change)) != name_object(record())


def test_a_diverged_loss_and_any_text_survive(path, url):
    odd = record(environment={"odd": "line\nend \u2028 \udc80 é"})
    BucketStore(url).put(odd)
    assert archived(path, url).records() == (odd,)


@pytest.mark.parametrize(
    ("content", "cause"),
    [(b"", "it holds 0 records"), (b"\x00", "not JSON"), (b"{}", "TrialRecord: field 'attempt' is missing")],
)
def test_an_object_that_is_no_record_is_shown_and_stays(path, url, caplog, content, cause):
    put(url, "records/odd.json", content)
    with archived(path, url).lock():
        pass
    assert f"{url}/records/odd.json is left out: {cause}" in caplog.text
    assert (Ledger(path).records(), objects(url)) == ((), {"odd.json": content})


def test_a_record_under_another_name_is_taken_once(path, url):
    Ledger(path).append(record())
    put(url, "records/copy.json", path.read_bytes())
    for _ in range(2):
        with archived(path, url).lock():
            assert Ledger(path).records() == (record(),)


def test_an_object_of_a_later_version_is_refused(path, url):
    put(url, "records/new.json", to_json(replace(record(), schema_version=99)).encode())
    with (
        pytest.raises(RecordError, match=r"records/new\.json: line 1 has schema_version 99; this version"),
        archived(path, url).lock(),
    ):
        pass


class Flaky(BucketStore):
    """A bucket that cannot be written while `is_away`."""

    is_away = False

    def put(self, record):
        if self.is_away:
            raise RecordError("records in memory://: nobody answers")
        super().put(record)


def test_a_bucket_lost_in_the_middle_is_shown_once_and_gets_all_with_a_later_record(path, url, caplog):
    now = [0.0]
    archive = Flaky(url)
    ledger = ReplicatedLedger(path, archive, clock=lambda: now[0])
    with ledger.lock():
        archive.is_away = True
        for attempt in (1, 2):
            ledger.append(record(attempt=attempt))
            now[0] += 300
        archive.is_away = False
        ledger.append(record(attempt=3))
        assert len(objects(url)) == 3
    assert caplog.messages == [f"records in memory://: nobody answers; {path} has what could not be sent"]


def test_a_bucket_that_failed_is_left_alone_for_minutes(path, url):
    archive = Flaky(url)
    ledger = ReplicatedLedger(path, archive, clock=lambda: 7.0)
    with ledger.lock():
        archive.is_away = True
        ledger.append(record())
        archive.is_away = False
        ledger.append(record(attempt=2))
        assert objects(url) == {}
    assert len(objects(url)) == 2  # it is asked again at the end


def lose_bucket(path, url, *, error=None):
    """A sweep with one record, whose bucket goes away before it is made."""
    archive = Flaky(url)
    ledger = ReplicatedLedger(path, archive)
    with ledger.lock():
        archive.is_away = True
        ledger.append(record())
        if error:
            raise error


def test_a_bucket_that_stays_away_is_an_error_at_the_end_and_the_file_has_all(path, url):
    with pytest.raises(RecordError) as told:
        lose_bucket(path, url)
    assert str(told.value) == (
        f"{path} alone has the last records of sweep 'example', in number 1; the same command sends them"
    )
    assert Ledger(path).records() == (record(),)
    with archived(path, url).lock():
        assert len(objects(url)) == 1


def test_an_error_of_the_sweep_is_not_taken_for_one_of_the_bucket(path, url):
    with pytest.raises(OSError, match="of the sweep"):
        lose_bucket(path, url, error=OSError("of the sweep"))


def test_a_record_that_the_file_cannot_take_is_sent_all_the_same(path, url):
    path.mkdir(parents=True)
    with pytest.raises(RecordError, match="Is a directory"):
        archived(path, url).append(record(failure=Failure(kind="oom", message="killed")))
    assert len(objects(url)) == 1


def test_a_driver_elsewhere_that_did_not_report_its_end_is_logged(path, url, caplog):
    other = Driver(host="old-head", folder="/outputs/example", process=7, since="2026-11-22T10:00:00+00:00")
    put(url, "driver.json", to_json(other).encode())
    with archived(path, url).lock():
        pass
    (told,) = caplog.messages
    assert told == (
        f"sweep 'example' in {url} was begun by process 7 on host old-head in /outputs/example at "
        "2026-11-22T10:00:00+00:00, which has not said that it ended: if it still runs, end one of both, for "
        "they run the same trials"
    )


def test_a_driver_that_was_killed_here_is_not_logged_and_one_that_ends_removes_its_claim(path, url, caplog):
    files, root = url_to_fs(url)
    lock = archived(path, url).lock()
    lock.__enter__()  # and its driver is killed
    claim = files.cat_file(f"{root}/driver.json")
    assert json.loads(claim)["folder"] == str(path.parent)
    lock.gen.close()
    put(url, "driver.json", claim)
    with archived(path, url).lock():
        pass
    assert caplog.messages == []
    assert not files.exists(f"{root}/driver.json")


@pytest.mark.parametrize("url", ["nothing://here", "abfs://bucket/folder"])
def test_a_record_path_that_cannot_be_written_is_refused_in_one_line(url):
    with pytest.raises(ConfigError, match=rf"^record\.path={url} cannot be used: .+$"):
        BucketStore(url)


def test_a_folder_is_refused_with_what_is_meant_for_it(tmp_path):
    with pytest.raises(
        ConfigError, match=r"is not a bucket; for a folder that all heads see set outputs=DIR$"
    ):
        BucketStore(f"file://{tmp_path}")
