"""Audit of pinned versions for known vulnerabilities: `make audit`, part of `make check`.

    python tools/audit.py [FILE] [what else pip-audit takes]

Exits with 1 if a version has one, or could not be looked up, and with 3 if nothing was audited because no
server of advisories answers: that is neither a pass nor a failure.
"""

import subprocess
import sys
from collections.abc import Sequence

_NOBODY_ANSWERS = ("ConnectionError", "ConnectTimeout", "Could not connect")
_SECONDS = 300
_NOT_AUDITED = 3


def main(words: Sequence[str]) -> int:
    pinned, *others = words or ["constraints.txt"]
    asked = (
        *("--requirement", pinned, "--no-deps", "--disable-pip", "--strict"),
        *("--vulnerability-service", "osv", "--progress-spinner", "off"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", *asked, *others],
        stderr=subprocess.PIPE,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    last = done.stderr.strip().rpartition("\n")[2]
    if done.returncode and any(nobody_answer in last for nobody_answer in _NOBODY_ANSWERS):
        print(f"NOT AUDITED: {pinned}: no server of advisories answers", file=sys.stderr)
        return _NOT_AUDITED
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
