"""Cost and price tables."""

from dataclasses import replace

from builders import record, trial_spec
from price_builders import price
from report_builders import measured, plan_of, rehearsed, repeats

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.analysis.report.headline import list_sentences
from orchestrator.analysis.report.method import describe_method
from orchestrator.analysis.tables.costs import MARKS
from orchestrator.core.price import LISTED, OWN_SOURCE, Unpriced
from orchestrator.core.result import Failure

FAILED = Failure(kind="oom", message="killed")
HYPOTHETICAL = price(is_hypothetical=True)
LABEL = "cpu-box on demand in here, $3.6/h of 2026-09-01"


def tables(records):
    return {table.title: table for table in collect_findings(records, plan_of(records)).tables}


def collect_rows(table):
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def compute_bill(records):
    """Pick the sentence about the bill."""
    facts = list_sentences(collect_findings(records, plan_of(records)))
    (bill,) = [fact for fact in facts if "node-seconds" in fact]
    return bill


def test_a_row_has_its_price_of_a_million_samples_and_the_note_has_the_price():
    (row,) = collect_rows(tables([record(price=price())])["Measured"])
    assert row["$/M samples"] == "0.1562"  # 6,400 a second at a tenth of a cent each second
    assert f"Priced as {LABEL}." in tables([record(price=price())])["Measured"].note


def test_the_faster_a_repeat_the_cheaper():
    records = repeats(rates=(1000, 2000, 4000), price=price())
    (row,) = collect_rows(tables(records)["Measured"])
    assert row["$/M samples"] == "0.5000 [0.2500, 1.0000]"


def test_several_prices_stand_beside_their_rows():
    records = [measured(price=price()), measured("tensorflow", price=HYPOTHETICAL)]
    rows = collect_rows(tables(records)["Measured"])
    assert [row["priced as"] for row in rows] == [LABEL, f"{LABEL}, list price"]
    assert "Priced as" not in tables(records)["Measured"].note


def test_repeats_at_different_prices_have_no_price_of_a_million_samples_together():
    records = [measured(price=price()), measured(repeat=1, price=price(node_usd_per_hour=1.8))]
    records += [measured("tensorflow", price=price())]
    rows = collect_rows(tables(records)["Measured"])
    assert [row["$/M samples"] for row in rows if row["over"] == "2 repeats"] == [UNKNOWN]


def test_repeats_at_ones_own_price_have_one_on_every_day():
    days = ("2026-12-01", "2026-12-02")
    prices = [replace(HYPOTHETICAL, source=OWN_SOURCE, as_of=day, priced_on=day) for day in days]
    records = [measured(repeat=index, price=one) for index, one in enumerate(prices)]
    (row,) = collect_rows(tables(records)["Measured"])
    assert row["$/M samples"] != UNKNOWN
    assert " of 2026" not in row.get("priced as", "")


def test_attempts_of_one_trial_are_one_trial_of_its_price():
    failed = measured(price=HYPOTHETICAL)
    failed = replace(failed, result=None, failure=FAILED)
    records = [failed, replace(measured(price=HYPOTHETICAL), attempt=2)]
    (row,) = collect_rows(tables(records)["Prices"])
    assert row["trials"] == "1"


def test_without_any_price_there_is_no_column_of_cost_and_the_reason_is_shown():
    found = tables([record()])
    assert "$/M samples" not in collect_rows(found["Measured"])[0]
    assert "Cost" not in found
    (row,) = collect_rows(found["Prices"])
    assert (row["device"], row["$/h"]) == ("cpu", UNKNOWN)
    assert row["what to know"] == "no price was stored; report prices=NAME uses conf/prices/NAME.yaml"


def test_what_has_no_row_has_a_dash_and_the_reason():
    records = [measured(price=price()), measured("tensorflow", price=Unpriced(reason="no row of v3-8"))]
    found = tables(records)
    assert [row["$/M samples"] for row in collect_rows(found["Measured"])] == [
        "0.1719 [0.1709, 0.1729]",
        UNKNOWN,
    ]
    assert {row["what to know"] for row in collect_rows(found["Prices"])} == {UNKNOWN, "no row of v3-8"}


def test_every_billed_second_stands_in_one_column_and_failed_attempts_in_theirs():
    records = [
        record(price=price(), failure=FAILED, ended_at=1_790_000_008.0),
        record(price=price(), attempt=2),
        record(price=price(), spec=trial_spec(repeat=1)),
    ]
    found = tables(records)
    assert collect_rows(found["Cost"]) == [
        {
            "of": "mnist_cnn cpu torch_ddp fp32",
            "trials": "2",
            "launch s": "1.200",
            "first step s": "0.4000",
            "warm-up s": "0.06000",
            "training s": "2.340",
            "evaluation s": "0.2000",
            "rest s": "1.800",
            "failed s": "8.000",
            "billed node s": "14.00",
            "$": "0.01400",
        }
    ]
    assert compute_bill(records) == "2 trials cost $0.014 for 14.0 node-seconds (with 1 failed attempt)."


def test_several_points_have_a_sum():
    records = [
        record(price=price()),
        record(price=price(), spec=trial_spec(precision="bf16"), failure=FAILED),
    ]
    rows = collect_rows(tables(records)["Cost"])
    assert [(row["of"], row["$"]) for row in rows] == [
        ("mnist_cnn cpu torch_ddp fp32", "0.003000"),
        ("mnist_cnn cpu torch_ddp bf16", "0.003000"),
        ("all of them", "0.006000"),
    ]


def test_points_at_different_prices_name_their_price():
    records = [record(price=price()), record(price=HYPOTHETICAL, spec=trial_spec(steps=121))]
    rows = collect_rows(tables(records)["Cost"])
    assert [row["priced as"] for row in rows] == [LABEL, f"{LABEL}, list price", ""]
    assert compute_bill(records).endswith("node-seconds.")


def test_a_trial_with_one_unpriced_attempt_has_no_cost():
    records = [record(failure=FAILED), record(price=price(), attempt=2)]
    assert "Cost" not in tables(records)


def test_a_rehearsal_has_neither_cost_nor_price():
    found = tables([rehearsed(), record(price=price())])
    assert [row["device"] for row in collect_rows(found["Prices"])] == ["cpu"]
    assert [row["trials"] for row in collect_rows(found["Cost"])] == ["1"]


def test_marks_of_a_price_are_shown_with_what_they_mean():
    marked = price(
        is_hypothetical=True,
        max_age_days=1,
        is_repriced=True,
        is_reserved=True,
        seller="vast",
        note="short: stock was low",
    )
    table = tables([record(price=marked)])["Prices"]
    (row,) = collect_rows(table)
    assert (
        row["what to know"]
        == "list price; old; re-priced; reserved; marketplace; short; short: stock was low"
    )
    assert all(
        f"{LISTED.get(mark, mark).capitalize()}: {meaning}." in table.note for mark, meaning in MARKS.items()
    )
    assert "Old" not in tables([record(price=price())])["Prices"].note
    assert compute_bill([record(price=marked)]).endswith(
        "node-seconds (old, re-priced, reserved, marketplace, short)."
    )


def test_one_price_that_was_looked_up_on_two_days_is_one_row():
    records = [
        record(price=price(priced_on=f"2026-09-{day}"), spec=trial_spec(repeat=day)) for day in (22, 23)
    ]
    (row,) = collect_rows(tables(records)["Prices"])
    assert (row["trials"], row["rented as"], row["$/h"]) == ("2", "cpu-box on demand", "3.600")


def test_several_devices_are_counted_with_their_price():
    two = record(spec=trial_spec(device="t4", num_workers=2, replicas=2), price=price(nodes=2))
    (row,) = collect_rows(tables([two])["Prices"])
    assert (row["device"], row["rented as"], row["$/h"]) == ("2 x t4", "2 x cpu-box on demand", "7.200")


def test_costs_are_defined_where_there_are_any():
    def terms(records):
        return dict(describe_method(collect_findings(records, plan_of(records))))

    assert "rounded up to `prices.billing_seconds`" in terms([record(price=price())])["billed node s"]
    assert "billed node s" not in terms([record()])
