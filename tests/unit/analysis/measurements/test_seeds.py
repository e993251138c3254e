"""Trials that differ in their seed alone are repeats of one setting, wherever numbers are told."""

from dataclasses import replace

import pytest
from builders import pursuit, trial_spec
from price_builders import price
from report_builders import baseline_of, forecast, measured, plan_of, repeats

from orchestrator.analysis.comparison.speedup_matrix import find_matrices, matrix_table
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.measurements.setting import build_setting
from orchestrator.core.result import ProductBenchmark
from orchestrator.core.trial_spec import setting_id, trial_id

RATES = (1000, 1010)
SEEDS = (0, 1, 2)


def seeded(*, seeds=SEEDS, rates=RATES, **changes):
    """Two repeats of each seed."""
    return [repeat for seed in seeds for repeat in repeats(rates=rates, seed=seed, **changes)]


def measured_in(records):
    return find_measured(build_frame(records))


def table_of(title, records, **changes):
    tables = collect_findings(records, plan_of(records, **changes)).tables
    return next(table for table in tables if table.title == title)


def collect_rows(title, records, **changes):
    table = table_of(title, records, **changes)
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def test_only_seeds_and_repeats_share_the_id_of_a_setting():
    first = trial_spec()
    assert {setting_id(replace(first, seed=seed, repeat=seed)) for seed in SEEDS} == {trial_id(first)}
    assert setting_id(replace(first, precision="bf16")) != setting_id(first)
    assert build_setting(replace(first, seed=7)) == build_setting(first)


def test_one_measurement_pools_all_seeds_and_shows_which_were_quiet():
    records = seeded()
    busy = replace(records[3], result=replace(records[3].result, load_average=(9.0, 9.0)))
    records[3] = busy
    (only,) = measured_in(records)
    assert only.seeds == SEEDS
    assert only.num_repeats == len(only.rates) == 6
    assert only.quiet == (True, True, True, False, True, True)
    assert only.num_noisy == 1
    assert only.setting_id == setting_id(records[0].spec)
    assert only.points == tuple(trial_id(replace(record.spec, repeat=0)) for record in records[::2])


def test_the_table_has_one_row_with_the_number_of_seeds():
    (row,) = collect_rows("Measured", seeded())
    assert "seed" not in row
    assert row["over"] == "6 repeats of 3 seeds"


@pytest.mark.parametrize(("seeds", "said"), [((0,), "2 repeats"), ((5,), "2 repeats")])
def test_a_single_seed_is_no_word_worth(seeds, said):
    assert collect_rows("Measured", seeded(seeds=seeds))[0]["over"] == said


def test_other_seeds_on_the_two_sides_are_compared_for_they_are_repeats():
    records = [*seeded(seeds=(1, 2, 3)), *seeded(seeds=(4, 5, 6), rates=(2000, 2020), precision="bf16")]
    (row,) = collect_rows("Compared", records)
    assert (row["by"], row["first"], row["second"]) == ("precision", "bf16", "fp32")
    assert row["verdict"] == "faster"


def test_a_baseline_that_was_trained_with_several_seeds_is_one_baseline():
    records = [*seeded(), *seeded(rates=(2000, 2020), precision="bf16")]
    (row,) = collect_rows("Against the baseline", records, baseline=baseline_of(records, precision="fp32"))
    assert row["ratio"].startswith("2.00x")


def test_what_would_have_been_predicted_of_one_seed_stands_beside_all_of_them():
    records = seeded()
    step = forecast(step_seconds=0.06).step
    (row,) = collect_rows("Predicted, then measured", records, hindcasts={records[2].trial_id: step})
    assert row["in the interval"] == "yes"


def test_speed_ups_have_one_row_for_all_seeds():
    records = [*seeded(), *seeded(rates=(2000, 2020), precision="bf16")]
    (row,) = collect_rows("Speed-up by device and precision", records)
    assert (row["fp32"], row["bf16"][:5]) == ("1x, reference", "2.00x")


def test_without_a_baseline_the_reference_is_the_same_cell_in_every_row():
    one, other = {"global_batch_size": 64}, {"global_batch_size": 128}
    records = [
        measured(step_seconds=0.020, **one),
        measured(step_seconds=0.010, precision="bf16", **one),
        measured(step_seconds=0.019, **other),
        measured(step_seconds=0.021, precision="bf16", **other),
    ]
    table = matrix_table(find_matrices(measured_in(records), None))
    column = [column.header for column in table.columns].index("fp32")
    assert [row[column] for row in table.rows] == ["1x, reference"] * 2


def test_scaling_is_over_all_seeds():
    alone = seeded()
    two = [
        replace(item, spec=item.spec)
        for item in seeded(rates=(1800, 1820), num_workers=2, replicas=2, seeds=(7, 8, 9))
    ]
    rows = [row for row in collect_rows("Scaling", [*alone, *two]) if row["kind"] == "strong"]
    assert [row["workers"] for row in rows] == ["1", "2"]
    assert rows[1]["speed-up"].startswith("1.80x")


def test_cost_is_shown_per_setting_with_all_its_seeds():
    (row,) = collect_rows("Cost", seeded(price=price()))
    assert (row["of"], row["trials"]) == ("mnist_cnn cpu torch_ddp fp32", "6")


def test_utilisation_is_shown_per_setting_with_all_its_seeds():
    peak = ProductBenchmark(size=2048, seconds=((0.1,),))
    records = [measured(seed=seed, recorded={"calibration": peak}) for seed in SEEDS]
    (row,) = collect_rows("Utilisation", records)
    assert row["trial"] == "mnist_cnn cpu torch_ddp fp32"


def test_the_frame_has_the_setting_the_seed_and_the_repeat():
    frame = build_frame(seeded())
    assert frame["setting_id"].nunique() == 1
    assert frame["point"].nunique() == 3
    assert list(frame["seed"]) == [0, 0, 1, 1, 2, 2]
    assert list(frame["repeat"]) == [0, 1] * 3


def test_seeds_are_kept_apart_where_a_target_was_to_be_reached():
    found = {0: (0.9,), 2: (0.1, 0.2, 0.95), 5: (0.1, 0.2)}
    records = [measured(seed=seed, recorded={"pursuit": pursuit(*each)}) for seed, each in found.items()]
    (row,) = collect_rows("Time to target", records)
    assert row["training s by seed"] == "0: 1.000; 2: 3.000; 5: not reached"


def test_a_warning_of_several_trials_names_their_setting_once():
    (row,) = collect_rows("Warnings", seeded(placed={"warnings": ("batch 8 is small",)}))
    assert (row["trials"], row["which"]) == ("6", "mnist_cnn cpu torch_ddp fp32")


def test_a_result_of_another_environment_names_its_setting_once():
    (row,) = collect_rows("Stale", seeded(), stale="torch 2.12, here 2.13")
    assert (row["trials"], row["which"]) == ("6", "mnist_cnn cpu torch_ddp fp32")
