"""Command line of the tools that convert published latencies to a bundled file."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from orchestrator.core.errors import OrchestratorError
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.latency_data.table import LatencyTable

_DONE, _WRONG_REQUEST = 0, 2  # exit codes of `python -m orchestrator`


class _OneLineParser(argparse.ArgumentParser):
    """Parser that reports a wrong command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(_WRONG_REQUEST, f"error: {message}; possible: {self.prog} DATA\n")


def print_converted(
    convert: Callable[[LatencyTable], str], arguments: Sequence[str] | None, *, description: str | None
) -> int:
    """Read the latencies that the command line names, and print the converted text.

    Return 0, or 2 after one line on standard error if the latencies cannot be read or converted.

    Args:
        convert: table of latencies -> text of the file.
        arguments: words of the command line without the program; None: those of this process.
        description: help text.
    """
    parser = _OneLineParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="file or folder of the published latencies")
    data = parser.parse_args(arguments).data
    try:
        text = convert(read_latencies(data))
    except OrchestratorError as error:
        print(f"error: {error}", file=sys.stderr)
        return _WRONG_REQUEST
    sys.stdout.write(text)
    return _DONE
