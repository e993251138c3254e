"""`python -m orchestrator`."""

import sys

from orchestrator.terminal.streams import outlived


def _command() -> int:
    from orchestrator.cli import main

    return main(sys.argv[1:])


sys.exit(outlived(_command))
