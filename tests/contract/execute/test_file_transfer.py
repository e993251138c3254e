"""Inputs staged on a node, by which of the driver's folders it sees."""

from dataclasses import replace
from pathlib import Path

import pytest
from noop_trials import context, noop

from orchestrator.core.placement import Attempt
from orchestrator.execute.executor import SweepContext
from workloads.data.parcel import packed

pytest.importorskip("ray", reason="Ray is not installed")

from orchestrator.execute.on_ray.file_transfer import staged_inputs


class NearDepot:
    """Hands out one file from the driver's folder, of which the node sees as much as it is told."""

    def __init__(self, file: Path, *, is_seen: bool) -> None:
        self._file = file
        self._is_seen = is_seen
        self.logs: dict[Path, dict[str, bytes]] = {}

    def is_seen(self) -> bool:
        return self._is_seen

    def read_dataset(self, _path: str) -> bytes:
        return packed(self._file)

    def store_logs(self, folder: Path, logs: dict[str, bytes]) -> None:
        self.logs[folder] = logs


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SweepContext:
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    return context(tmp_path)


ATTEMPT = Attempt(placement=noop(), number=1)


def test_a_worker_that_sees_all_files_is_given_no_copies(told, tmp_path):
    with staged_inputs(ATTEMPT, told, driver_files=NearDepot(tmp_path / "data.npz", is_seen=True)) as here:
        assert here == told


def test_a_worker_that_sees_the_sweeps_folder_and_not_the_cache_is_sent_only_the_data(told, tmp_path):
    hidden = replace(told, data_paths={"synthetic:1": "/nowhere/data.npz"})
    driver_files = NearDepot(tmp_path / "data.npz", is_seen=True)
    with staged_inputs(ATTEMPT, hidden, driver_files=driver_files) as here:
        assert here == replace(told, data_paths={"synthetic:1": str(tmp_path / "cache/data.npz")})
    assert (tmp_path / "cache/data.npz").read_bytes() == (tmp_path / "data.npz").read_bytes()
    assert driver_files.logs == {}


def test_a_worker_that_sees_no_files_keeps_its_logs_and_gives_them_back(told, tmp_path):
    hidden = replace(told, folder=Path("/nowhere/example"))
    driver_files = NearDepot(tmp_path / "data.npz", is_seen=False)
    with staged_inputs(ATTEMPT, hidden, driver_files=driver_files) as here:
        log = here.folder / "logs" / f"{ATTEMPT.placement.trial_id}-1" / "rank0.log"
        log.parent.mkdir(parents=True)
        log.write_text("it trains")
    assert not here.folder.exists()
    assert driver_files.logs == {
        Path(f"/nowhere/example/logs/{ATTEMPT.placement.trial_id}-1"): {"rank0.log": b"it trains"}
    }
