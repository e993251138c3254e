"""Pictures of the documentation, from one real sweep on this machine: `make docs-pictures`.

Words after the program are added to the sweep's: `sweep.repeats=1` for a quick look.

Writes into docs/assets/ the recording of the terminal, the sample report, and screenshots of the report and
of MLflow. Needs a Chromium.
"""

import contextlib
import fcntl
import io
import os
import pty
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from docsite.recording import Output, draw_svg, frames_of
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from orchestrator.extensions.mlflow_tracking.page import page_lines

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs" / "assets"
PATH = f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}"
"""Folders of programs, as where the environment is activated: commands are shown by their names."""

WORDS = (
    "+sweep=tpu_vs_gpu",
    "device=cpu,t4,l4",
    "trainer=torch_ddp,tensorflow",
    "precision=fp32,bf16",
    "sweep.repeats=5",
    "cluster.missing_device=skip",
)
COLUMNS, LINES, FRAMES = 100, 34, 14
MOST_BYTES = 300_000


def main(further: Sequence[str]) -> None:
    """Run the sweep in a folder of its own, and write the pictures of it."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("docs_pictures: no Chromium is here")
    ASSETS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        words = (*WORDS, *further)
        outputs = recorded(words, folder)
        frames = frames_of(outputs, columns=COLUMNS, lines=LINES, count=FRAMES)
        title = f"python -m orchestrator {' '.join(words)}"
        (ASSETS / "terminal.svg").write_text(draw_svg(frames, columns=COLUMNS, lines=LINES, title=title))
        report = folder / "outputs" / "tpu_vs_gpu" / "report.html"
        shutil.copy(report, ASSETS / "sample_report.html")
        with sync_playwright() as playwright, mlflow_server(folder) as address:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
            page.goto(report.as_uri())
            save(page, ASSETS / "report.png")
            show_runs(page, address, experiment_id=experiment_of(folder))
            save(page, ASSETS / "mlflow.png")
            browser.close()
    for picture in sorted(ASSETS.iterdir()):
        size = picture.stat().st_size
        print(f"{picture.relative_to(ROOT)}  {size:,} bytes")
        if size > MOST_BYTES:
            sys.exit(f"docs_pictures: {picture.name} has more than {MOST_BYTES:,} bytes")


def show_runs(page: Page, address: str, *, experiment_id: str) -> None:
    """Open the table of measured trials in MLflow, at the address that a command prints."""
    table, *_ = page_lines(address, experiment_id=experiment_id)
    page.set_default_timeout(120_000)  # MLflow's pages take half a minute on a busy host
    page.goto(table.removeprefix("MLflow: "))
    page.get_by_label("Close").click()  # of its assistant
    page.locator(".ag-row").nth(1).wait_for()
    page.wait_for_timeout(2000)


def recorded(words: tuple[str, ...], folder: Path) -> list[Output]:
    """Run a command in a terminal of its own; return what it wrote, with the times."""
    shown = f"$ python -m orchestrator {shlex.join(words)}\r\n"
    outputs = [Output(seconds=0, data=shown.encode())]
    start = time.monotonic()
    terminal, inner = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    variables = {**os.environ, "PYTHONPATH": paths, "PATH": PATH, "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "orchestrator", *words]
    child = subprocess.Popen(
        command, cwd=folder, env=variables, start_new_session=True, stdin=inner, stdout=inner, stderr=inner
    )
    os.close(inner)
    try:
        with contextlib.suppress(OSError):  # Linux tells the end of a terminal by an error
            while data := os.read(terminal, 65536):
                outputs.append(Output(seconds=time.monotonic() - start, data=data))
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise
    if code := child.wait():
        sys.exit(f"docs_pictures: the sweep ended with {code}")
    return outputs


def experiment_of(folder: Path) -> str:
    """Return the id of the experiment that the sweep wrote."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = [found for found in client.search_experiments() if found.name != "Default"]
    return str(experiment.experiment_id)


@contextlib.contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """Serve the sweep's MLflow on this host alone; yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "ui",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    variables = {**os.environ, "PATH": PATH, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def wait_for(address: str) -> None:
    """Wait until a server answers, for two minutes at most."""
    until = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310  # our own server
        except (urllib.error.URLError, TimeoutError):
            if time.monotonic() > until:
                sys.exit(f"docs_pictures: no answer from {address}")
            time.sleep(0.5)
        else:
            return


def save(page: Page, file: Path) -> None:
    """Write what the browser shows, in at most 128 colours."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
