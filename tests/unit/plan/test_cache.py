"""Results that a sweep reuses from others."""

from builders import placement, record, trial_spec

from orchestrator.core.placement import Cached, Failed
from orchestrator.core.result import Failure
from orchestrator.plan.cache import reuse_results

FAILED = Failure(kind="oom", message="killed")


def cached(of):
    return Cached(trial=of.spec, trial_id=of.trial_id, provenance=of.provenance)


def test_a_result_of_another_sweep_is_taken_over_with_its_source_and_without_its_log():
    done = record(sweep="other", log_path="logs/1")
    (found,) = reuse_results([cached(done)], {"other": [done]}, sweep="mine")
    assert (found.sweep, found.reused_from, found.log_path) == ("mine", "other", None)
    assert found.result == done.result


def test_a_failure_of_another_sweep_is_taken_over_once_for_it_would_come_again():
    attempts = [record(sweep="other", attempt=number, failure=FAILED) for number in (1, 2)]
    known = Failed(
        trial=attempts[0].spec, trial_id=attempts[0].trial_id, provenance="measured", kind="oom", message=""
    )
    taken = reuse_results([known], {"other": attempts}, sweep="mine")
    assert [(record.attempt, record.failure, record.reused_from) for record in taken] == [
        (1, FAILED, "other"),
        (2, FAILED, "other"),
    ]
    assert reuse_results([known], {"other": attempts, "mine": taken}, sweep="mine") == ()


def test_what_the_sweep_has_itself_is_not_taken_over():
    own, other = record(sweep="mine"), record(sweep="other")
    assert reuse_results([cached(own)], {"mine": [own], "other": [other]}, sweep="mine") == ()


def test_attempts_that_failed_come_along_in_their_order_for_they_cost_too():
    attempts = [record(sweep="other", attempt=number, failure=FAILED) for number in (1, 2)]
    attempts.append(record(sweep="other", attempt=3))
    found = reuse_results([cached(attempts[-1])], {"other": attempts}, sweep="mine")
    assert [(record.attempt, record.failure, record.reused_from) for record in found] == [
        (1, FAILED, "other"),
        (2, FAILED, "other"),
        (3, None, "other"),
    ]


def test_attempts_at_other_trials_and_in_other_sweeps_stay_where_they_are():
    done = record(sweep="other")
    elsewhere = [
        record(sweep="other", failure=FAILED, spec=trial_spec(seed=1)),
        record(sweep="third", failure=FAILED),
        record(sweep="other", failure=FAILED, placement=placement(provenance="rehearsed")),
    ]
    ledgers = {"other": [*elsewhere[::2], done], "third": elsewhere[1:2]}
    assert len(reuse_results([cached(done)], ledgers, sweep="mine")) == 1


def test_a_result_that_was_taken_over_before_keeps_its_first_source():
    done = record(sweep="other", reused_from="first")
    assert reuse_results([cached(done)], {"other": [done]}, sweep="mine")[0].reused_from == "first"


def test_a_rehearsal_is_taken_over_without_measurements_that_failed():
    rehearsed = record(sweep="other", placement=placement(provenance="rehearsed"))
    failed = record(sweep="other", failure=FAILED)
    (found,) = reuse_results([cached(rehearsed)], {"other": [failed, rehearsed]}, sweep="mine")
    assert found.provenance == "rehearsed"
