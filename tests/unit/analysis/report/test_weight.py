"""Weight of a page of many settings, and what it leaves out."""

import pytest
from report_builders import PRICE, forecast, measured, plan_of

from orchestrator.analysis.findings import Findings, collect_findings
from orchestrator.analysis.report.page import render

MOST_BYTES, MOST_ROWS = 300_000, 100


def measured_settings(count: int) -> Findings:
    """One measurement a batch size, and predictions of two devices."""
    records = [
        measured(
            "torch_ddp",
            step_seconds=0.008 + 0.002 * (index % 20) + 0.0003 * (index // 20),
            global_batch_size=8 * (index + 1),
            price=PRICE,
        )
        for index in range(count)
    ]
    forecasts = [forecast(device=device, step_seconds=0.003) for device in ("t4", "v100")]
    return collect_findings(records, plan_of(records, forecasts=forecasts))


def test_a_page_of_forty_settings_has_at_most_300_kilobytes_and_every_row() -> None:
    page = render(sweep="example", findings=measured_settings(40))
    assert len(page.encode()) <= MOST_BYTES
    assert page.count('<tr id="row:') == 42
    assert "fastest of" not in page


@pytest.mark.more
def test_a_page_of_many_settings_has_the_fastest_and_shows_where_the_others_are() -> None:
    page = render(sweep="example", findings=measured_settings(400))
    assert page.count('<tr id="row:') == MOST_ROWS
    assert "Shown are the 100 fastest of 402 settings; results.csv has every trial." in page
    assert "Shown are the first 100 of 400 rows" in page
    assert len(page.encode()) <= 2 * MOST_BYTES
