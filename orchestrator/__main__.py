"""`python -m orchestrator`."""

import sys

from orchestrator.screen.streams import outlived


def _command() -> int:
    from orchestrator.cli import main  # it looks at the streams as it is imported

    return main(sys.argv[1:])


sys.exit(outlived(_command))
