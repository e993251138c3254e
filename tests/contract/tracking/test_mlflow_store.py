"""A sweep in MLflow, on a database file and on a server that a bare `mlflow ui` started."""

import contextlib
import getpass
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from builders import host_use, placement, pursuit, record, train_result, trial_spec
from price_builders import price
from proxy import before
from sweep_outlines import outline

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient
from mlflow.entities import ViewType

from orchestrator.core.codec import from_json
from orchestrator.core.errors import RecordError
from orchestrator.core.result import Failure, TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.extensions.mlflow_tracking.page import VIEW, VIEW_TAG
from orchestrator.record.tracking.background import BackgroundTracker
from orchestrator.record.tracking.tracker import NoTracker, Tracker

# mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
pytestmark = [
    pytest.mark.slow_cases("server"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),
]

METRICS = {"time/samples_per_second": 6400.0, "quality/final_training_loss": 0.1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("working_directory")


@pytest.fixture(scope="module")
def database(folder):
    """The default database of a working directory, with one finished sweep in it."""
    with contextlib.chdir(folder):
        finish_sweep(MlflowStore("sqlite:///mlflow.db"), "shown", records=[record()])
    return f"sqlite:///{folder}/mlflow.db"


@pytest.fixture(scope="module")
def server(folder, database):
    """`mlflow ui` as a user types it in that directory; only port and size are the test's."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    environment["MLFLOW_DISABLE_TELEMETRY"] = "true"
    command = [sys.executable, "-m", "mlflow", "ui", "--port", str(port), "--workers", "1"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_until_healthy(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(params=["database", "server"])
def uri(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def sweep(request):
    return request.node.name


def free_port():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(port, process):
    for _ in range(1800):  # a busy host takes minutes
        assert process.poll() is None, "the server ended"
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def finish_sweep(store, sweep, *, records=(), report=None, **changes):
    """Finish the sweep and return the number of runs that the store has written."""
    records = [*records]
    store.begin(outline(sweep, *records, **changes))
    store.sync((record, METRICS) for record in records)
    store.finish([report] if report else [])
    return store.sent


def find_runs(uri, sweep, *, view=ViewType.ACTIVE_ONLY):
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(sweep)
    found = client.search_runs([experiment.experiment_id], run_view_type=view)
    parents = [run for run in found if run.data.tags.get("role") == "sweep"]
    return parents, [run for run in found if run not in parents]


def only_child(uri, sweep):
    (_,), (child,) = find_runs(uri, sweep)
    return child


def test_every_tracker_keeps_the_contract(database):
    trackers: list[Tracker] = [NoTracker(), MlflowStore(database), BackgroundTracker(MlflowStore(database))]
    for tracker in trackers:
        tracker.begin(outline("contract"))
        tracker.sync([])
        tracker.save(record(), METRICS)
        tracker.finish([])
        tracker.attach([Path(__file__)], outline=outline("contract"), kept=[(record(), METRICS)])
        assert tracker.missed == 0


def test_an_attempt_is_a_child_run_with_tags_params_metrics_and_times(uri, sweep):
    finish_sweep(MlflowStore(uri), sweep, records=[record(environment={"git_commit": "abc"})])
    (parent,), (child,) = find_runs(uri, sweep)
    tags = {
        name: child.data.tags.get(name) for name in ("trial_id", "attempt", "provenance", "device", "trainer")
    }
    assert tags == {
        "trial_id": record().trial_id,
        "attempt": "1",
        "provenance": "measured",
        "device": "cpu",
        "trainer": "torch_ddp",
    }
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert child.data.tags["environment.git_commit"] == "abc"
    assert child.data.params["global_batch_size"] == "64"
    assert child.data.params["measure.max_blocks"] == "6"
    assert child.data.metrics["time/samples_per_second"] == 6400.0
    assert (child.info.start_time, child.info.end_time) == (1_790_000_000_000, 1_790_000_003_000)
    assert child.info.status == "FINISHED"


def test_the_record_itself_is_an_artifact(uri, sweep, tmp_path):
    finish_sweep(MlflowStore(uri), sweep, records=[record()])
    path = MlflowClient(uri).download_artifacts(
        only_child(uri, sweep).info.run_id, "record.json", str(tmp_path)
    )
    assert from_json(TrialRecord, Path(path).read_text()) == record()


def test_the_loss_curve_keeps_its_steps(uri, sweep):
    losses = tuple((step, 1 / step) for step in range(1, 2001))
    finish_sweep(MlflowStore(uri), sweep, records=[record(result=train_result(losses=losses))])
    history = MlflowClient(uri).get_metric_history(
        only_child(uri, sweep).info.run_id, "quality/training_loss"
    )
    assert sorted((point.step, point.value) for point in history) == list(losses)


def test_the_quality_on_the_way_to_a_target_is_a_curve_beside_that_of_the_end(uri, sweep):
    found = train_result(pursuit=pursuit(0.5, 0.9))
    finish_sweep(MlflowStore(uri), sweep, records=[record(result=found)])
    run_id = only_child(uri, sweep).info.run_id
    history = MlflowClient(uri).get_metric_history(run_id, "quality/pursuit.accuracy")
    assert [(point.step, point.value) for point in history] == [(10, 0.5), (20, 0.9)]


def test_what_the_host_did_stands_at_its_own_time_and_once(uri, sweep):
    seen = (host_use(at=1_790_000_001.0), host_use(at=1_790_000_002.0, busy=1.5, of=2.0))
    for _ in range(2):
        finish_sweep(MlflowStore(uri), sweep, records=[record(host_use=seen)])
    run_id = only_child(uri, sweep).info.run_id
    [point] = MlflowClient(uri).get_metric_history(run_id, "system/cpu_utilization_percentage")
    assert (point.value, point.timestamp, point.step) == (75.0, 1_790_000_002_000, 0)


def test_the_sweep_is_described_by_the_headline_of_its_last_report(uri, sweep, tmp_path):
    report = tmp_path / "report.md"
    report.write_text("## a\n\n- first\n\n### Measured\n\n| x |\n")
    finish_sweep(MlflowStore(uri), sweep, report=report)
    report.write_text("## a\n\n- second\n\n### Measured\n\n| x |\n")
    MlflowStore(uri).attach([report], outline=outline(sweep), kept=[])
    (parent,), _ = find_runs(uri, sweep)
    assert parent.data.tags["mlflow.note.content"].startswith("## a\n\n- second\n\nThe page with all")


def test_a_failed_attempt_is_a_failed_run_with_its_cause(uri, sweep):
    finish_sweep(
        MlflowStore(uri), sweep, records=[record(failure=Failure(kind="oom", message="killed" * 2000))]
    )
    child = only_child(uri, sweep)
    assert child.info.status == "FAILED"
    assert child.data.tags["failure_kind"] == "oom"
    assert child.data.tags["failure"].startswith("killedkilled")


def test_a_rehearsal_shows_it_in_its_name_and_its_tag(uri, sweep):
    rehearsed = placement(trial_spec(device="t4"), provenance="rehearsed", substitutions=("gloo for nccl",))
    finish_sweep(MlflowStore(uri), sweep, records=[record(placement=rehearsed)])
    child = only_child(uri, sweep)
    assert child.info.run_name == "t4 fp32 torch_ddp #0 · rehearsed"
    assert (child.data.tags["provenance"], child.data.tags["outcome"]) == ("rehearsed", "rehearsed")
    assert child.data.tags["substitutions"] == "gloo for nccl"


def test_the_log_of_a_failed_attempt_is_an_artifact_and_in_its_description(uri, sweep, tmp_path):
    log = tmp_path / "logs" / "one-1" / "rank0.log"
    log.parent.mkdir(parents=True)
    log.write_text("step 1\nKilled\n")
    failed = record(failure=Failure(kind="oom", message="killed"), log_path="logs/one-1")
    finish_sweep(MlflowStore(uri), sweep, records=[failed, record(attempt=2)], folder=tmp_path)
    _, children = find_runs(uri, sweep)
    by_status = {run.info.status: run for run in children}
    run_id, client = by_status["FAILED"].info.run_id, MlflowClient(uri)
    assert [artifact.path for artifact in client.list_artifacts(run_id, "log")] == ["log/rank0.log"]
    note = by_status["FAILED"].data.tags["mlflow.note.content"]
    assert note.startswith("oom: killed\n")
    assert note.endswith("\n    step 1\n    Killed")
    assert not client.list_artifacts(by_status["FINISHED"].info.run_id, "log")


def test_a_log_that_is_not_here_is_left_out(uri, sweep):
    failed = record(failure=Failure(kind="oom", message="killed"), log_path="logs/elsewhere")
    assert finish_sweep(MlflowStore(uri), sweep, records=[failed]) == 1
    assert "Log of" not in only_child(uri, sweep).data.tags["mlflow.note.content"]


def test_a_run_has_its_data_set_its_source_and_its_user(uri, sweep):
    standin = record(spec=trial_spec(data="standin:mnist-v1:0123"), environment={"git_commit": "abc"})
    finish_sweep(MlflowStore(uri), sweep, records=[standin])
    (parent,), (child,) = find_runs(uri, sweep)
    [found] = child.inputs.dataset_inputs
    assert (found.dataset.name, found.dataset.digest) == ("mnist-v1 (stand-in)", "0123")
    assert found.dataset.source_type == "stand-in"
    assert {tag.key: tag.value for tag in found.tags} == {
        "mlflow.data.context": "training",
        "is_standin": "true",
    }
    for run in (parent, child):
        assert run.data.tags["mlflow.source.name"] == "orchestrator"
        assert run.data.tags["mlflow.user"] == getpass.getuser()
    assert child.data.tags["mlflow.source.git.commit"] == "abc"


def test_the_sweep_has_its_axes_and_its_numbers(uri, sweep):
    records = [record(spec=trial_spec(seed=seed), price=price(is_hypothetical=True)) for seed in (0, 1)]
    planned = frozenset({*(item.trial_id for item in records), "another"})
    finish_sweep(MlflowStore(uri), sweep, records=records, planned=planned)
    (parent,), _ = find_runs(uri, sweep)
    told = {name: parent.data.params[name] for name in ("sweep", "goal", "axis.seed", "axis.device")}
    assert told == {"sweep": sweep, "goal": "fastest", "axis.seed": "0, 1", "axis.device": "cpu"}
    numbers = ("best/samples_per_second", "trials/measured", "trials/missing")
    assert [parent.data.metrics[name] for name in numbers] == [6400.0, 2, 1]
    assert parent.data.tags["price"].endswith(", list price")


def test_a_sweep_that_goes_on_has_further_values_and_new_numbers(uri, sweep):
    first, second = (record(spec=trial_spec(seed=seed)) for seed in (0, 1))
    finish_sweep(MlflowStore(uri), sweep, records=[first])
    finish_sweep(MlflowStore(uri), sweep, records=[first, second])
    (parent,), _ = find_runs(uri, sweep)
    assert parent.data.params["axis.seed.2"] == "0, 1"
    history = MlflowClient(uri).get_metric_history(parent.info.run_id, "trials/measured")
    assert {point.step: point.value for point in history} == {1: 1, 2: 2}
    assert parent.data.metrics["trials/measured"] == 2


def test_a_report_brings_the_numbers_of_a_sweep_up_to_date(uri, sweep):
    finish_sweep(MlflowStore(uri), sweep, records=[record()])
    kept = [(record(), METRICS), (record(spec=trial_spec(seed=1)), METRICS)]
    store = MlflowStore(uri)
    store.attach([], outline=outline(sweep, planned=frozenset({"another"})), kept=kept)
    (parent,), _ = find_runs(uri, sweep)
    assert (parent.data.metrics["trials/measured"], parent.data.metrics["trials/missing"]) == (2, 1)
    assert store.experiment_id == parent.info.experiment_id


def test_an_experiment_is_described_and_the_user_s_own_description_stays(uri, sweep):
    client = MlflowClient(uri)
    finish_sweep(MlflowStore(uri), sweep)
    experiment = client.get_experiment_by_name(sweep)
    assert "tags.outcome = 'measured'" in experiment.tags["mlflow.note.content"]
    client.set_experiment_tag(experiment.experiment_id, "mlflow.note.content", "mine")
    finish_sweep(MlflowStore(uri), sweep)
    assert client.get_experiment_by_name(sweep).tags["mlflow.note.content"] == "mine"


def test_an_experiment_has_the_view_of_the_printed_address_and_an_older_one_is_replaced(uri, sweep):
    client = MlflowClient(uri)
    finish_sweep(MlflowStore(uri), sweep)
    experiment = client.get_experiment_by_name(sweep)
    assert experiment.tags[VIEW_TAG] == VIEW
    client.set_experiment_tag(experiment.experiment_id, VIEW_TAG, "{}")
    finish_sweep(MlflowStore(uri), sweep)
    assert client.get_experiment_by_name(sweep).tags[VIEW_TAG] == VIEW


def test_the_same_record_twice_is_one_run(uri, sweep):
    store = MlflowStore(uri)
    assert finish_sweep(store, sweep, records=[record(), record()]) == 1
    assert finish_sweep(MlflowStore(uri), sweep, records=[record()]) == 0
    parents, children = find_runs(uri, sweep)
    assert (len(parents), len(children)) == (1, 1)


def test_two_attempts_of_a_trial_are_two_runs(uri, sweep):
    assert finish_sweep(MlflowStore(uri), sweep, records=[record(), record(attempt=2)]) == 2


def test_a_run_that_a_killed_driver_left_half_written_is_written_again(uri, sweep):
    finish_sweep(MlflowStore(uri), sweep, records=[record()])
    half_written = only_child(uri, sweep).info.run_id
    MlflowClient(uri).update_run(half_written, status="RUNNING")
    assert finish_sweep(MlflowStore(uri), sweep, records=[record()]) == 1
    assert only_child(uri, sweep).info.run_id != half_written
    parents, children = find_runs(uri, sweep, view=ViewType.ALL)
    assert "RUNNING" not in {run.info.status for run in parents + children}


def test_the_sweep_runs_from_begin_to_finish_and_a_killed_driver_s_is_taken_up(uri, sweep, tmp_path):
    MlflowStore(uri).begin(outline(sweep))  # and its driver is killed
    (parent,), _ = find_runs(uri, sweep)
    assert parent.info.status == "RUNNING"
    report = tmp_path / "report.html"
    report.write_text("<p>a report</p>")
    finish_sweep(MlflowStore(uri), sweep, report=report)
    (again,), _ = find_runs(uri, sweep)
    assert (again.info.run_id, again.info.status) == (parent.info.run_id, "FINISHED")
    assert [list_artifact.path for list_artifact in MlflowClient(uri).list_artifacts(again.info.run_id)] == [
        "report.html"
    ]


def test_a_later_report_takes_the_place_of_the_first_and_the_sweep_s_state_stays(uri, sweep, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("first")
    finish_sweep(MlflowStore(uri), sweep, report=report)
    MlflowStore(uri).begin(outline(sweep))  # another driver runs the sweep
    report.write_text("second")
    MlflowStore(uri).attach([report], outline=outline(sweep), kept=[])
    (parent,), _ = find_runs(uri, sweep)
    assert parent.info.status == "RUNNING"
    shown = MlflowClient(uri).download_artifacts(parent.info.run_id, "report.html", str(tmp_path / "shown"))
    assert Path(shown).read_text() == "second"


def test_a_report_of_an_untracked_sweep_is_attached_and_no_run_stays_open(uri, sweep, tmp_path):
    report = tmp_path / "report.html"
    report.write_text("a report")
    MlflowStore(uri).attach([report], outline=outline(sweep), kept=[])
    (parent,), children = find_runs(uri, sweep)
    assert (parent.info.status, children) == ("FINISHED", [])
    assert [list_artifact.path for list_artifact in MlflowClient(uri).list_artifacts(parent.info.run_id)] == [
        "report.html"
    ]


def test_a_report_that_cannot_be_attached_is_shown_and_no_error(sweep, tmp_path, caplog):
    MlflowStore(f"http://127.0.0.1:{free_port()}").attach(
        [tmp_path / "report.html"], outline=outline(sweep), kept=[]
    )
    assert "MLflow at http://127.0.0.1:" in caplog.text


def test_an_interrupted_sweep_is_killed_until_it_is_taken_up(uri, sweep):
    finish_sweep(MlflowStore(uri), sweep)
    (parent,), _ = find_runs(uri, sweep)
    assert parent.info.status == "KILLED"


def test_a_diverged_loss_and_odd_names_are_kept(uri, sweep):
    odd = record(
        spec=trial_spec(trainer_options={"a=b$": True, "c": None}),
        result=train_result(losses=((1, float("nan")),)),
        environment={"k@y": "é\u2028\x07"},
    )
    store = MlflowStore(uri)
    finish_sweep(store, sweep, records=[odd])
    child = only_child(uri, sweep)
    assert store.missed == 0
    assert child.data.params["trainer.a_b_"] == "true"
    assert child.data.metrics["quality/training_loss"] != child.data.metrics["quality/training_loss"]


def test_an_experiment_that_the_user_deleted_comes_back_with_its_sweep(uri, sweep):
    finish_sweep(MlflowStore(uri), sweep, records=[record()])
    client = MlflowClient(uri)
    client.delete_experiment(client.get_experiment_by_name(sweep).experiment_id)
    store = MlflowStore(uri)
    finish_sweep(store, sweep, records=[record()])
    assert store.missed == 0
    assert only_child(uri, sweep).info.status == "FINISHED"


@pytest.mark.more
def test_a_bare_mlflow_ui_shows_the_default_database_with_its_artifacts(server, folder):
    assert "Using sqlite:///mlflow.db" in (folder / "server.log").read_text()
    child = only_child(server, "shown")
    shown = f"{server}/get-artifact?path=record.json&run_uuid={child.info.run_id}"
    with urllib.request.urlopen(shown, timeout=10) as answer:
        assert from_json(TrialRecord, answer.read().decode()) == record()


def test_an_unreachable_server_loses_no_record_and_gives_two_warnings(database, sweep, caplog):
    store = MlflowStore(f"http://someone:hunter2@127.0.0.1:{free_port()}")
    with caplog.at_level(logging.WARNING, logger="orchestrator"):
        store.begin(outline(sweep))
        for attempt in (1, 2, 3):
            store.save(record(attempt=attempt), METRICS)
        store.finish([])
    first, last = (record.getMessage() for record in caplog.records if record.name.startswith("orchestrator"))
    assert store.missed == 3
    assert first.startswith("MLflow at http://127.0.0.1:")
    assert "3 records are not in MLflow" in last
    assert "hunter2" not in caplog.text
    assert (
        finish_sweep(MlflowStore(database), sweep, records=[record(attempt=value) for value in (1, 2, 3)])
        == 3
    )


def test_what_was_missed_is_sent_when_the_sweep_ends(tmp_path, database, sweep):
    path = tmp_path / "mlflow.db"
    path.write_text("no database" * 100)
    store = MlflowStore(f"sqlite:///{path}")
    store.begin(outline(sweep))
    store.save(record(), METRICS)
    assert store.missed == 1
    path.write_bytes(Path(database.removeprefix("sqlite:///")).read_bytes())  # it is mended meanwhile
    store.finish([])
    assert store.missed == 0
    assert only_child(f"sqlite:///{path}", sweep).info.status == "FINISHED"


@pytest.fixture
def proxy(server, monkeypatch):
    """The server behind one that does what it is told; a client tries a request once more."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    with before(int(server.rpartition(":")[2])) as found:
        yield found


@pytest.mark.more
@pytest.mark.parametrize("fault", ["error", "garbage"])
def test_a_server_that_answers_nonsense_misses_all_and_gets_each_record_once(proxy, sweep, caplog, fault):
    records = [record(attempt=attempt) for attempt in (1, 2, 3)]
    proxy.fault_of = lambda _method, _path: fault
    store = MlflowStore(proxy.url)
    assert finish_sweep(store, sweep, records=records) == 0
    assert store.missed == 3
    assert ("500" in caplog.text) if fault == "error" else ("not in a valid JSON format" in caplog.text)
    proxy.fault_of = lambda _method, _path: "none"
    assert [finish_sweep(MlflowStore(proxy.url), sweep, records=records) for _ in range(2)] == [3, 0]
    assert len(find_runs(proxy.url, sweep)[1]) == 3


WRITES = {
    "the experiment": ("POST", "/experiments/create"),
    "a run": ("POST", "/runs/create"),
    "its metrics": ("POST", "/runs/log-batch"),
    "its record": ("PUT", "/artifacts/"),
    "its end": ("POST", "/runs/update"),
}


@pytest.mark.parametrize(("fault", "times"), [("error", 2), ("lost", 1), ("lost", 2)])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.more
def test_a_write_that_fails_or_loses_its_answer_leaves_one_run_of_each_attempt(
    proxy, sweep, write, fault, times
):
    method, path = WRITES[write]
    left = [times]  # of twice the second is what the client tries once more

    def fails(asked_method: str, asked_path: str) -> str:
        if left[0] and asked_method == method and path in asked_path:
            left[0] -= 1
            return fault
        return "none"

    proxy.fault_of = fails
    finish_sweep(MlflowStore(proxy.url), sweep, records=[record(), record(attempt=2)])
    assert left == [0]
    proxy.fault_of = lambda _method, _path: "none"
    finish_sweep(MlflowStore(proxy.url), sweep, records=[record(), record(attempt=2)])
    parents, children = find_runs(proxy.url, sweep)
    assert (len(parents), sorted(run.data.tags["attempt"] for run in children)) == (1, ["1", "2"])
    assert {run.info.status for run in (*parents, *children)} <= {"FINISHED", "KILLED"}


def test_a_server_that_does_not_answer_does_not_stop_the_sweep(sweep, caplog, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        store = MlflowStore(f"http://127.0.0.1:{silent.getsockname()[1]}")
        finish_sweep(store, sweep, records=[record()])
    assert store.missed == 1
    assert "timed out" in caplog.text.lower()


def test_metrics_of_any_name_are_kept_and_two_names_stay_two(database):
    names = ("quality/val//accuracy", "quality//acc", "quality/acc@1", "quality/acc#1", "quality/..")
    values = {name: float(index) for index, name in enumerate(names)}
    store = MlflowStore(database)
    store.begin(outline("odd names", record()))
    store.save(record(), values)
    store.finish([])
    assert (store.sent, store.missed, store.refused) == (1, 0, 0)
    found = only_child(database, "odd names").data.metrics
    assert (found["quality/val/accuracy"], found["quality/acc"]) == (0.0, 1.0)
    assert sorted(value for name, value in found.items() if name.startswith("quality/acc_1.")) == [2.0, 3.0]
    assert found["quality/__"] == 4.0


def test_what_mlflow_refuses_is_not_promised_to_the_next_run(database, caplog):
    store = MlflowStore(database)
    finish_sweep(store, "n" * 501, records=[record()])  # no experiment can have so long a name
    assert (store.sent, store.missed, store.refused) == (0, 0, 1)
    last = caplog.records[-1].getMessage()
    assert last.startswith("1 records are refused by MLflow at ")
    assert "the next run of the sweep sends them" not in caplog.text


@pytest.mark.parametrize("wrong", ["sqlite:///", "./mlruns", "postgresql://user:hunter2@host/mlflow"])
def test_a_uri_of_another_kind_is_refused_with_what_is_possible(wrong):
    with pytest.raises(RecordError, match="is not understood; possible: sqlite:///<file>, http://…") as told:
        MlflowStore(wrong)
    assert "hunter2" not in str(told.value)


@pytest.mark.more
def test_a_first_start_prints_no_output(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore\n"
        "from orchestrator.record.tracking.tracker import SweepOutline\n"
        "outline = SweepOutline(name='quiet', goal='fastest', folder=Path(), specs=())\n"
        "store = MlflowStore('sqlite:///mlflow.db'); store.begin(outline); store.finish([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert (tmp_path / "mlflow.db").exists()


@pytest.mark.more
def test_mlflow_is_not_imported_before_a_store_is_made():
    code = (
        "import sys, orchestrator.extensions.mlflow_tracking.mlflow_store; assert 'mlflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
