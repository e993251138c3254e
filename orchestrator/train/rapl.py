"""What a host's processors and memory have used, by the counters that Linux shows of them (RAPL).

Documentation/power/powercap in the kernel's sources: a folder for each domain, whose `energy_uj` counts up to
`max_energy_range_uj` and begins again. Most kernels let root alone read it.
"""

from pathlib import Path

ROOT = Path("/sys/class/powercap")
_COUNTED = ("package", "dram")
"""Domains that count no other one's joules: cores and graphics are in their package, and `psys` holds all."""


class HostEnergy:
    """The counters of all packages of a host, and of memory that is in none."""

    def __init__(self, root: Path = ROOT) -> None:
        """Find them. Raises OSError if there are none, or one cannot be read: a part is not the whole."""
        folders = [each for each in sorted(root.glob("intel-rapl:*")) if _name_of(each).startswith(_COUNTED)]
        if not folders:
            raise FileNotFoundError(f"no counter of a processor's energy in {root}")
        self._counters = [each / "energy_uj" for each in folders]
        self._ranges = [_number_in(each / "max_energy_range_uj") for each in folders]
        self._last = [_number_in(each) for each in self._counters]
        self._microjoules = 0

    def joules(self) -> float:
        """Of all of them since this was made, if no counter began again twice between two calls.

        Raises OSError.
        """
        now = [_number_in(each) for each in self._counters]
        for before, after, span in zip(self._last, now, self._ranges, strict=True):
            self._microjoules += after - before if after >= before else after + span - before
        self._last = now
        return self._microjoules * 1e-6


def _name_of(folder: Path) -> str:
    return (folder / "name").read_text().strip()


def _number_in(file: Path) -> int:
    text = file.read_text().strip()
    if not text.isdecimal():
        raise OSError(f"{file} holds {text!r}; it must hold a number")
    return int(text)
