"""Secrets that a user has, planted, and looked for in all that a sweep writes, says and starts."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from cli_process import NOOP, start
from process_tracking import command_of, family
from web_server import serving

pytest.importorskip("mlflow", reason="MLflow is not installed")
pytest.importorskip("ray", reason="Ray is not installed")

IN_URI = "planted-in-the-uri-7f3a"
VARIABLES = {
    "MLFLOW_TRACKING_PASSWORD": "planted-as-a-password-8c1d",
    "MLFLOW_TRACKING_TOKEN": "planted-as-a-token-5e9b",
    "AWS_SECRET_ACCESS_KEY": "planted-for-a-bucket-2d6f",
}
PLANTED = (IN_URI, *VARIABLES.values())


@pytest.mark.more
def test_no_secret_is_written_or_printed_or_on_the_command_line_of_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    with (
        family(monkeypatch) as started,
        serving() as site,
    ):  # which knows no MLflow, so that its errors are told
        uri = site.url.replace("//", f"//me:{IN_URI}@")
        driver = start(
            *NOOP,
            "executor=ray",
            "tracking=mlflow",
            f"tracking.uri={uri}",
            f"checkpoint.path={tmp_path}",
            cwd=tmp_path,
        )
        typed, children = command_of(driver.pid), set[str]()
        while driver.poll() is None:
            children |= {command_of(pid) for pid in started.pids() - {driver.pid}}
            with contextlib.suppress(subprocess.TimeoutExpired):
                driver.wait(timeout=0.1)
        assert driver.stdout is not None
        said = driver.stdout.read()
        driver.stdout.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert driver.returncode == 0
    assert "MLflow at http://127.0.0.1:" in said
    assert {"records.jsonl", "report.html"} <= {file.name for file in files}
    assert any("raylet" in child for child in children)
    written = {
        "the output": said,
        **{f"the command line {child!r}": child for child in children if child not in typed},
        **{str(file): file.read_bytes().decode(errors="replace") for file in files},
    }
    assert not [(secret, place) for secret in PLANTED for place, text in written.items() if secret in text]
