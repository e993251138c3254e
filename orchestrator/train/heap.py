"""What the C library does with memory that is freed."""

import ctypes

from orchestrator.core.errors import TrialError

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER_TRIM, _NO_MAPPINGS = -1, 0


def keep_freed_memory() -> None:
    """Neither trim the heap nor map large blocks apart from it, until the process ends.

    By default glibc gives memory back to the system, and each page of it is fetched and cleared anew when
    it is next written: see mallopt(3).

    Raises:
        TrialError: `environment`, under another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    settings = ((_M_TRIM_THRESHOLD, _NEVER_TRIM), (_M_MMAP_MAX, _NO_MAPPINGS))
    if mallopt is None or not all(mallopt(*each) for each in settings):
        raise TrialError("environment", "trainer.heap=kept needs the C library glibc; leave it out here")
