"""The table of times to a target: means over seeds, and what did not come to it said plainly."""

from builders import pursuit
from report_builders import measured, plan_of

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.recommendation.time_to_target import compute_times_to_target
from orchestrator.core.trial_spec import TimingSpec

TIMING = TimingSpec(target=0.9, evaluate_every_steps=10)


def training(*qualities, higher_is_better=True, **changes):
    """Measured with evaluations ten steps and a second apart."""
    found = pursuit(*qualities, higher_is_better=higher_is_better)
    return measured(recorded={"pursuit": found}, timing=TIMING, **changes)


def collect_rows(records):
    (table,) = (
        table
        for table in collect_findings(records, plan_of(records)).tables
        if table.title == "Time to target"
    )
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def test_seeds_are_one_row_with_their_mean_and_range():
    qualities = [(0.9,), (0.1, 0.2, 0.95), (0.1, 0.9)]
    (row,) = collect_rows([training(*each, seed=seed) for seed, each in enumerate(qualities)])
    assert row == {
        "workload": "mnist_cnn",
        "device": "cpu",
        "trainer": "torch_ddp",
        "precision": "fp32",
        "target": "accuracy \N{GREATER-THAN OR EQUAL TO} 0.9",
        "reached": "3 of 3",
        "training s": "1.817 [1.000, 3.000]",
        "steps to target": "18 [10, 30]",
        "best quality": "0.9000 [0.9000, 0.9500]",
        "evaluation s": "0.5000",
        "training s by seed": "0: 1.000; 1: 3.000; 2: 2.000",
        "over": "3 trainings, 3 seeds",
    }


def test_a_training_that_did_not_come_to_the_target_counts_as_slower_than_any():
    records = [training(*each, seed=seed) for seed, each in enumerate([(0.9,), (0.1, 0.9), (0.1, 0.2)])]
    (row,) = collect_rows(records)
    assert row["reached"] == "2 of 3"
    assert row["training s"] == "2.000 [1.000, not reached]"
    assert row["steps to target"] == "20 [10, not reached]"


def test_a_setting_that_missed_the_target_in_most_trainings_has_no_time():
    (row,) = collect_rows([training(0.9, seed=1), training(0.1, 0.83), training(0.1, seed=2)])
    assert row["reached"] == "1 of 3"
    assert row["training s"] == "not reached in 300 steps (best 0.9000)"
    assert row["steps to target"] == "\N{EN DASH}"


def test_one_training_that_did_not_reach_it_shows_how_far_it_came():
    (row,) = collect_rows([training(0.1, 0.83, 0.8)])
    assert (row["reached"], row["training s"]) == ("0 of 1", "not reached in 300 steps (best 0.8300)")


def test_the_lowest_value_is_the_best_of_a_metric_that_should_be_low():
    (row,) = collect_rows([training(3.0, 1.5, 2.0, higher_is_better=False)])
    assert row["target"] == "accuracy \N{LESS-THAN OR EQUAL TO} 0.9"
    assert row["training s"] == "not reached in 300 steps (best 1.500)"


def test_the_fastest_setting_comes_first_and_one_that_did_not_reach_it_last():
    records = [
        training(0.1, trainer="torch_xla"),
        training(0.1, 0.9, trainer="tensorflow"),
        training(0.9, trainer="torch_ddp"),
    ]
    assert [row["trainer"] for row in collect_rows(records)] == ["torch_ddp", "tensorflow", "torch_xla"]


def test_trainings_with_other_versions_are_rows_of_their_own_that_show_it():
    records = [training(0.9, versions={"torch_ddp": name}, seed=int(name[-1])) for name in ("2.8", "2.9")]
    told = [row["ran with"] for row in collect_rows(records)]
    assert sorted(item[item.index("torch_ddp") :] for item in told) == ["torch_ddp 2.8", "torch_ddp 2.9"]


def test_repeats_of_a_seed_are_trainings_too_and_a_noisy_one_is_counted():
    noisy = {"pursuit": pursuit(0.9), "load_average": (9.0, 9.0)}
    records = [training(0.9), measured(recorded=noisy, timing=TIMING, repeat=1)]
    (row,) = collect_rows(records)
    assert row["over"] == "2 trainings, 1 seed, 1 noisy"


def test_what_had_no_target_is_in_no_row():
    records = [measured()]
    assert compute_times_to_target(records) == ()
    assert "Time to target" not in [
        table.title for table in collect_findings(records, plan_of(records)).tables
    ]
