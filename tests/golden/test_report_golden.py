"""Fixed records in, the page out, byte by byte.

A change of the page is looked at, then kept with `UPDATE_GOLDEN=1 pytest tests/golden`.
"""

import os
import re
from pathlib import Path

from report_builders import tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.page import render

GOLDEN = Path(__file__).with_name("report.html")


def page():
    """The page without the drawings of Vega, which differ in their decimals from version to version."""
    records, plan = tpu_vs_gpu()
    whole = render(sweep="tpu_vs_gpu", findings=collect_findings(records, plan))
    return re.sub(
        r'<svg xmlns="http://www.w3.org/2000/svg" .*?</svg>', "<svg>…</svg>", whole, flags=re.DOTALL
    )


def test_the_page_is_the_golden_one():
    found = page()
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


def test_the_same_records_give_the_same_page():
    assert page() == page()
