"""(parts of a script's training) -> the rate of its loader, where it can be known. Pure."""

from collections.abc import Sequence

from orchestrator.train.trainers.script.part import Part

_LEAST_WAIT = 0.1  # of the time of steps; below it a loader with processes may have read ahead


def find_loader_rate(parts: Sequence[Part]) -> float | None:
    """Return the samples per second of a script's loader; None: it cannot be known.

    A loader without processes reads nothing while the script trains: its rate is that inside `next()`. One
    with processes reads ahead: its rate is that of the steps if an accelerator waited for it. On a CPU its
    processes and the training take the cores from each other.
    """
    if len(parts) < 2:
        return None
    loaded, timed = parts[-1].loaded, parts[1:]
    if loaded.num_processes is None or not loaded.samples or not loaded.seconds:
        return None
    if loaded.num_processes == 0:
        return loaded.samples / loaded.seconds
    seconds = sum(part.seconds for part in timed)
    waited = sum(part.data_wait_seconds or 0.0 for part in timed)
    if timed[-1].kind == "cpu" or waited < _LEAST_WAIT * seconds:
        return None
    return sum(part.samples for part in timed) / seconds
