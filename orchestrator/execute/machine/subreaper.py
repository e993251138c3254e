"""A process that starts another, and ends all that came of it as soon as its own standard input ends.

The kernel closes the standard input however the owner dies.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence

from workloads.family import end_descendants, keep_orphans


def main(command: Sequence[str]) -> int:
    """Run the command, print `ready` if it succeeds, wait for the end of standard input; end all children."""
    keep_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode == 0:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            sys.stdin.read()
    finally:
        end_descendants()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
