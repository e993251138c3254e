"""Split convolutions in a report: measured, and predicted without their own trials; curves; refusals."""

import math
import re
from dataclasses import replace

import pytest
from kernel_split_builders import KERNELS, LINK, OFF, SPEEDS, split_record, split_sweep
from report_builders import plan_of

from orchestrator.analysis.figures.drawing import draw_svg
from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured
from orchestrator.analysis.report.export import format_markdown
from orchestrator.analysis.report.figures import build_figures
from orchestrator.core.estimate import Refusal
from orchestrator.core.work_share import KernelLink
from orchestrator.extensions.kernel_split.analysis.calibration import read_off, split_layers
from orchestrator.extensions.kernel_split.analysis.figures import split_figures
from orchestrator.extensions.kernel_split.analysis.speedups import SplitConfig, find_splits
from orchestrator.extensions.kernel_split.analysis.tables import paper_table, split_table
from orchestrator.extensions.kernel_split.analysis.wording import rate_words


def families(records):
    return find_splits(find_measured(build_frame(records)), records)


def family(records):
    (found,) = families(records)
    return found


def work(*, kernels=(5, 50), batch=32, workers=2):
    return SplitConfig(options={"kernels": kernels}, batch=batch, workers=workers, is_even=False)


def test_a_model_of_other_settings_alone_is_off_by_as_much_as_the_steps_were():
    found = family(split_sweep()[0])
    assert [split.error for split in found.splits] == pytest.approx([off - 1 for off in OFF])
    assert [split.held for split in found.splits[:2]] == [(33, 17), (33, 17)]


def test_brackets_are_as_wide_as_the_largest_error_of_few_settings():
    margin = family(split_sweep()[0]).margin
    assert (margin.factor, margin.num_points) == (pytest.approx(1.2), 6)
    assert margin.coverage == pytest.approx(6 / 7)


def test_brackets_of_many_settings_leave_the_worst_tenth_out():
    batches = range(32, 32 + 20 * 8, 8)
    records = [split_record(batch=item, workers=1) for item in batches]
    records += [split_record(batch=each, off=1 + index / 100) for index, each in enumerate(batches)]
    margin = family(records).margin
    assert (margin.factor, margin.coverage) == (pytest.approx(1.18), 0.9)


def test_too_few_settings_have_no_brackets():
    records = [split_record(workers=1), *(split_record(batch=value) for value in (32, 64, 96))]
    found = family(records)
    assert found.margin is None
    assert found.bracketed(2.0).low == found.bracketed(2.0).high == 2.0
    assert "Without brackets, for too few settings are measured" in split_table([found]).note


def test_the_speed_up_is_over_one_worker_of_the_same_trainer_or_else_of_its_framework():
    one, two = split_record(workers=1), split_record()
    plain = split_record(workers=1, trainer="torch_ddp", off=2.0)
    rows = [split_table(families(value)).rows[0] for value in ([one, plain, two], [plain, two], [two])]
    assert [row[5] for row in rows] == ["1 worker", "1 worker of torch_ddp", "not measured"]
    own, other = (float(row[6].removesuffix("x")) for row in rows[:2])
    assert other == pytest.approx(2 * own, abs=0.02)
    assert rows[2][6] == "\N{EN DASH}"


def test_trials_of_one_setting_that_ran_with_other_versions_are_shown_side_by_side():
    one = replace(split_record(workers=1), environment={"torch": "2.9"})
    old, new = (
        replace(split_record(off=off, repeat=repeat), environment={"torch": version})
        for repeat, (off, version) in enumerate(((1.0, "2.9"), (2.0, "3.0")))
    )
    table = split_table(families([one, old, new]))
    assert [row[6].partition("x")[2].partition(", ")[2] for row in table.rows] == ["torch 2.9", "torch 3.0"]
    slow, fast = sorted(float(row[6].partition("x")[0]) for row in table.rows)
    assert fast == pytest.approx(2 * slow, abs=0.02)
    figures = split_figures(families([one, old, new]))
    curves = [found.build_spec(1000)["layer"][0] for found in figures]
    names = {value["line"] for layer in curves for value in values_in(layer)}
    assert any("torch 2.9" in name for name in names)
    assert any("torch 3.0" in name for name in names)


def test_rows_come_in_the_order_of_their_numbers():
    kernels = [(500, 500), (1500, 1500), (50, 150)]
    table = split_table(
        families([split_record(kernels=kernel, batch=b) for kernel in kernels for b in (64, 128)])
    )
    assert [row[1] for row in table.rows[::2]] == [
        "kernels 50:150",
        "kernels 500:500",
        "kernels 1500:1500",
    ]
    assert [row[2] for row in table.rows[:2]] == ["64", "128"]


def test_even_shares_are_another_setting_and_are_predicted_as_such():
    even = split_record(trainer_options={"shares": "even"})
    found = family([split_record(workers=1), split_record(batch=64), even])
    shares = {split.work.is_even: split.model.shares for split in found.splits}
    assert shares[True][1] == (25, 25)
    assert shares[False][1] == (33, 17)


def test_more_workers_are_taken_to_be_like_those_that_were_calibrated():
    model = family(split_sweep()[0]).model(work(workers=4))
    assert model.speeds[0] == pytest.approx(SPEEDS)
    assert model.source == "6 trials of 1 worker x 1 thread and 6 trials of 2 workers x 1 thread"
    assert model.stretched == "more workers taken to be as fast, each on a device of its own"


def test_a_source_names_the_threads_of_each_trial():
    two = split_record(threads=1)
    model = family([split_record(workers=1, threads=2), two, split_record(batch=64)]).splits[0].model
    assert model.source == "1 trial of 1 worker x 2 threads and 1 trial of 2 workers x 1 thread"


def test_a_speed_up_and_the_model_are_of_the_repeats_that_decide():
    quiet = [split_record(workers=workers, repeat=repeat) for workers in (1, 2) for repeat in range(3)]
    disturbed = [split_record(repeat=3, off=3.0, busy=0.4), split_record(repeat=4, off=2.0)]
    slow = split_record(repeat=5, off=3.0, busy=0.4, batch=64, speeds=[speed / 9 for speed in SPEEDS])
    (alone,), (found,) = (family(records).splits for records in (quiet, [*quiet, *disturbed]))
    assert found.speed_up.median == pytest.approx(alone.speed_up.median)
    assert found.measured.num_repeats == 5
    rest = [split_record(batch=64), slow]
    of_all, of_quiet = (family([*quiet, *others]) for others in (rest, rest[:1]))
    assert of_all.calibrations == of_quiet.calibrations


def test_a_disturbed_trial_is_shown_where_it_is_compared_and_where_others_stand_on_it():
    records = [split_record(workers=1), split_record(busy=0.4), split_record(batch=64)]
    table = split_table(families(records))
    assert table.rows[0][6].endswith("x, noisy")
    assert "1 trial of 1 worker x 1 thread and 2 trials of 2 workers x 1 thread (1 noisy)." in table.note


def test_what_lies_beyond_the_calibrated_channels_is_shown():
    found = family([split_record(workers=1), split_record()])
    assert found.model(work(kernels=(500, 1500))).stretched == "channels beyond those calibrated"
    assert found.model(work(kernels=(5, 999))).stretched == ""


def test_workers_that_are_faster_than_the_one_they_are_compared_with_are_shown():
    slow = [split_record(workers=1), split_record(batch=64)]
    fast = [split_record(speeds=(90e9, 90e9), batch=value) for value in (32, 64)]
    note = "A bound above the number of workers"
    assert note not in split_table(families(slow)).note
    assert note in split_table(families([split_record(workers=1), *fast])).note


def test_between_calibrated_sizes_speeds_lie_on_a_line_of_logarithms_and_beyond_they_stay():
    points = ((math.log(10), math.log(1.0)), (math.log(1000), math.log(100.0)))
    assert [read_off(points, value) for value in (1, 10, 100, 1000, 9999)] == pytest.approx(
        [1, 1, 10, 100, 100]
    )


def test_the_link_of_several_ranks_takes_as_long_as_they_do_in_the_mean():
    slow = KernelLink(bytes_per_second=LINK.bytes_per_second / 3, latency_seconds=3 * LINK.latency_seconds)
    found = family([split_record(workers=1), split_record(), split_record(batch=64, link=slow)])
    model = found.model(work())
    assert model.link.bytes_per_second == pytest.approx(LINK.bytes_per_second / 2)
    assert model.link.latency_seconds == pytest.approx(2 * LINK.latency_seconds)


def test_over_the_least_link_several_workers_are_as_fast_as_one():
    model = family(split_sweep()[0]).model(work())
    assert model.over(model.least_bytes_per_second).speed_up == pytest.approx(1)
    assert model.bound >= model.over(math.inf).speed_up


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (
            lambda: [split_record(workers=1), split_record()],
            "nothing is known of the link from 1 trial of 1 worker x 1 thread; measure another setting with",
        ),
        (
            lambda: [split_record(workers=1), *(split_record(link=None, batch=value) for value in (32, 64))],
            "the link from 1 trial of 2 workers x 1 thread; measure them again, for they are of before",
        ),
        (
            lambda: [split_record(workers=1, has_rest=False), split_record()],
            "nothing is known of the step without its convolutions from 1 trial of 1 worker x 1 thread",
        ),
        (
            lambda: [split_record(workers=1, trainer="torch_ddp"), split_record()],
            "no other setting is calibrated",
        ),
    ],
)
def test_an_unknown_prediction_gives_its_reason_and_the_measured_value_stays(records, reason):
    row = split_table(families(records())).rows[0]
    assert row[6].endswith("x")
    assert row[7] == "\N{EN DASH}"
    assert reason in row[-1]


@pytest.mark.parametrize(
    ("bytes_per_second", "words"),
    [(1.2e9, "1.2 GB/s"), (1.5e11, "150 GB/s"), (9.96e9, "10.0 GB/s"), (4.5e6, "0.0045 GB/s")],
)
def test_links_as_fast_as_those_of_gpus_and_as_slow_as_networks_are_plain_numbers(bytes_per_second, words):
    assert rate_words(bytes_per_second) == words


def test_other_geometry_is_refused():
    wide = split_record()
    model = family([split_record(workers=1), wide]).model(
        SplitConfig(options={"kernels": (5, 50), "kernel_size": 3}, batch=32, workers=2, is_even=False)
    )
    assert isinstance(model, Refusal)
    assert "nothing is known of a convolution of 32x32 to 32x32 by 3x3" in model.reason


@pytest.mark.parametrize(
    ("name", "precision", "reason"),
    [
        (
            "mobilenet_v2",
            "fp32",
            "the model of time knows networks of plain convolutions alone, and mobilenet_v2",
        ),
        ("mnist_gan", "fp32", "the model of time knows networks of plain convolutions alone, and mnist_gan"),
        ("imdb_bilstm", "fp32", "imdb_bilstm has no convolution to split"),
        ("cifar10_cnn", "fp4", "nothing is known of precision fp4"),
    ],
)
def test_what_the_model_of_time_does_not_know_is_refused(name, precision, reason):
    found = split_layers(name, {}, batch=8, precision=precision)
    assert isinstance(found, Refusal)
    assert found.reason.startswith(reason)


def test_a_workload_without_its_code_is_shown_and_named():
    records = [split_record(workers=value, workload="lost_net") for value in (1, 2)]
    (row,) = split_table(families(records)).rows
    assert "unknown workload 'lost_net'" in row[-1]
    assert row[1] == "kernels 5:50"
    assert split_figures(families(records)) == ()


def test_the_report_has_both_tables_and_four_figures():
    records, plan = split_sweep()
    findings = collect_findings(records, plan)
    titles = [table.title for table in findings.tables]
    assert {"Split convolutions", "What Amdahl's law says of the paper"} <= set(titles)
    named = [figure for figure in build_figures(findings) if figure.startswith("speed-up-over")]
    assert [figure.split("-")[3] for figure in named] == ["workers", "kernels", "batch", "bandwidth"]
    assert "### Split convolutions" in format_markdown("example", findings)


def test_a_sweep_without_a_split_has_no_family_figure_or_row():
    records = [split_record(workers=value, trainer="torch_ddp") for value in (1, 2)]
    assert families(records) == ()
    assert split_figures(()) == ()
    assert paper_table(()).rows == ()


def test_workers_that_are_not_alike_are_a_machine_of_their_own():
    alike, mixed = split_record(device="t4"), split_record(device="t4", other_devices=("cpu",))
    found = {family.machine.device: family.calibrations for family in families([alike, mixed])}
    assert [*found] == ["t4", "t4+cpu"]
    assert [sum(one.num_trials for one in item.values()) for item in found.values()] == [1, 1]


def test_a_sweep_of_one_worker_alone_has_a_report_without_any_of_that():
    records = [split_record(batch=value, workers=1) for value in (32, 64)]
    findings = collect_findings(records, plan_of(records))
    assert not [figure for figure in build_figures(findings) if figure.startswith("speed-up-over")]
    assert not {"Split convolutions", "What Amdahl's law says of the paper"} & {
        table.title for table in findings.tables
    }


def test_the_papers_points_stand_beside_what_the_law_allows_here():
    rows = paper_table(families(split_sweep()[0])).rows
    assert rows[0] == ("the paper, 4 CPUs", "4", "3.28x", "92.7%")
    assert rows[1] == ("the paper, 3 GPUs", "3", "2.45x", "88.8%")
    assert rows[2][0].startswith("cifar10_cnn on cpu, fp32, kernels 50:150, batch ")
    assert rows[2][2].startswith("at most ")


def figure(name):
    found = split_figures(families(split_sweep()[0]))
    return next(figure.build_spec(1000) for figure in found if f"over {name}" in figure.title)


def values_in(layer):
    return layer["data"]["values"]


def test_lines_are_predicted_and_dashed_and_marks_are_measured():
    curves, _, marks, *_ = figure("workers")["layer"]
    assert curves["mark"]["strokeDash"]
    first = values_in(curves)[0]["line"]
    assert [value["x"] for value in values_in(curves) if value["line"] == first] == list(range(1, 9))
    assert values_in(curves)[0]["speed_up"] == pytest.approx(1)
    assert {value["x"] for value in values_in(marks)} == {2}
    assert all("measured" in value["label"] for value in values_in(marks))


def test_the_papers_points_lie_on_the_bound_that_is_drawn_through_them():
    layers = figure("workers")["layer"][4:]
    bounds, points = layers[::2], layers[1::2]
    places = [(value["x"], value["speed_up"]) for layer in points for value in values_in(layer)]
    assert places == [(4, 3.28), (3, 2.45)]
    for (workers, speed_up), bound in zip(places, bounds, strict=True):
        assert values_in(bound)[workers - 1]["speed_up"] == pytest.approx(speed_up)


def test_kernels_go_on_to_those_of_the_paper_and_each_network_has_its_tick():
    axis = figure("kernels")["encoding"]["x"]["axis"]
    names = re.findall("'([0-9:]+)'", axis["labelExpr"])
    assert names == ["5:50", "30:100", "50:150", "100:300", "250:750", "500:1500"]
    assert axis["values"][:3] == [sum(kernel) for kernel in KERNELS]


def test_over_a_wider_link_no_speed_up_falls_and_the_mark_is_at_the_measured_one():
    curves, _, marks, *_ = figure("bandwidth")["layer"]
    lines = {}
    for value in values_in(curves):
        lines.setdefault(value["line"], []).append(value["speed_up"])
    assert len(lines) == 6
    assert all(line == sorted(line) for line in lines.values())
    assert [value["x"] for value in values_in(marks)] == pytest.approx([1.0] * 6)


def test_batches_go_on_beyond_the_largest():
    assert figure("batch")["encoding"]["x"]["axis"]["values"] == [32, 64, 128, 256, 512, 1024]


def test_split_figures_can_be_drawn_and_have_a_text_alternative():
    for found in split_figures(families(split_sweep()[0])):
        assert draw_svg(found, width=1000).count("<path") >= 2
        assert "measured" in found.alternative
        assert "predicted" in found.alternative
