"""`python -m orchestrator`, and the console script of the same meaning."""

import gc
import sys

from orchestrator.terminal.streams import flush_output, open_lasting_streams


def main() -> int:
    """Run the command of this process and return its exit code."""
    gc.set_threshold(50_000)  # rarely: what a command makes lives on, and has next to no cycles
    out = open_lasting_streams()
    try:
        from orchestrator.cli import main as run_command
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(("orchestrator", "workloads")):
            raise
        cure = "type `source .venv/bin/activate` after `make install`, or `pip install -e .`"
        sys.stderr.write(f"error: {sys.executable} has no package {error.name!r}; {cure}\n")
        return 2
    return flush_output(out, run_command(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
