"""A few points of the crash matrix; `make chaos` tries all of them."""

from pathlib import Path

import pytest
from chaos import EVERY, SOME, Damage, Point, damage_at


@pytest.mark.parametrize("point", SOME, ids=lambda point: point.name)
def test_a_sweep_that_was_struck_is_made_whole_by_the_same_command(point: Point, tmp_path: Path) -> None:
    assert damage_at(point, tmp_path) == Damage()


def test_a_strike_that_costs_something_is_seen(tmp_path: Path) -> None:
    """The matrix can fail: without the ledger the first command's trial is executed again."""
    point = Point("kill_driver", "orchestrator.record.ledger:Ledger.append", "after", 99)
    assert damage_at(point, tmp_path).not_struck == 1


def test_the_matrix_has_forty_points_and_no_point_twice() -> None:
    assert len(set(EVERY)) == len(EVERY) >= 40
