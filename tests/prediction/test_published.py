"""The published data: units, clusters, scalers, files that tools make of it. Needs ORCHESTRATOR_DATA."""

import os
from pathlib import Path

import condense_profiles
import fit_bundled_models
import numpy as np
import pytest

from orchestrator.core import codec
from orchestrator.extensions.predictions.step_time.bundled_models import DefaultModels, default_models
from orchestrator.extensions.profile_transfer.latency_data.bundled import default_profiles
from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies
from orchestrator.extensions.profile_transfer.latency_data.table import device_ops
from orchestrator.extensions.profile_transfer.models.profet import build_clusters
from orchestrator.extensions.profile_transfer.models.scalers import build_curves, held_out_errors

DATA = Path(os.environ.get("ORCHESTRATOR_DATA", "unset")) / "profet"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="ORCHESTRATOR_DATA has no folder `profet`")


@pytest.fixture(scope="module")
def table():
    return read_latencies(DATA)


@pytest.mark.more
def test_the_profiles_cover_two_steps(table):
    steps = table.op_seconds[device_ops(table.op_seconds)].sum(axis=1) / table.rows["step_seconds"]
    assert steps.dropna().median() == pytest.approx(1.0, abs=0.15)


@pytest.mark.more
def test_clusters_of_op_names_are_the_authors_but_for_a_tie(table):
    found = build_clusters(device_ops(table.op_seconds)).clusters
    assert len(found) == 23, "the authors have 24: products apart from the catch-all, by the order of columns"
    together = {frozenset(item) for item in found}
    assert {"Device_Conv2DBackpropInput", "Device_Conv2DBackpropFilter"} in together


@pytest.mark.more
def test_the_error_of_scalers_is_about_that_of_the_paper(table):
    def mean_error(axis):
        curves = (list(build_curves(table, device=item, axis=axis)) for item in table.devices)
        return np.concatenate([held_out_errors(curve) for curve in curves]).mean()

    assert mean_error("batch_size") < 0.07
    assert mean_error("image_size") < 0.10


@pytest.mark.more
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


@pytest.mark.more
def test_the_bundled_profiles_are_what_their_tool_writes(tmp_path, capsys):
    assert condense_profiles.main([str(DATA)]) == 0
    (tmp_path / "made.csv").write_text(capsys.readouterr().out)
    made, kept = read_latencies(tmp_path / "made.csv"), default_profiles()
    assert made.rows.drop(columns="step_seconds").equals(kept.rows.drop(columns="step_seconds"))
    assert made.rows["step_seconds"].to_numpy() == pytest.approx(kept.rows["step_seconds"].to_numpy())
