"""Predicted settings as runs of their own in MLflow, and the numbers of the job that a command changes."""

import pytest
from builders import record
from sweep_outlines import outline

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient

from orchestrator.core.codec import to_json
from orchestrator.core.placement import Plan
from orchestrator.extensions.mlflow_tracking.mlflow_read import read_sweep
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.record.tracking.tracker import Prediction

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)

RATE = "time/samples_per_second"
METRICS = {RATE: 6400.0, "time/job_seconds": 90.0, "cost/job_usd": 0.5}


@pytest.fixture
def uri(tmp_path):
    return f"sqlite:///{tmp_path}/mlflow.db"


@pytest.fixture
def files(tmp_path):
    """The plan of a report, which a sweep is read with."""
    plan = tmp_path / "plan.json"
    plan.write_text(to_json(Plan(sweep="swept", placements=(), cached=(), skipped=())))
    return [plan]


def predicted(device, rate=9000.0, *, provenance="predicted", **metrics):
    return Prediction(
        job="mnist_cnn",
        setting=f"{device}, fp32",
        factors={"device": device, "precision": "fp32", "global_batch_size": "64"},
        provenance=provenance,
        metrics={RATE: rate, **metrics},
    )


def finish(uri, files, predictions, *, metrics=METRICS):
    store = MlflowStore(uri)
    store.begin(outline("swept", record()))
    store.save(record(), metrics)
    store.finish(files, predictions=predictions)
    assert store.missed == 0


def attach(uri, files, predictions, *, metrics=METRICS):
    swept = outline("swept", record(), predictions=tuple(predictions))
    MlflowStore(uri).attach(files, outline=swept, kept=[(record(), metrics)])


def find_runs(uri, outcome):
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("swept")
    return client.search_runs([experiment.experiment_id], f"tags.outcome = '{outcome}'")


def test_a_predicted_setting_is_a_run_with_its_numbers_that_no_filter_of_measured_ones_finds(uri, files):
    finish(uri, files, [predicted("t4", **{"time/job_seconds": 12.0})])
    (run,), (attempt,) = find_runs(uri, "predicted"), find_runs(uri, "measured")
    assert (run.info.run_name, run.info.status) == ("t4, fp32 · predicted", "FINISHED")
    assert run.data.metrics == {RATE: 9000.0, "time/job_seconds": 12.0}
    assert run.data.params == {"device": "t4", "precision": "fp32", "global_batch_size": "64"}
    assert (run.data.tags["provenance"], run.data.tags["device"]) == ("predicted", "t4")
    assert run.data.tags["mlflow.parentRunId"] == attempt.data.tags["mlflow.parentRunId"]
    assert "trial_id" not in run.data.tags


def test_predictions_sent_twice_are_shown_once(uri, files):
    for send in (finish, attach, finish):
        send(uri, files, [predicted("t4"), predicted("v100")])
    assert sorted(run.data.tags["device"] for run in find_runs(uri, "predicted")) == ["t4", "v100"]


def test_a_later_report_changes_predictions_in_their_runs_and_removes_what_it_does_not_have(uri, files):
    finish(uri, files, [predicted("t4"), predicted("v100")])
    before = {run.data.tags["device"]: run.info.run_id for run in find_runs(uri, "predicted")}
    attach(uri, files, [predicted("v100", 7000.0)])
    (run,) = find_runs(uri, "predicted")
    assert (run.info.run_id, run.data.metrics[RATE]) == (before["v100"], 7000.0)


def test_a_compiled_setting_takes_the_place_of_its_prediction(uri, files):
    finish(uri, files, [predicted("tpu_v3_8")])
    attach(uri, files, [predicted("tpu_v3_8", provenance="compiled")])
    (run,) = find_runs(uri, "predicted")
    assert (run.data.tags["provenance"], run.info.run_name) == ("compiled", "tpu_v3_8, fp32 · compiled")


def test_a_prediction_of_a_killed_writer_is_written_anew(uri, files):
    finish(uri, files, [predicted("t4")])
    (run,) = find_runs(uri, "predicted")
    MlflowClient(uri).update_run(run.info.run_id, status="RUNNING")
    attach(uri, files, [predicted("t4")])
    (again,) = find_runs(uri, "predicted")
    assert (again.info.status, again.info.run_id != run.info.run_id) == ("FINISHED", True)


def test_an_interrupted_sweep_keeps_the_predictions_of_its_last_report(uri, files):
    finish(uri, files, [predicted("t4")])
    finish(uri, [], [])
    assert len(find_runs(uri, "predicted")) == 1


def test_a_sweep_is_read_without_its_predictions(uri, files):
    finish(uri, files, [predicted("t4")])
    records, _ = read_sweep(uri, sweep="swept")
    assert records == (record(),)


@pytest.mark.parametrize("send", [finish, attach])
def test_another_length_of_the_job_changes_its_numbers_at_runs_that_were_sent(uri, files, send):
    old = {RATE: 6400.0}  # of a version that knew no job
    finish(uri, files, [], metrics=old)
    send(uri, files, [], metrics=METRICS)
    send(uri, files, [], metrics=METRICS | {"time/job_seconds": 30.0, RATE: 1.0})
    (run,) = find_runs(uri, "measured")
    assert run.data.metrics["time/job_seconds"] == 30.0
    assert run.data.metrics["cost/job_usd"] == 0.5
    assert run.data.metrics[RATE] == 6400.0  # as it was recorded
