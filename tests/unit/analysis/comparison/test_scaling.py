"""Effect of more workers, at one global batch and at one batch per worker."""

import pytest
from report_builders import measured, repeats

from orchestrator.analysis.comparison.scaling import compute_scaling, scaling_table
from orchestrator.analysis.measurements.frame import build_frame
from orchestrator.analysis.measurements.measured import find_measured


def found(records):
    return compute_scaling(find_measured(build_frame(records)))


def workers(count, *, batch=64, rate, **changes):
    more = {"num_workers": count, "replicas": count, "global_batch_size": batch, **changes}
    return measured(step_seconds=batch / rate, **more)


def test_strong_scaling_is_at_one_global_batch():
    (strong,) = found([workers(4, rate=2400), workers(1, rate=1000), workers(2, rate=1600)])
    assert (strong.kind, strong.batch) == ("strong", "64")
    assert [point.setting.num_workers for point in strong.points] == [1, 2, 4]
    assert [strong.speed_up(point).median for point in strong.points] == pytest.approx([1, 1.6, 2.4])
    assert [strong.efficiency(point).median for point in strong.points] == pytest.approx([1, 0.8, 0.6])


def test_weak_scaling_is_at_one_batch_for_each_worker():
    (weak,) = found([workers(1, rate=1000), workers(2, batch=128, rate=1900)])
    assert (weak.kind, weak.batch) == ("weak", "64 each")
    assert weak.efficiency(weak.points[1]).median == pytest.approx(0.95)


def test_efficiency_is_over_the_fewest_workers_that_were_measured():
    (strong,) = found([workers(2, rate=1000), workers(8, rate=2000)])
    assert strong.efficiency(strong.points[1]).median == pytest.approx(0.5)


@pytest.mark.parametrize(
    "changes", [{"precision": "bf16"}, {"steps": 400}, {"data": "real:ab"}, {"host_cpu": "Another CPU x8"}]
)
def test_what_differs_in_more_is_no_scaling(changes):
    assert found([workers(1, rate=1000), workers(2, rate=1900, **changes)]) == ()


def test_the_same_number_of_workers_is_no_scaling():
    assert found([workers(1, rate=1000), workers(1, batch=128, rate=1000)]) == ()


def test_the_table_has_intervals_over_repeats_and_shows_that_workers_share_a_cpu():
    records = repeats(rates=(1000, 1010, 990)) + repeats(rates=(1600, 1610, 1590), num_workers=2, replicas=2)
    table = scaling_table(found(records))
    one, two = table.rows
    assert one == ("strong", "mnist_cnn", "64", "1", "1,000.0 [990.0, 1,010.0]", "1x", "100%")
    assert two[3:] == ("2", "1,600 [1,590, 1,610]", "1.60x [1.57, 1.64]", "80% [78, 82]")
    assert "Workers on a CPU share the cores of one host" in table.note
    on_gpus = {"device": "t4", "host_cpu": None}
    away = found([workers(1, rate=1000, **on_gpus), workers(2, rate=1900, **on_gpus)])
    assert "share the cores" not in scaling_table(away).note


def test_workers_on_several_hosts_are_shown_and_share_no_cores():
    apart = [workers(count, rate=1000 * count, num_hosts=count) for count in (2, 4)]
    table = scaling_table(found(apart))
    assert [row[3] for row in table.rows] == ["2 on 2 hosts", "4 on 4 hosts"]
    assert "share the cores" not in table.note
