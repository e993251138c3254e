"""The ledger keeps each record on disk, mends itself after a crash, and has one writer."""

import json
import logging
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from builders import record, train_result, trial_spec

from orchestrator.core.codec import to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.result import Failure
from orchestrator.record.ledger import Ledger, read_ledgers


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "outputs" / "example" / "records.jsonl")


def test_an_absent_ledger_has_no_records(ledger):
    assert ledger.records() == ()
    assert not ledger.path.exists()


def test_what_is_appended_is_read_back_in_order(ledger):
    kept = record(), record(spec=trial_spec(seed=1), failure=Failure(kind="oom", message="killed"))
    for item in kept:
        ledger.append(item)
    assert Ledger(ledger.path).records() == kept
    assert len(ledger.path.read_text().splitlines()) == 2


def test_a_diverged_loss_and_any_text_survive(ledger):
    odd = record(
        result=train_result(losses=((1, float("inf")),)), environment={"odd": "line\nend \u2028 \udc80 é"}
    )
    ledger.append(odd)
    assert ledger.records() == (odd,)
    assert len(ledger.path.read_bytes().splitlines()) == 1


def test_a_line_is_standard_json_that_other_programs_can_read(ledger):
    ledger.append(record())
    plain = json.loads(ledger.path.read_text())
    assert {"trial_id", "provenance", "spec", "result", "failure", "schema_version"} <= set(plain)


def test_a_line_torn_by_a_crash_is_moved_aside_and_logged(ledger, caplog):
    ledger.append(record())
    with ledger.path.open("ab") as file:
        file.write(b'{"trial_id": "half')
    reopened = Ledger(ledger.path)
    reopened.append(record(attempt=2))
    assert [record.attempt for record in reopened.records()] == [1, 2]
    assert ledger.path.with_name("records.corrupt.jsonl").read_bytes() == b'{"trial_id": "half\n'
    assert (
        "line 2 is left out, and a run moves it to records.corrupt.jsonl: not JSON: Unterminated"
        in caplog.text
    )


def test_a_record_that_lacks_only_its_line_end_is_kept(ledger):
    ledger.append(record())
    ledger.path.write_bytes(ledger.path.read_bytes().rstrip(b"\n"))
    Ledger(ledger.path).append(record(attempt=2))
    assert [record.attempt for record in ledger.records()] == [1, 2]
    assert not ledger.path.with_name("records.corrupt.jsonl").exists()


def test_a_corrupt_line_in_the_middle_is_moved_aside_and_the_rest_is_untouched(ledger, caplog):
    lines = [to_json(record(attempt=1)), "\x00\x00\x00", '{"trial_id": 3}', "[]", to_json(record(attempt=2))]
    ledger.path.parent.mkdir(parents=True)
    ledger.path.write_text("\n".join(lines) + "\n")
    assert len(ledger.records()) == 2  # as a run does when it plans
    with ledger.lock():
        assert ledger.path.read_text().splitlines() == [lines[0], lines[4]]
    assert ledger.path.with_name("records.corrupt.jsonl").read_text().splitlines() == lines[1:4]
    (told,) = (entry.getMessage() for entry in caplog.records)
    assert (
        "3 lines are left out, and a run moves them to records.corrupt.jsonl; the first of them, line 2"
        in told
    )


def test_a_reader_leaves_a_bad_line_where_it_is_and_shows_it(ledger, caplog):
    ledger.append(record())
    content = ledger.path.read_bytes() + b'{"being": "written'
    ledger.path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert len(Ledger(ledger.path).records()) == 1
    assert "line 2 is left out, and a run moves it to records.corrupt.jsonl: not JSON" in caplog.text
    assert ledger.path.read_bytes() == content


def test_a_ledger_that_is_removed_while_its_sweep_runs_is_made_again_with_all_records(ledger, caplog):
    ledger.append(record(attempt=1))
    with ledger.lock():
        ledger.append(record(attempt=2))
        shutil.rmtree(ledger.path.parent)
        ledger.append(record(attempt=3))
        assert [one.attempt for one in Ledger(ledger.path).records()] == [1, 2, 3]
        assert Ledger(ledger.path).holder() == f"process {os.getpid()}"
        shutil.rmtree(ledger.path.parents[1])
        assert [one.attempt for one in ledger.records()] == [1, 2, 3]
    told = [entry.getMessage() for entry in caplog.records]
    assert told[0].endswith("was removed while its sweep ran; made again with its 2 records")


def test_a_ledger_that_is_removed_after_its_sweep_stays_empty(ledger):
    with ledger.lock():
        ledger.append(record())
    shutil.rmtree(ledger.path.parent)
    assert ledger.records() == ()
    with ledger.lock():
        assert ledger.records() == ()


def test_a_record_of_a_later_version_is_refused_and_not_touched(ledger):
    ledger.path.parent.mkdir(parents=True)
    content = to_json(replace(record(), schema_version=99)) + "\n"
    ledger.path.write_text(content)
    with pytest.raises(RecordError, match=r"line 1 has schema_version 99; this version reads up to \d"):
        ledger.records()
    with pytest.raises(RecordError, match="schema_version 99"), ledger.lock():
        pass
    assert ledger.path.read_text() == content


def test_a_folder_that_cannot_be_made_is_shown_before_anything_starts(tmp_path):
    (tmp_path / "outputs").write_text("a file where the folder should be")
    ledger = Ledger(tmp_path / "outputs" / "example" / "records.jsonl")
    with (
        pytest.raises(RecordError, match=r"records of sweep 'example' cannot be kept in .*: Not a directory"),
        ledger.lock(),
    ):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_cannot_be_written_is_shown_before_anything_starts(ledger):
    ledger.path.parent.mkdir(parents=True, mode=0o555)
    with pytest.raises(RecordError, match="Permission denied"), ledger.lock():
        pass


def test_a_second_driver_is_refused_with_the_process_of_the_first(ledger):
    with ledger.lock(), pytest.raises(RecordError) as told, Ledger(ledger.path).lock():
        pass
    assert str(told.value) == f"sweep 'example' is run by process {os.getpid()}; wait for it or end it"


def test_the_lock_is_free_again_after_its_holder_ended(ledger):
    for _ in range(2):
        with ledger.lock():
            ledger.append(record())
    assert len(ledger.records()) == 2


def test_the_lock_ends_with_a_killed_holder(ledger):
    code = "import os, sys, pathlib; from orchestrator.record.ledger import Ledger\n"
    code += "with Ledger(pathlib.Path(sys.argv[1])).lock(): os.kill(os.getpid(), 9)"
    killed = subprocess.run([sys.executable, "-c", code, str(ledger.path)], check=False)
    assert killed.returncode == -9
    with ledger.lock():
        ledger.append(record())


def test_an_error_inside_the_lock_is_not_taken_for_one_of_the_ledger(ledger):
    with pytest.raises(OSError, match="of the sweep"), ledger.lock():
        raise OSError("of the sweep")
    with ledger.lock():
        pass


def test_the_ledgers_of_all_sweeps_are_read_by_name(tmp_path):
    for sweep in ("b", "a"):
        Ledger(tmp_path / sweep / "records.jsonl").append(record(sweep=sweep))
    (tmp_path / "without_records").mkdir()
    assert {name: records[0].sweep for name, records in read_ledgers(tmp_path, sweep="a").items()} == {
        "a": "a",
        "b": "b",
    }


def test_no_outputs_are_no_records(tmp_path):
    assert read_ledgers(tmp_path / "outputs", sweep="a") == {}


@pytest.fixture
def outputs(tmp_path):
    """Two sweeps; a later version has written to the one that is called `newer`."""
    Ledger(tmp_path / "mine" / "records.jsonl").append(record())
    Ledger(tmp_path / "newer" / "records.jsonl").append(replace(record(), schema_version=99))
    return tmp_path


def test_another_sweeps_ledger_of_a_later_version_is_left_out_and_logged_once(outputs, caplog):
    for _ in range(2):
        assert list(read_ledgers(outputs, sweep="mine")) == ["mine"]
    (told,) = caplog.messages
    assert told.startswith(f"{outputs}/newer/records.jsonl: line 1 has schema_version 99; this version reads")
    assert told.endswith("sweep 'newer' is left out, and nothing of it is reused")


def test_the_sweep_s_own_ledger_of_a_later_version_is_an_error(outputs):
    with pytest.raises(RecordError, match=r"newer/records\.jsonl: line 1 has schema_version 99"):
        read_ledgers(outputs, sweep="newer")


def test_a_ledger_that_cannot_be_read_shows_it(outputs, caplog):
    (outputs / "folder" / "records.jsonl").mkdir(parents=True)
    assert "mine" in read_ledgers(outputs, sweep="mine")
    assert "folder/records.jsonl cannot be read: Is a directory; sweep 'folder' is left out" in caplog.text
    with pytest.raises(RecordError, match="cannot be read: Is a directory"):
        read_ledgers(outputs, sweep="folder")


def test_a_line_is_decoded_once_however_often_it_is_read(ledger):
    ledger.append(record())
    (first,), (again,) = ledger.records(), Ledger(ledger.path).records()
    assert first is again


def test_a_line_that_nests_too_deeply_is_left_out_and_logged(ledger, caplog):
    ledger.append(record())
    ledger.path.write_bytes(ledger.path.read_bytes() + b"[" * 100_000 + b"\n")
    assert Ledger(ledger.path).records() == (record(),)
    assert (
        "line 2 is left out, and a run moves it to records.corrupt.jsonl: not JSON: it nests too deeply"
        in caplog.text
    )
