"""A process that draws specifications while this one works on: Vega holds Python's lock while it draws."""

import json
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from typing import IO

from orchestrator.analysis.figures.vega_lite import Spec

_CODE = """
import json, sys, vl_convert
specs, version = json.load(sys.stdin)
svgs = {key: vl_convert.vegalite_to_svg(spec, vl_version=version) for key, spec in specs.items()}
json.dump(svgs, sys.stdout)
"""


class DrawingProcess:
    """Process that draws specifications.

    Args:
        specs: key -> specification, all inert.
        version: version of Vega-Lite.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, specs: Mapping[str, Spec], *, version: str) -> None:
        self._svgs: Mapping[str, str] | None = None
        with TemporaryFile("w+", encoding="utf-8") as given:
            json.dump([specs, version], given)
            given.seek(0)
            self._drawn: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - `close` closes it
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _CODE],
                    stdin=given,
                    stdout=self._drawn,
                    stderr=subprocess.DEVNULL,
                )
            except OSError:
                self._drawn.close()
                raise

    def svgs(self) -> Mapping[str, str]:
        """Wait for the drawings; none where the process failed, so that who draws anew meets the error."""
        if self._svgs is None:
            code = self._process.wait()
            self._drawn.seek(0)
            self._svgs = {} if code else json.load(self._drawn)
        return self._svgs

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._drawn.close()
