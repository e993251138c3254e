"""Whether a training step fits a device's memory, as the device's own compiler says."""

from dataclasses import dataclass

_GIB, _MIB = 2**30, 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """Memory that the step's compiled program takes on the replica that needs most.

    Attributes:
        needed_bytes, granted_bytes: taken by the program, and given to programs by the compiler.
        compiler: its name and version, for the provenance `compiled`.
        batch_that_fits: a smaller global batch that fits, if this one does not and one was found.
    """

    needed_bytes: int
    granted_bytes: int
    compiler: str
    batch_that_fits: int | None = None

    @property
    def fits(self) -> bool:
        """Return whether the program gets the memory that it takes."""
        return self.needed_bytes <= self.granted_bytes

    def words(self, device: str) -> str:
        """Say in one line how much memory the step takes on a device."""
        needed, granted = _size(self.needed_bytes), _size(self.granted_bytes)
        source = f"(compiled, {self.compiler})"
        if self.fits:
            return f"a step takes {needed} of the {granted} that {device} grants a replica {source}"
        smaller = f"; global_batch_size={self.batch_that_fits} fits" if self.batch_that_fits else ""
        return f"a step needs {needed}, {device} grants a replica {granted}{smaller} {source}"


def _size(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:.2f} GiB" if num_bytes >= _GIB else f"{num_bytes / _MIB:.1f} MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFit:
    """Reason why nothing is known about a step's memory."""

    reason: str
