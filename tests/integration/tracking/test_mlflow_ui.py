"""`mlflow ui` on a sweep, in a real browser: parent and children, numbers, description, and the report."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from builders import placement, record, trial_spec
from cli_process import NOOP, ask
from mlflow import MlflowClient
from playwright.sync_api import expect, sync_playwright
from price_builders import price
from sweep_outlines import outline

from orchestrator.core.objective import Objective
from orchestrator.core.result import Failure
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.extensions.mlflow_tracking.page import page_lines
from orchestrator.pipeline.tracking import logged

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open MLflow's pages with"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
PATIENCE = 60_000  # milliseconds; MLflow's pages are large


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A working directory with a finished sweep of two batch sizes: its folder, parent run and children."""
    folder = tmp_path_factory.mktemp("swept")
    told = ask(*NOOP, "tracking=mlflow", "global_batch_size=32,64", cwd=folder)
    assert (told.code, told.err) == (0, "")
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    experiment = client.get_experiment_by_name("smoke")
    *children, parent = client.search_runs([experiment.experiment_id])
    return folder, parent.info, [child.info.run_id for child in children]


@pytest.fixture(scope="module")
def server(swept):
    """`mlflow ui`, as a user types it in that directory but for its port and size."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "ui", "--port", str(port), "--workers", "1"]
    variables = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    process = subprocess.Popen(
        command,
        cwd=swept[0],
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until_healthy(port, process)
        yield f"http://127.0.0.1:{port}/#"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_healthy(port, process):
    for _ in range(1800):  # a busy host takes minutes
        assert process.poll() is None, "the server ended"
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The ids of a sweep whose trials were measured, rehearsed and failed."""

    experiment_id: str
    parent_id: str
    failed_id: str


@pytest.fixture(scope="module")
def tuned(swept):
    """A sweep of one measured trial, a rehearsal and a failure, in the database of the server."""
    folder = swept[0]
    data = "standin:mnist-v1:0123456789abcdef"
    log = folder / "logs" / "one-1" / "rank0.log"
    log.parent.mkdir(parents=True)
    log.write_text("loss nan\n")
    failure = Failure(kind="diverged", message="weights are not finite")
    failed = record(spec=trial_spec(trainer="torch_xla", data=data), failure=failure, log_path="logs/one-1")
    best = record(spec=trial_spec(precision="bf16", data=data), price=price(is_hypothetical=True))
    rehearsed = record(placement=placement(trial_spec(device="t4", data=data), provenance="rehearsed"))
    store, records = MlflowStore(f"sqlite:///{folder}/mlflow.db"), [best, rehearsed, failed]
    store.begin(outline("tuned", *records, folder=folder))
    store.sync(logged(records, None, Objective()))
    store.finish([])
    assert (store.sent, store.missed) == (3, 0)
    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    [parent] = client.search_runs([store.experiment_id], "tags.role = 'sweep'")
    [lost] = client.search_runs([store.experiment_id], "tags.outcome = 'failed'")
    return Tuned(experiment_id=store.experiment_id, parent_id=parent.info.run_id, failed_id=lost.info.run_id)


@contextmanager
def unfailing(page):
    """Fail if the page logs an error, but for MLflow's own: a list of users that is not there, and layout."""
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield
    assert [error for error in errors if not re.search("404|ResizeObserver", error)] == []


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A page that must not meet an error of a script, its own or that of a frame in it."""
    opened, errors = browser.new_page(viewport={"width": 1400, "height": 1100}), []
    opened.set_default_timeout(PATIENCE)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on(
        "console", lambda message: errors.append(message.text) if "Security Policy" in message.text else None
    )
    yield opened
    opened.close()
    assert errors == []


def experiment_of(server, swept):
    return f"{server}/experiments/{swept[1].experiment_id}"


@pytest.mark.more
def test_the_sweep_is_listed_with_its_trials_below_it(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs")
    expect(page.get_by_text("3 matching runs")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("link", name="smoke", exact=True).first).to_be_visible()
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}")
    for child in swept[2]:
        expect(page.locator(f"a[href*='{child}']").first).to_be_visible(timeout=PATIENCE)


def find_addresses(server, experiment_id):
    """Return the two addresses that a command prints for a database, on the server of these tests."""
    lines = page_lines("sqlite:///mlflow.db", experiment_id=experiment_id)[1:]
    return [f"{server}{line.partition('/#')[2]}" for line in lines]


@pytest.mark.more
def test_the_printed_table_has_measured_trials_alone_the_fastest_in_the_first_row(page, server, swept):
    folder, parent, children = swept
    runs = [MlflowClient(f"sqlite:///{folder}/mlflow.db").get_run(child) for child in children]
    rates = {run.info.run_name: run.data.metrics["time/samples_per_second"] for run in runs}
    table, _ = find_addresses(server, parent.experiment_id)
    with unfailing(page):
        page.goto(table)
        expect(page.get_by_text("2 matching runs")).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        names = page.locator("a[href*='/runs/']").filter(has_text=re.compile("batch"))
        expect(names.first).to_have_text(max(rates, key=rates.get), timeout=PATIENCE)


@pytest.mark.more
def test_the_printed_charts_have_cost_and_time_of_measured_trials(page, server, tuned):
    _, charts = find_addresses(server, tuned.experiment_id)
    with unfailing(page):
        page.goto(charts)
        expect(page.get_by_text("1 matching run")).to_be_visible(timeout=PATIENCE)
        for section in ("cost", "time"):
            expect(page.get_by_text(section, exact=True).first).to_be_visible(timeout=PATIENCE)


@pytest.mark.more
def test_the_sweep_s_page_has_its_axes_its_numbers_and_its_trials_by_name(page, server, tuned):
    with unfailing(page):
        page.goto(f"{server}/experiments/{tuned.experiment_id}/runs/{tuned.parent_id}")
        for name in (
            "cpu bf16 torch_ddp #0",
            "t4 fp32 torch_ddp #0 · rehearsed",
            "cpu fp32 torch_xla #0 · failed: diverged",
        ):
            expect(page.get_by_role("link", name=name, exact=True)).to_be_visible(timeout=PATIENCE)
        for name in ("best/samples_per_second", "best/usd_per_million_samples", "trials/failed"):
            expect(page.get_by_text(name, exact=True).first).to_be_attached()
        expect(page.get_by_text("axis.precision", exact=True).first).to_be_attached()
        page.goto(f"{server}/experiments/{tuned.experiment_id}/runs/{tuned.parent_id}/model-metrics")
        expect(page.get_by_text("best/samples_per_second").first).to_be_visible(timeout=PATIENCE)


@pytest.mark.more
def test_a_failed_trial_s_page_has_its_cause_its_log_and_its_data(page, server, tuned):
    with unfailing(page):
        page.goto(f"{server}/experiments/{tuned.experiment_id}/runs/{tuned.failed_id}")
        expect(page.get_by_text("diverged: weights are not finite")).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text("loss nan")).to_be_attached()
        expect(page.get_by_text("mnist-v1 (stand-in)").first).to_be_attached()


@pytest.mark.more
def test_the_sweep_is_described_by_the_headline_of_its_report(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}")
    told = page.get_by_text("2 trials measured, 0 rehearsed, 0 failed, 0 points skipped.")
    expect(told).to_be_visible(timeout=PATIENCE)


@pytest.mark.more
def test_the_report_opens_in_the_viewer_of_artifacts_and_its_scripts_run(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}/artifacts/report.html")
    report = page.frame_locator("iframe")
    expect(report.locator("h1")).to_contain_text("smoke", timeout=PATIENCE)
    expect(report.get_by_text("2 trials measured, 0 rehearsed").first).to_be_visible()
    expect(report.locator("figure svg").first).to_be_attached(timeout=PATIENCE)
    expect(report.locator("th[aria-sort]").first).to_be_attached(timeout=PATIENCE)  # set by its script


@pytest.mark.more
def test_a_trial_has_its_numbers_and_what_its_host_did(page, server, swept):
    run = f"{experiment_of(server, swept)}/runs/{swept[2][0]}"
    page.goto(run)
    expect(page.get_by_text("time/samples_per_second").first).to_be_visible(timeout=PATIENCE)
    page.goto(f"{run}/system-metrics")
    expect(page.get_by_text("system_memory_usage_megabytes").first).to_be_attached(timeout=PATIENCE)


@pytest.mark.more
def test_a_comparison_has_the_axis_of_the_grid_beside_the_first_metric(page, server, swept):
    runs, experiments = (quote(json.dumps(value)) for value in (swept[2], [swept[1].experiment_id]))
    page.goto(f"{server}/compare-runs?runs={runs}&experiments={experiments}")
    expect(page.get_by_text("Comparing 2 Runs from 1 Experiment")).to_be_visible(timeout=PATIENCE)
    plot = page.locator("g.parcoords, .parcoords").first
    expect(plot).to_contain_text("global_batch_size", timeout=PATIENCE)
    expect(plot).to_contain_text("cost/billed_node_seconds")  # MLflow takes the first by its name
