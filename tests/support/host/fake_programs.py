"""Programs that a rendered deployment starts, replaced by scripts that print what they are given."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

_PRINTS = '#!/bin/sh\nfor word in "{name}" "$@"; do printf "%s\\037" "$word"; done; echo\n'


def install_program(folder: Path, name: str) -> None:
    """Write a program that prints its name and its arguments."""
    _write(folder / name, _PRINTS.format(name=name))


def install_failing_program(folder: Path, name: str, *, failures: int) -> None:
    """Write a program that fails so many times, and succeeds from then on."""
    calls = folder / f"{name}.calls"
    _write(
        folder / name,
        f"#!/bin/sh\necho x >> {calls}\n[ $(wc -l < {calls}) -gt {failures} ]\n",
    )


def calls_in(command: str, *, path: Path, variables: Mapping[str, str] = {}) -> list[list[str]]:
    """Run a command in bash and return the calls of the installed programs, one list of words for each."""
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", command],
        env={"PATH": f"{path}:/usr/bin:/bin", "HOME": str(path), **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [line.split("\037")[:-1] for line in ended.stdout.splitlines() if "\037" in line]


def _write(program: Path, text: str) -> None:
    program.write_text(text)
    program.chmod(0o755)
