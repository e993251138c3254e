"""`mlflow ui` on a sweep, in a real browser: parent and children, numbers, description, and the report."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.parse import quote

import pytest
from cli_process import NOOP, ask
from mlflow import MlflowClient
from playwright.sync_api import expect, sync_playwright

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
    for _ in range(600):
        assert process.poll() is None, "the server ended"
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


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


def test_the_sweep_is_listed_with_its_trials_below_it(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs")
    expect(page.get_by_text("3 matching runs")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("link", name="smoke", exact=True).first).to_be_visible()
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}")
    for child in swept[2]:
        expect(page.locator(f"a[href*='{child}']").first).to_be_visible(timeout=PATIENCE)


def test_the_sweep_is_described_by_the_headline_of_its_report(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}")
    told = page.get_by_text("2 trials measured, 0 rehearsed, 0 failed, 0 points skipped.")
    expect(told).to_be_visible(timeout=PATIENCE)


def test_the_report_opens_in_the_viewer_of_artifacts_and_its_scripts_run(page, server, swept):
    page.goto(f"{experiment_of(server, swept)}/runs/{swept[1].run_id}/artifacts/report.html")
    report = page.frame_locator("iframe")
    expect(report.locator("h1")).to_have_text("smoke", timeout=PATIENCE)
    expect(report.get_by_text("2 trials measured, 0 rehearsed").first).to_be_visible()
    expect(report.locator("svg.main-svg").first).to_be_attached(timeout=PATIENCE)


def test_a_trial_has_its_numbers_and_what_its_host_did(page, server, swept):
    run = f"{experiment_of(server, swept)}/runs/{swept[2][0]}"
    page.goto(run)
    expect(page.get_by_text("steady_samples_per_second").first).to_be_visible(timeout=PATIENCE)
    page.goto(f"{run}/system-metrics")
    expect(page.get_by_text("system_memory_usage_megabytes").first).to_be_attached(timeout=PATIENCE)


def test_a_comparison_has_the_axis_of_the_grid_beside_the_rate(page, server, swept):
    runs, experiments = (quote(json.dumps(value)) for value in (swept[2], [swept[1].experiment_id]))
    page.goto(f"{server}/compare-runs?runs={runs}&experiments={experiments}")
    expect(page.get_by_text("Comparing 2 Runs from 1 Experiment")).to_be_visible(timeout=PATIENCE)
    plot = page.locator("g.parcoords, .parcoords").first
    expect(plot).to_contain_text("global_batch_size", timeout=PATIENCE)
    expect(plot).to_contain_text("steady_samples_per_second")
