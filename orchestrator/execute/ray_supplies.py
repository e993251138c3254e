"""What a trial is given on a node that does not see the driver's folders: data, workload, room for logs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from orchestrator.core.errors import TrialError
from orchestrator.execute.base import Attempt, Mission
from orchestrator.execute.folders import temporary_folder
from orchestrator.execute.outcome import log_of
from orchestrator.execute.ray_depot import Depot
from workloads.data.parcel import unpacked
from workloads.data.prepared import is_readable
from workloads.data.sources import default_cache
from workloads.origins import Origin

_LOG_BYTES = 16 * 2**20
"""Of each rank's log that travel: its end."""


@contextmanager
def supplied(attempt: Attempt, mission: Mission, *, depot: Depot | None) -> Iterator[Mission]:
    """The mission as this node can carry it out; at the end the logs are where the driver looks for them.

    Args:
        depot: None on the driver's own host.

    Raises:
        TrialError: `environment`, when the node cannot have the trial's data.
    """
    if depot is None:
        yield mission
        return
    data_id = attempt.placement.trial.data
    mission = replace(mission, data_paths={data_id: _data_here(mission.data_paths[data_id], depot)})
    if depot.is_seen():
        yield mission
        return
    with temporary_folder("orchestrator-") as folder:
        try:
            yield replace(
                mission,
                folder=folder,
                origins={name: _origin_here(origin) for name, origin in mission.origins.items()},
            )
        finally:
            log = log_of(attempt)
            depot.keep_logs(mission.folder / log, _logs_in(folder / log))


def _data_here(path: str, depot: Depot) -> str:
    """Where the driver has it, or in this node's cache, where it stays for other trials."""
    if Path(path).exists():
        return path
    cache = default_cache()
    known = cache / Path(path).name
    if is_readable(known):
        return str(known)
    try:
        return str(unpacked(depot.parcel(path), cache=cache))
    except (OSError, ValueError) as error:
        raise TrialError("environment", f"{error}; a node must see the folder of data_folder=…") from error


def _origin_here(origin: Origin) -> Origin:
    """Where Ray has put a user's package on this node."""
    if origin.folder is None:
        return origin
    found = find_spec(origin.top)
    places = list(found.submodule_search_locations or ()) if found else []
    return replace(origin, folder=places[0]) if places else origin


def _logs_in(folder: Path) -> Mapping[str, bytes]:
    return {each.name: each.read_bytes()[-_LOG_BYTES:] for each in folder.glob("*.log")}
