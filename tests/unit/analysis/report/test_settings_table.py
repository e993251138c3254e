"""The first figure: every setting on shared axes, measured filled with its repeats, all others hollow."""

import re

import pytest
from report_builders import PRICE, forecast, measured, plan_of, repeats

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.heat_map import build_heat_map, heat_map_markup
from orchestrator.analysis.report.interval_plot import axis_over, plot_markup
from orchestrator.analysis.report.settings_table import build_filters, fastest_first, settings_table
from orchestrator.core.interval import Spread
from orchestrator.core.objective import Objective


def spread(low, median, high):
    return Spread(low=low, median=median, high=high)


def only(records, **changes):
    (found,) = collect_findings(records, plan_of(records, **changes)).recommendations
    return found


def collect_rows(found):
    ids = {one.setting: f"row:0-{index}" for index, one in enumerate(found.standings)}
    markup = settings_table(found, ids, named_by="heading:t")
    return re.findall(r"<tr id=.*?</tr>", markup, re.DOTALL)


MIXED = [
    *repeats(rates=(8000, 8200, 8400), price=PRICE),
    *repeats("tensorflow", rates=(5000, 5100, 5200), price=PRICE),
]


def test_rows_come_fastest_first_and_carry_the_numbers_that_they_are_sorted_by():
    found = only(MIXED, forecasts=(forecast(step_seconds=0.002),))
    rows = collect_rows(found)
    rates = [float(re.search(r'plotted rate" data-value="([^"]+)"', row)[1]) for row in rows]
    assert rates == pytest.approx([32_000, (8000 * 8200 * 8400) ** (1 / 3), (5000 * 5100 * 5200) ** (1 / 3)])
    assert [one.samples_per_second.median for one in fastest_first(found)] == pytest.approx(rates)


def test_a_rate_beside_a_wide_interval_has_two_digits_and_a_narrow_one_four():
    wide, narrow, _ = collect_rows(only(MIXED, forecasts=(forecast(step_seconds=0.00219),)))
    assert "<span>29,000</span>" in wide  # 64 / 0.00219 is 29,224
    assert "<span>8,198</span>" in narrow


def test_measured_settings_have_a_ring_per_repeat_and_predicted_ones_none():
    predicted, fastest, _ = collect_rows(only(MIXED, forecasts=(forecast(step_seconds=0.002),)))
    assert (fastest.count('class="ring"'), predicted.count('class="ring"')) == (3, 0)
    assert 'class="plot measured"' in fastest
    assert 'class="plot predicted"' in predicted
    assert 'class="plot measured"' not in predicted
    assert ">predicted</span>" in predicted
    assert ">3 repeats, best measured</span>" in fastest


@pytest.mark.parametrize("samples", [1_000, 19_200, 10_000_000])
def test_the_script_computes_what_the_answer_to_another_length_is(samples):
    apart = [*repeats(rates=(3000, 6000, 6300), price=PRICE), *repeats("tensorflow", rates=(4000,) * 3)]
    found = only(apart)
    for row, one in zip(collect_rows(found), fastest_first(found), strict=True):
        fixed, rate = (float(re.search(f'data-{name}="([^"]+)"', row)[1]) for name in ("fixed", "rate"))
        assert fixed + found.samples / rate == pytest.approx(one.seconds.median, rel=1e-4)
        (other,) = collect_findings(apart, plan_of(apart), Objective(samples=samples)).recommendations
        asked = next(standing for standing in other.standings if standing.setting == one.setting)
        assert fixed + samples / rate == pytest.approx(asked.seconds.median, rel=0.1)


def test_without_a_price_there_is_no_column_of_costs():
    assert "$" not in "".join(collect_rows(only([measured(), measured("tensorflow")])))


def test_only_factors_that_vary_are_filters():
    assert build_filters(only(MIXED)) == {"trainer": ("trainer", ["torch_ddp", "tensorflow"])}


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis():
    axis = axis_over([spread(10, 100, 1000)], is_log=True)
    assert [axis.place(value) for value in (10, 100, 1000)] == pytest.approx([3, 50, 97])
    assert axis.place(5) == axis.place(10)


def test_a_single_value_has_a_place():
    axis = axis_over([spread(5, 5, 5)], is_log=True)
    assert axis.place(5) == 50
    assert axis.ticks == [5]


def test_values_that_are_nan_have_no_axis():
    nothing = spread(float("nan"), float("nan"), float("nan"))
    assert axis_over([nothing], is_log=True) is axis_over([], is_log=False) is None


def test_a_compiled_mark_is_a_diamond():
    axis = axis_over([spread(1, 2, 3)], is_log=False)
    assert "<path" in plot_markup(spread(1, 2, 3), axis, mark="compiled", title="t")
    assert "<path" not in plot_markup(spread(1, 2, 3), axis, mark="predicted", title="t")


def heat(records, **changes):
    markup = heat_map_markup(build_heat_map(only(records, **changes)), named_by="t")
    return re.findall(r'<td class="([^"]+)"[^>]*><b>([^<]+)', markup)


def test_the_heat_map_compares_the_best_of_each_cell_and_hatches_what_was_not_measured():
    bf16 = repeats(rates=(16_000, 16_100, 16_200), precision="bf16", price=PRICE)
    told = [forecast(precision=name, step_seconds=0.0002) for name in ("fp32", "fp16")]
    cells = dict(heat([*MIXED, *bf16], forecasts=told))
    assert cells["best"] == "1x, reference"
    assert cells["slightly-slower"].startswith("0.5")
    assert cells["faster unmeasured"] == "15x"


def test_a_cell_with_an_interval_that_overlaps_the_reference_is_grey():
    close = [*repeats(rates=(8000, 8600)), *repeats(rates=(8100, 8500), precision="bf16")]
    told = [forecast(step_seconds=0.008)]
    assert "tie" in dict(heat(close, forecasts=told))


def test_two_cells_are_no_map():
    assert build_heat_map(only(MIXED)) is None
