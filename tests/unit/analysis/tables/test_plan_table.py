"""A plan as a data frame: every point is one row, whether it is a trial or not."""

from builders import placement, trial_spec

from orchestrator.analysis.tables.plan import PLAN_COLUMNS, plan_frame
from orchestrator.core.placement import Cached, Plan, Skipped


def test_every_point_is_a_row_with_its_factors_and_what_is_no_trial_has_none():
    trial = trial_spec(device="t4", precision="fp16", num_workers=2)
    plan = Plan(
        sweep="example",
        placements=(placement(),),
        cached=(Cached(trial=trial, trial_id="0123456789abcdef", provenance="measured"),),
        skipped=(Skipped(point="cpu torch_xla fp16", reason="a CPU has no fp16"),),
    )
    frame = plan_frame(plan)
    assert list(frame.columns) == list(PLAN_COLUMNS)
    assert list(frame["state"]) == ["measure", "cached", "skip"]
    assert list(frame["device"][:2]) == ["cpu", "t4"]
    assert list(frame["num_workers"][:2]) == [1, 2]
    assert list(frame[["device", "num_workers"]].isna().all(axis=1)) == [False, False, True]
    assert frame["note"][2] == "a CPU has no fp16"


def test_a_plan_without_points_has_no_row():
    frame = plan_frame(Plan(sweep="example", placements=(), cached=(), skipped=()))
    assert (len(frame), list(frame.columns)) == (0, list(PLAN_COLUMNS))
