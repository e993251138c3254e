"""Metrics of a sweep's run in MLflow."""

from dataclasses import replace

import pytest
from builders import placement, record, trial_spec
from price_builders import price
from report_builders import rehearsed

from orchestrator.core.result import Failure
from orchestrator.extensions.mlflow_tracking.summary import prices_in, summarise_sweep

FAST = {"time/samples_per_second": 200.0, "cost/usd_per_million_samples": 9.0, "cost/usd": 2.0}
CHEAP = {"time/samples_per_second": 100.0, "cost/usd_per_million_samples": 5.0, "cost/usd": 1.0}
LOST = {"cost/usd": 4.0}
FAILURE = Failure(kind="oom", message="killed")


def one(metrics, **changes):
    recorded = {name: changes.pop(name) for name in ("failure", "reused_from", "attempt") if name in changes}
    return record(spec=trial_spec(**changes), **recorded), metrics


def test_a_sweep_has_its_numbers_of_trials_its_best_and_its_cost():
    pruned = Failure(kind="pruned", message="slower")
    logged = [one(FAST), one(CHEAP, precision="bf16"), one(LOST, seed=2, failure=FAILURE), (rehearsed(), {})]
    logged.append(one(LOST, seed=3, failure=pruned))
    planned = {item.trial_id for item, _ in logged} | {"one", "two"}
    assert summarise_sweep(logged, planned=planned) == {
        "trials/measured": 2,
        "trials/rehearsed": 1,
        "trials/failed": 1,
        "trials/pruned": 1,
        "trials/missing": 2,
        "best/samples_per_second": 200.0,
        "best/usd_per_million_samples": 5.0,
        "cost/usd": 11.0,
    }


def repeats(*rates, noisy=(), **changes):
    """Repeats of one setting with these rates; a million samples cost 1,800 over the rate."""
    return [
        one(
            {
                "time/samples_per_second": rate,
                "cost/usd_per_million_samples": 1800 / rate,
                "system/noisy": float(rate in noisy),
            },
            repeat=repeat,
            **changes,
        )
        for repeat, rate in enumerate(rates)
    ]


def test_a_best_is_of_the_mean_of_a_setting_s_repeats_that_decide():
    logged = [
        *repeats(200.0, 190.0, 30.0, 2.0, noisy=(2.0,)),  # 30 is an outlier
        *repeats(180.0, 210.0, noisy=(210.0,), precision="bf16"),
    ]
    found = summarise_sweep(logged, planned=None)
    assert found["best/samples_per_second"] == pytest.approx((200 * 190) ** 0.5)
    assert found["best/usd_per_million_samples"] == pytest.approx(1800 / (200 * 190) ** 0.5)


def test_a_setting_with_only_disturbed_repeats_is_best_only_without_another_one():
    noisy = repeats(400.0, noisy=(400.0,))
    assert summarise_sweep(noisy, planned=None)["best/samples_per_second"] == 400.0
    both = [*noisy, *repeats(180.0, precision="bf16")]
    assert summarise_sweep(both, planned=None)["best/samples_per_second"] == 180.0


def test_repeats_that_ran_with_other_versions_are_another_setting():
    old, new = repeats(100.0, 400.0)
    old = (replace(old[0], environment={"torch": "2.9"}), old[1])
    assert summarise_sweep([old, new], planned=None)["best/samples_per_second"] == 400.0


def test_a_trial_that_failed_first_counts_once_and_costs_both_attempts():
    found = summarise_sweep([one(LOST, failure=FAILURE), one(FAST, attempt=2)], planned=None)
    assert (found["trials/measured"], found["trials/failed"]) == (1, 0)
    assert found["cost/usd"] == 6.0
    assert "trials/missing" not in found


def test_a_best_is_of_measured_trials_that_train():
    idle = record(placement=placement(trains=False)), FAST
    found = summarise_sweep([idle, (rehearsed(), FAST)], planned=None)
    assert not [name for name in found if name.startswith("best")]


def test_rates_of_two_workloads_are_not_compared():
    found = summarise_sweep([one(FAST), one(CHEAP, workload_options={"units": 32})], planned=None)
    assert found["best/samples_per_second.mnist_cnn"] == 200.0
    assert found["best/samples_per_second.mnist_cnn units_32"] == 100.0
    assert "best/samples_per_second" not in found


@pytest.mark.parametrize(
    ("other", "cost"), [(one({}, seed=1), None), (one(FAST, seed=1, reused_from="earlier"), 1.0)]
)
def test_a_cost_is_of_this_sweep_s_attempts_and_unknown_where_one_is(other, cost):
    assert summarise_sweep([one(CHEAP), other], planned=None).get("cost/usd") == cost


def test_each_price_is_shown_once():
    priced = record(price=price(is_hypothetical=True))
    assert prices_in([priced, record(), priced]) == (
        "cpu-box on demand in here, $3.6/h of 2026-09-01, list price",
    )
