"""Verdicts of a hardware test as a page for docs/reference/support.md. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hardware.session import Verdict


def page_of(
    verdicts: Sequence[Verdict],
    notes: Iterable[str],
    *,
    device: str,
    driver_name: str,
    versions: Mapping[str, str],
    at: datetime,
) -> str:
    """Write the page in Markdown: a row for each stage, then the failures and the figures."""
    stages = dict.fromkeys(verdict.stage for verdict in verdicts)
    kind = "Dry run on a CPU" if device == "cpu" else f"Hardware test of {device}"
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    lines = [
        f"## {kind}",
        "",
        f"{driver_name}, {at:%Y-%m-%d}; {listed}. Command: `make hardware-test`.",
        "",
        "| stage | verdict | checks |",
        "|---|---|---|",
        *(_row(stage, [verdict for verdict in verdicts if verdict.stage == stage]) for stage in stages),
        "",
        *(f"- Failed: {verdict.stage}: {verdict.text}" for verdict in verdicts if not verdict.passed),
        *(f"- {note}" for note in notes),
    ]
    return "\n".join(lines) + "\n"


def _row(stage: str, verdicts: Sequence[Verdict]) -> str:
    failed = sum(not verdict.passed for verdict in verdicts)
    return f"| {stage} | {'failed' if failed else 'passed'} | {len(verdicts) - failed} of {len(verdicts)} |"
