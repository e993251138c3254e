"""Permitted content of a record."""

import pytest
from builders import record, train_result

from orchestrator.core.codec import from_plain, to_plain
from orchestrator.core.errors import RecordError
from orchestrator.core.result import Failure, TrainResult, find_variables, find_versions


def test_a_record_has_a_result_or_a_failure():
    assert record().failure is None
    assert record(failure=Failure(kind="timeout", message="no result")).result is None


@pytest.mark.parametrize("failure", [None, Failure(kind="error", message="")])
def test_a_record_of_neither_or_of_both_is_refused(failure):
    result = train_result() if failure else None
    with pytest.raises(
        RecordError, match=r"^record of trial [0-9a-f]{16} needs exactly one of result and fail"
    ):
        record(failure=failure, result=result)


def test_a_failure_of_no_known_kind_is_refused():
    with pytest.raises(
        RecordError, match=r"^unknown failure kind 'bad luck'; known: oom, preempted, worker_l"
    ):
        Failure(kind="bad luck", message="")


def test_what_workers_ran_with_is_kept_apart_from_where_they_were_driven_from():
    environment = {"torch": "2.13.0", "python": "3.11.7", "hostname": "laptop", "OMP_NUM_THREADS": "2"}
    assert find_versions(record(environment=environment)) == {"python": "3.11.7", "torch": "2.13.0"}
    assert find_variables(record(environment=environment)) == {"OMP_NUM_THREADS": "2"}


def test_a_result_that_was_kept_before_these_were_measured_can_still_be_read():
    later = ("reading_seconds", "exchange_seconds", "unmoved", "peaks", "energy_joules", "calibration")
    kept = {name: value for name, value in to_plain(train_result()).items() if name not in later}
    read = from_plain(TrainResult, kept)
    assert [getattr(read, name) for name in later] == [(), (), (), None, {}, None]
