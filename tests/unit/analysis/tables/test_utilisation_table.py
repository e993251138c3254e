"""The table of utilisation says of every peak whether it is published or calibrated."""

from dataclasses import replace

from builders import placement, record, train_result, trial_spec

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.export import format_markdown
from orchestrator.analysis.report.method import describe_method
from orchestrator.analysis.tables.utilisation import utilisation_table
from orchestrator.core.peaks import Peaks, ProductBenchmark
from orchestrator.core.placement import Plan
from orchestrator.core.trial_spec import TimingSpec

PUBLISHED = Peaks(flops_per_second=1e12, memory_bytes_per_second=None, tdp_watts=None, source="its datasheet")
CALIBRATED = "calibrated: fastest of 1 products of 1000 x 1000, this process"


def rows(*records) -> list[tuple[str, ...]]:
    return list(utilisation_table(records, lambda spec: f"{spec.trainer} repeat {spec.repeat}").rows)


def calibrated(seconds: float, **changes):
    calibration = ProductBenchmark(size=1000, seconds=((seconds,),))
    return record(spec=trial_spec(**changes), result=train_result(calibration=calibration))


def test_a_gigaflop_in_ten_milliseconds_is_a_tenth_of_a_published_teraflop_a_second():
    (row,) = rows(record(result=train_result(peaks=PUBLISHED)))
    assert row[1:] == ("10.00", "1.000", "published: its datasheet")


def test_repeats_share_a_row_with_the_range_of_their_own_peaks():
    (row,) = rows(calibrated(0.01), calibrated(0.005, repeat=1), calibrated(0.02, repeat=2))
    assert row[0].endswith("repeat 0")
    assert row[1:] == ("50.00 [25.00, 100.00]", "0.2000 [0.1000, 0.4000]", CALIBRATED)


def test_a_disturbed_calibration_has_a_dash():
    (row,) = rows(calibrated(0.03))
    assert row[1:] == ("\N{EN DASH}", "0.06667", CALIBRATED)


def test_published_and_calibrated_peaks_are_never_one_row():
    both = train_result(peaks=PUBLISHED, calibration=ProductBenchmark(size=1000, seconds=((0.01,),)))
    assert [row[3] for row in rows(record(result=both))] == ["published: its datasheet", CALIBRATED]


def test_a_record_without_peaks_and_a_rehearsal_have_no_row():
    rehearsed = placement(provenance="rehearsed")
    assert rows(record(), record(placement=rehearsed, result=train_result(peaks=PUBLISHED))) == []


def test_other_versions_are_no_repeats():
    older, newer = (replace(calibrated(0.01), environment={"torch": name}) for name in ("2.9", "2.13"))
    assert len(rows(older, newer)) == 2


def test_a_report_shows_that_a_peak_is_calibrated_in_its_table_and_in_how_it_was_measured():
    timing = TimingSpec(calibrate=True)
    done = calibrated(0.01, timing=timing)
    plan = Plan(sweep="example", placements=(placement(done.spec),), cached=(), skipped=())
    findings = collect_findings([done], plan)
    shown = format_markdown("example", findings).replace("\\", "")
    assert f"50.00 | 0.2000 | {CALIBRATED} |" in shown
    (protocol,) = [told for term, told in describe_method(findings) if term == "protocol"]
    assert protocol.endswith(". On a CPU matrices are multiplied after all else, for a calibrated peak")
