"""`python -m orchestrator`."""

import sys

from orchestrator.cli import main

sys.exit(main(sys.argv[1:]))
