"""Speed-ups of devices by precisions."""

from report_builders import baseline_of, measured, repeats

from orchestrator.analysis.comparison.speedup_matrix import find_matrices, matrix_table
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured

FAST, SLOW = (1300, 1310, 1290, 1305, 1295), (1000, 1010, 990, 1005, 995)
GPU = {"device": "t4", "host_cpu": None}


def table_of(records, **baseline):
    return matrix_table(
        find_matrices(
            find_measured(build_frame(records)), baseline_of(records, **baseline) if baseline else None
        )
    )


def test_cells_are_speed_ups_over_the_baseline_and_dashes_if_not_measured():
    records = [
        *repeats(rates=FAST),
        *repeats(rates=SLOW, precision="bf16"),
        *repeats(rates=(2600, 2620, 2580, 2610, 2590), precision="fp16", **GPU),
    ]
    table = table_of(records, device="cpu", precision="fp32")
    assert [column.header for column in table.columns] == ["where", "device", "fp32", "bf16", "fp16"]
    assert table.rows == (
        ("mnist_cnn", "cpu", "1x, reference", "0.77x [0.76, 0.78]", "\N{EN DASH}"),
        ("mnist_cnn", "t4", "\N{EN DASH}", "\N{EN DASH}", "2.00x [1.98, 2.02]"),
    )


def test_without_a_baseline_the_slowest_is_the_reference_and_few_repeats_have_a_star():
    records = [measured(step_seconds=0.01), measured(precision="bf16", step_seconds=0.02)]
    assert table_of(records).rows == (("mnist_cnn", "cpu", "2.00x*", "1x, reference"),)


def test_a_baseline_that_names_several_cells_is_the_slowest_of_them():
    records = [
        measured(step_seconds=0.03, precision="bf16"),
        measured(step_seconds=0.02),
        measured(step_seconds=0.01, **GPU),
    ]
    assert table_of(records, precision="fp32").rows == (
        ("mnist_cnn", "cpu", "1x, reference", "0.67x*"),
        ("mnist_cnn", "t4", "2.00x*", "\N{EN DASH}"),
    )


def test_each_trainer_batch_and_data_has_a_matrix_of_its_own():
    kinds = ({}, {"trainer": "tensorflow"}, {"global_batch_size": 128}, {"data": f"real:{'ab' * 32}"})
    records = [measured(precision=name, **kind) for kind in kinds for name in ("fp32", "bf16")]
    rows = table_of(records).rows
    assert len({where for where, *_ in rows}) == len(rows) == 4
    assert all("reference" in " ".join(row) for row in rows)


def test_one_cell_is_no_matrix():
    assert table_of([measured(), measured("tensorflow", precision="bf16")]).rows == ()


def test_cpus_of_two_hosts_never_share_a_matrix():
    records = [measured(), measured(precision="bf16", host_cpu="Another CPU x8")]
    assert table_of(records).rows == ()


def test_a_trainer_without_training_has_no_matrix():
    records = [measured(precision=name, placed={"trains": False}) for name in ("fp32", "bf16")]
    assert table_of(records).rows == ()
