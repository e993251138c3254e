"""Next attempt to start, and retries."""

from budget_builders import uncapped
from builders import placement, record, trial_spec
from cluster_builders import inventory, pool
from plan_builders import held, here

from orchestrator.core.placement import Attempt, Placement
from orchestrator.core.result import Failure
from orchestrator.execute.scheduling.queue import Queue, next_startable

_HERE = here(cpus=8, devices={"t4": held(2), "a100_40": held(1)})


def on_gpus(
    count: int, *, device: str = "t4", cpus: int = 2, seed: int = 0, pool: str | None = None
) -> Placement:
    trial = trial_spec(device=device, num_workers=count, seed=seed)
    return placement(trial, kind="gpu", replicas=count, cpus=cpus, devices=count, pool=pool)


def rehearsal(seed: int = 0) -> Placement:
    return placement(trial_spec(device="v100", seed=seed), provenance="rehearsed", cpus=1)


def measured(seed: int = 0) -> Placement:
    return placement(trial_spec(seed=seed), cpus=8)


def started(*waiting: Placement, beside: tuple[Placement, ...] = ()) -> Placement | None:
    attempt = next_startable(
        [Attempt(placement=item, number=1) for item in waiting], beside, inventory=_HERE, kept={}
    )
    return attempt and attempt.placement


def queue_of(*placements: Placement, **changes) -> Queue:
    return Queue(
        placements,
        **{
            "inventory": _HERE,
            "prior_attempts": {},
            "retry_limits": {"worker_lost": 2},
            "budget_tracker": uncapped(),
            **changes,
        },
    )


def failed(attempt: Attempt, kind: str):
    return record(
        placement=attempt.placement, attempt=attempt.number, failure=Failure(kind=kind, message="the cause")
    )


def test_the_first_that_waits_starts_on_an_idle_host():
    assert started(measured(0), measured(1)) == measured(0)


def test_an_empty_queue_starts_no_trial():
    assert started() is None


def test_no_trial_runs_beside_one_measured_on_the_processor():
    assert started(measured(1), on_gpus(1), rehearsal(), beside=(measured(0),)) is None


def test_a_trial_measured_on_the_processor_waits_until_all_cores_are_free():
    assert started(measured(), beside=(on_gpus(1),)) is None


def test_trials_on_their_own_accelerators_run_beside_each_other():
    assert started(on_gpus(1, seed=1), beside=(on_gpus(1),)) == on_gpus(1, seed=1)
    assert started(on_gpus(1, device="a100_40"), beside=(on_gpus(2),)) == on_gpus(1, device="a100_40")


def test_a_trial_waits_for_accelerators_that_others_hold():
    assert started(on_gpus(2, seed=1), beside=(on_gpus(1),)) is None
    assert started(on_gpus(1, seed=2), beside=(on_gpus(1), on_gpus(1, seed=1))) is None


def test_a_trial_waits_for_cores_though_its_accelerators_are_free():
    assert started(on_gpus(1, seed=1, cpus=4), beside=(on_gpus(1, cpus=6),)) is None


def test_a_small_trial_starts_where_a_large_one_before_it_does_not_fit():
    assert started(on_gpus(2), on_gpus(1, seed=1), beside=(on_gpus(1),)) == on_gpus(1, seed=1)


def test_rehearsals_run_beside_each_other():
    assert started(rehearsal(1), beside=(rehearsal(0),)) == rehearsal(1)


def test_a_rehearsal_never_runs_beside_a_measured_trial():
    assert started(rehearsal(), beside=(on_gpus(1),)) is None
    assert started(on_gpus(1), beside=(rehearsal(),)) is None


def test_a_queue_is_drained_when_no_trial_waits_or_runs():
    queue = queue_of(measured())
    assert not queue.is_drained
    attempt = queue.take()
    assert not queue.is_drained
    queue.end(record(placement=attempt.placement))
    assert queue.is_drained
    assert queue.take() is None


def test_an_attempt_is_taken_once():
    queue = queue_of(on_gpus(1), on_gpus(1, seed=1))
    assert [queue.take().placement, queue.take().placement] == [on_gpus(1), on_gpus(1, seed=1)]
    assert queue.take() is None


def test_an_ended_trial_makes_room():
    queue = queue_of(measured(0), measured(1))
    first = queue.take()
    assert queue.take() is None
    queue.end(record(placement=first.placement))
    assert queue.take() == Attempt(placement=measured(1), number=1)


def test_a_trial_that_starts_again_does_so_before_those_that_wait():
    queue = queue_of(measured(0), measured(1))
    queue.end(failed(queue.take(), "worker_lost"))
    assert queue.take() == Attempt(placement=measured(0), number=2)


def test_a_trial_starts_again_as_often_as_its_failure_allows():
    queue, numbers = queue_of(measured()), []
    while (attempt := queue.take()) is not None:
        numbers.append(attempt.number)
        queue.end(failed(attempt, "worker_lost"))
    assert numbers == [1, 2, 3]
    assert queue.is_drained


def test_failures_of_two_kinds_are_counted_apart():
    queue = queue_of(measured(), retry_limits={"worker_lost": 1, "preempted": 1})
    for kind in ("worker_lost", "preempted"):
        queue.end(failed(queue.take(), kind))
    assert queue.take().number == 3


def test_a_failure_without_a_limit_is_final():
    queue = queue_of(measured())
    queue.end(failed(queue.take(), "diverged"))
    assert queue.is_drained


def test_a_trial_rests_before_it_starts_again_and_others_go_before_it():
    now = [0.0]
    queue = queue_of(measured(0), measured(1), backoff_seconds=10.0, clock=lambda: now[0])
    queue.end(failed(queue.take(), "worker_lost"))
    other = queue.take()
    assert other.placement == measured(1)
    queue.end(record(placement=other.placement))
    assert queue.take() is None
    assert not queue.is_drained
    now[0] = 10.0
    assert queue.take() == Attempt(placement=measured(0), number=2)


def test_a_trial_that_waits_for_its_retry_is_not_started_after_a_pause():
    objective = [None]
    queue = queue_of(measured(), backoff_seconds=10.0, requested=lambda: objective[0])
    queue.end(failed(queue.take(), "worker_lost"))
    objective[0] = "pause"
    assert queue.take() is None
    assert queue.is_drained


def test_a_trial_that_a_cancel_ended_is_not_started_again():
    objective = [None]
    queue = queue_of(measured(), measured(1), requested=lambda: objective[0])
    first = queue.take()
    assert queue.leaving() == ()
    objective[0] = "cancel"
    assert queue.leaving() == (first,)
    queue.end(failed(first, "preempted"))
    assert queue.take() is None
    assert queue.is_drained


def test_attempts_are_numbered_on_from_those_of_earlier_commands():
    queue = queue_of(measured(0), measured(1), prior_attempts={measured(0).trial_id: 3})
    first = queue.take()
    assert first.number == 4
    queue.end(failed(first, "worker_lost"))
    assert queue.take().number == 5


def test_the_trials_of_a_pool_are_withdrawn_in_their_order_and_no_others():
    pools = inventory(pool("t4"), pool("spot"))
    placements = [on_gpus(1, seed=seed, pool="spot" if seed % 2 else "t4") for seed in range(6)]
    queue = queue_of(*placements, inventory=pools)
    running = queue.take()
    assert [item.placement.trial.seed for item in queue.withdraw(["spot"])] == [1, 3, 5]
    assert queue.withdraw(["spot"]) == ()
    queue.end(record(placement=running.placement))
    assert [queue.take().placement.trial.seed, queue.take().placement.trial.seed] == [2, 4]


def test_where_one_pool_is_full_the_next_trial_is_of_another():
    pools = inventory(pool("t4", max_nodes=1), pool("spot", max_nodes=1))
    queue = queue_of(
        *(on_gpus(1, seed=seed, pool=name) for seed, name in enumerate(["t4", "t4", "spot"])), inventory=pools
    )
    assert [queue.take().placement.pool for _ in range(2)] == ["t4", "spot"]
    assert queue.take() is None


def test_a_pool_runs_all_its_trials_before_its_node_makes_room_for_another_pools():
    """One node for two pools, whose trials come in turn: to boot a node for each of them would take long."""
    pools = inventory(pool("t4"), pool("spot"), max_nodes=1)
    placements = [on_gpus(1, seed=seed, pool="spot" if seed % 2 else "t4") for seed in range(6)]
    queue, order = queue_of(*placements, inventory=pools), []
    while (attempt := queue.take()) is not None:
        assert queue.take() is None
        order.append(attempt.placement.pool)
        queue.end(record(placement=attempt.placement))
    assert order == ["t4"] * 3 + ["spot"] * 3
