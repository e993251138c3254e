"""Memory in the report that the TPU compiler writes before it makes machine code. Pure."""

import re

_TOTAL = re.compile(r"Memory Space: default \(color=0\)\nTotal bytes: (\d+)\D")


def reported_bytes(report: str) -> int | None:
    """Return the high-bandwidth memory that a program takes; None for a report that is not complete."""
    match = _TOTAL.search(report)
    return int(match[1]) if match else None
