"""A report made from MLflow alone is the one made from the ledger."""

import json
import shutil
from pathlib import Path

import pytest
from builders import record
from cli_process import NOOP, ask
from report_builders import measured, plan_of, rehearsed, tpu_vs_gpu
from sweep_outlines import outline

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient

from orchestrator.core.codec import from_json, from_plain
from orchestrator.core.errors import RecordError
from orchestrator.core.objective import FASTEST, Objective
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_read import find_experiment_id, read_sweep
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.pipeline.report import write_report
from orchestrator.pipeline.tracking import logged

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = pytest.mark.filterwarnings(
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)


STORED = Path(__file__).parent / "stored" / "runs_before_units.json"
"""The runs of a sweep, the parent first, as they were before metrics had the units of MLflow's pages."""


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db"


def track(uri, sweep, records, files=()):
    store = MlflowStore(uri)
    store.begin(outline(sweep, *records))
    store.sync(logged(records, None, Objective()))
    store.finish(files)
    assert store.missed == 0


def texts_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".parquet"}


def test_a_report_from_mlflow_equals_the_one_from_the_ledger(uri, tmp_path):
    records, plan = tpu_vs_gpu()
    kept = write_report(tmp_path / "ledger", records, plan, FASTEST)
    track(uri, "tpu_vs_gpu", records, kept.files)
    found, told = read_sweep(uri, sweep="tpu_vs_gpu")
    assert (sorted(found, key=str), told) == (sorted(records, key=str), plan)
    write_report(tmp_path / "mlflow", found, told, FASTEST)
    assert texts_in(tmp_path / "mlflow") == texts_in(tmp_path / "ledger")


def test_a_quality_of_the_name_of_a_parameter_comes_back(uri, tmp_path):
    records = [measured(recorded={"quality": {"precision": 0.94}}), rehearsed()]
    kept = write_report(tmp_path, records, plan_of(records), FASTEST)
    track(uri, "qualities", records, kept.files)
    found, _ = read_sweep(uri, sweep="qualities")
    assert sorted(found, key=str) == sorted(records, key=str)
    client = MlflowClient(uri)
    runs = client.search_runs([find_experiment_id(uri, sweep="qualities")], "tags.outcome = 'measured'")
    assert [run.data.metrics["quality/precision"] for run in runs] == [0.94]
    assert "precision" not in runs[0].data.metrics


def test_runs_that_an_earlier_version_stored_are_read_and_go_on(uri, tmp_path):
    stored = json.loads(STORED.read_text())
    restore(MlflowClient(uri), "stored", stored, tmp_path)
    found, told = read_sweep(uri, sweep="stored")
    artifacts = [run["artifacts"] for run in stored]
    expected = [
        from_plain(TrialRecord, files["record.json"]) for files in artifacts if "record.json" in files
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert told == from_plain(Plan, artifacts[0]["plan.json"])
    store = MlflowStore(uri)
    store.begin(outline("stored", *found))
    store.sync(logged(found, None, Objective()))
    store.finish([])
    assert (store.sent, store.missed) == (0, 0)
    runs = MlflowClient(uri).search_runs([store.experiment_id], "tags.role = 'sweep'")
    assert [run.data.metrics["trials/measured"] for run in runs] == [2]
    assert [set(run.data.params["axis.device"].split(", ")) for run in runs] == [{"cpu", "t4"}]


def restore(client, sweep, stored, folder):
    """Write runs into a store as they were exported from one that an earlier version had written."""
    experiment_id, parent_id = client.create_experiment(sweep), None
    for number, run in enumerate(stored):
        parent = {"mlflow.parentRunId": parent_id} if parent_id else {}
        tags = {**run["tags"], **parent}
        made = client.create_run(experiment_id, run["start_time"], tags, run["name"]).info.run_id
        parent_id = parent_id or made
        for name, value in run["params"].items():
            client.log_param(made, name, value)
        for name, value in run["metrics"].items():
            client.log_metric(made, name, value)
        for name, content in run["artifacts"].items():
            path = folder / str(number) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content))
            client.log_artifact(made, str(path))
        client.set_terminated(made, run["status"], run["end_time"])


def asked_in(plan: bytes) -> set[str]:
    """Return the trials of a plan; those that were to run are cached in the plan of a later command."""
    return {trial.trial_id for trial in from_json(Plan, plan.decode()).asked}


@pytest.mark.more
def test_a_command_reports_from_mlflow_what_it_reports_from_the_ledger(tmp_path: Path) -> None:
    words = [
        *(item for item in NOOP if item != "tracking=none"),
        "trainer.fault=none,raise",
        "sweep.repeats=2",
    ]
    assert ask(*words, cwd=tmp_path).code == 1
    folder = tmp_path / "outputs/smoke"
    ledger = ask("report", *words, cwd=tmp_path)
    names = ("report.html", "report.md", "results.csv", "comparisons.csv", "plan.json")
    expected = {name: (folder / name).read_bytes() for name in names}
    shutil.rmtree(tmp_path / "outputs")
    mlflow = ask("report", *words, "report.source=mlflow", cwd=tmp_path)
    assert (mlflow.code, mlflow.err) == (1, "")
    found = {name: (folder / name).read_bytes() for name in names}
    assert asked_in(found.pop("plan.json")) == asked_in(expected.pop("plan.json"))
    assert found == expected
    assert ledger.out.endswith(mlflow.out)  # which does not look at the data
    assert not (folder / "records.jsonl").exists()


@pytest.mark.slow
def test_a_report_from_mlflow_prices_anew_when_it_is_asked_to(tmp_path: Path) -> None:
    words = [item for item in NOOP if item != "tracking=none"]
    assert ask(*words, cwd=tmp_path).code == 0
    ledger = ask("report", "--full", *words, "prices.provisioning=spot", cwd=tmp_path)
    mlflow = ask("report", "--full", *words, "prices.provisioning=spot", "report.source=mlflow", cwd=tmp_path)
    assert "Re-priced: not the price stored" in " ".join(mlflow.out.split())
    assert ledger.out.endswith(mlflow.out)


def test_what_a_driver_left_half_written_is_no_record(uri, tmp_path):
    kept = write_report(tmp_path, [record()], plan_of([record()]), FASTEST)
    track(uri, "half", [record()], kept.files)
    client = MlflowClient(uri)
    experiment_id = client.get_experiment_by_name("half").experiment_id
    (parent,) = client.search_runs([experiment_id], "tags.role = 'sweep'")
    client.create_run(experiment_id, tags={"mlflow.parentRunId": parent.info.run_id})
    assert read_sweep(uri, sweep="half") == ((record(),), plan_of([record()]))


def test_a_sweep_without_a_report_is_refused(uri):
    track(uri, "unreported", [record()])
    with pytest.raises(RecordError, match=r"has no plan\.json of sweep 'unreported'; report it once where"):
        read_sweep(uri, sweep="unreported")


def test_a_sweep_that_mlflow_does_not_know_is_shown(uri):
    track(uri, "known", [record()])
    with pytest.raises(RecordError, match=r"MLflow at sqlite:.* has no sweep 'unknown'"):
        read_sweep(uri, sweep="unknown")


def test_a_database_that_is_not_there_is_shown_and_not_made(tmp_path):
    with pytest.raises(RecordError, match=r"no MLflow database exists at '.*/none\.db'; set its path"):
        read_sweep(f"sqlite:///{tmp_path}/none.db", sweep="x")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_is_shown_in_one_line(tmp_path):
    (tmp_path / "bad.db").write_text("no database" * 100)
    with pytest.raises(
        RecordError, match=r"MLflow at sqlite:.*bad\.db cannot be read: DatabaseError"
    ) as told:
        read_sweep(f"sqlite:///{tmp_path}/bad.db", sweep="x")
    assert "\n" not in str(told.value)
