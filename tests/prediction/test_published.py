"""The published data: what each method reaches on models that it did not see. Needs ORCHESTRATOR_DATA."""

import os
from pathlib import Path

import condense_profiles
import fit_bundled_models
import numpy as np
import pytest

from orchestrator.core import codec
from orchestrator.predict.evaluation.held_out import held_out_predictions, with_intervals
from orchestrator.predict.evaluation.scores import rows_of, score_of
from orchestrator.predict.latency_data.read import read_latencies
from orchestrator.predict.latency_data.table import device_ops
from orchestrator.predict.profile_transfer.ensemble import fit_blend
from orchestrator.predict.profile_transfer.pairs import pair_of
from orchestrator.predict.profile_transfer.predictor import fit_log_quadratic
from orchestrator.predict.profile_transfer.profet import clusters_of
from orchestrator.predict.profile_transfer.scalers import curves_of, held_out_errors
from orchestrator.predict.step_time.bundled_models import DefaultModels, default_models, default_profiles

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")


@pytest.fixture(scope="module")
def table():
    return read_latencies(DATA)


def scores(table, fit, **pair):
    found = held_out_predictions(pair_of(table, **pair), fit)
    return {(out.method, out.split): score_of(rows_of([with_intervals(out)])) for out in found}


def test_the_profiles_cover_two_steps(table):
    steps = table.op_seconds[device_ops(table.op_seconds)].sum(axis=1) / table.rows["step_seconds"]
    assert steps.dropna().median() == pytest.approx(1.0, abs=0.15)


def test_clusters_of_op_names_are_the_authors_but_for_a_tie(table):
    found = clusters_of(device_ops(table.op_seconds)).clusters
    assert len(found) == 23, "the authors have 24: products apart from the catch-all, by the order of columns"
    together = {frozenset(item) for item in found}
    assert {"Device_Conv2DBackpropInput", "Device_Conv2DBackpropFilter"} in together


def test_scalers_reach_about_what_the_paper_says(table):
    def mean_error(axis):
        curves = (list(curves_of(table, device=item, axis=axis)) for item in table.devices)
        return np.concatenate([held_out_errors(curve) for curve in curves]).mean()

    assert mean_error("batch_size") < 0.07
    assert mean_error("image_size") < 0.10


def test_op_times_tell_more_than_a_latency_alone(table):
    pair = {"anchor": "p3.2xlarge", "target": "g4dn.xlarge"}
    ours, alone = scores(table, fit_blend, **pair), scores(table, fit_log_quadratic, **pair)
    for split in ("leave_one_model_out", "leave_one_family_out"):
        own = ours["orchestrator", split]
        assert own.mape.median < alone["log_quadratic", split].mape.median / 2
        assert own.coverage > 0.8
        assert own.width < 1


def test_the_bundled_models_are_what_their_tool_writes(capsys):
    assert fit_bundled_models.main([str(DATA)]) == 0
    made, kept = codec.from_json(DefaultModels, capsys.readouterr().out), default_models()
    assert (made.notice, made.made_by, made.sizes, made.devices) == (
        kept.notice,
        kept.made_by,
        kept.sizes,
        kept.devices,
    )
    assert made.kinship.devices == pytest.approx(kept.kinship.devices, rel=1e-6)
    assert made.kinship.doublings == pytest.approx(kept.kinship.doublings, rel=1e-6)
    assert made.parts.coefficients == pytest.approx(kept.parts.coefficients, rel=1e-2)
    assert made.deviations == pytest.approx(kept.deviations, abs=0.011)
    assert made.quantile == pytest.approx(kept.quantile, abs=0.02)
    assert [step.labels for step in made.steps] == [step.labels for step in kept.steps]
    assert [step.log for step in made.steps] == pytest.approx([step.log for step in kept.steps], abs=1e-2)


def test_the_bundled_profiles_are_what_their_tool_writes(tmp_path, capsys):
    assert condense_profiles.main([str(DATA)]) == 0
    (tmp_path / "made.csv").write_text(capsys.readouterr().out)
    made, kept = read_latencies(tmp_path / "made.csv"), default_profiles()
    assert made.rows.drop(columns="step_seconds").equals(kept.rows.drop(columns="step_seconds"))
    assert made.rows["step_seconds"].to_numpy() == pytest.approx(kept.rows["step_seconds"].to_numpy())
