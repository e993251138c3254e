"""The process in which the steps of a worker are computed."""

import resource
import time
from collections.abc import Mapping

from orchestrator.train.measurement.core_waits import CoreWaits, read_core_waits
from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.trainer import TrainingData


class TrainingProcess:
    """This process, in which a framework's trainer computes.

    A trainer that lets another process compute its steps derives from it, and answers for that process.

    Attributes:
        own_data: data that the process reads by itself; None: it is given the workload's.
        unchecked: identities that were not seen in it.
    """

    own_data: TrainingData | None = None
    unchecked: tuple[str, ...] = ()

    def clock(self) -> float:
        """Return the seconds by which steps are timed."""
        return time.perf_counter()

    def cpu_clock(self) -> float:
        """Return the CPU seconds that it has used."""
        return time.process_time()

    def core_waits(self) -> CoreWaits:
        """Read how long its threads have waited for a core so far."""
        return read_core_waits()

    def find_peak_host_bytes(self) -> int:
        """Return the largest resident set so far."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def measure_whole_run(self) -> LoopTimes | None:
        """Return the times of a run that ends and takes no step; None: it takes steps."""
        return None

    def list_files(self) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Return the files that it read, with their hashes, and those that it wrote, at its end."""
        return {}, ()
