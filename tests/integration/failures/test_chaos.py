"""A few points of the crash matrix; `make chaos` tries all of them."""

from pathlib import Path

import pytest
from chaos import EVERY, SOME, Damage, Point, damage_at

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MLflow's own


@pytest.mark.more
@pytest.mark.slow_cases("inline: terminate before call 2 of execute.trial.supervisor:_monitor_workers")
@pytest.mark.parametrize("point", SOME, ids=lambda point: point.name)
def test_a_sweep_that_was_struck_is_made_whole_by_the_same_command(point: Point, tmp_path: Path) -> None:
    assert damage_at(point, tmp_path) == Damage()


@pytest.mark.slow
def test_a_trial_that_is_lost_is_seen(tmp_path: Path) -> None:
    point = Point("lose_ledger", "orchestrator.record.journal:write_synced", "before", 5)
    assert damage_at(point, tmp_path).lost == 1


def test_the_matrix_has_forty_points_and_no_point_twice() -> None:
    assert len(set(EVERY)) == len(EVERY) >= 40
