"""`predict calibrate`: a benchmark of this host's CPU, what is kept of it, and what is refused."""

import json

import pytest
from cli_process import ask

pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    return folder, ask("predict", "calibrate", "device=cpu", "--json", cwd=folder)


@pytest.mark.more
def test_the_cpu_is_measured_and_kept(measured):
    folder, answer = measured
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert told == json.loads((folder / "outputs" / "calibrations.jsonl").read_text())
    benchmark = told["benchmark"]
    assert told["device"] == "cpu"
    assert set(benchmark["flops_per_second"]) == set(benchmark["layer_seconds"]) == {"fp32", "bf16"}
    assert 1e9 < benchmark["flops_per_second"]["fp32"] < 1e14  # a core does at least a GFLOP/s
    assert 1e8 < benchmark["memory_bytes_per_second"] < 1e13
    assert 1e-7 < benchmark["layer_seconds"]["fp32"] < 0.1
    assert benchmark["exchange_bytes_per_second"] is None
    assert "torch" in told["versions"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("device=h100",), "predict calibrate: no h100 is here; here: "),
        (("device=cpu,t4",), "predict calibrate measures one device, not cpu, t4; name one: device=…"),
        (("device=cpu", "trainer.python=/nowhere/python"), "predict calibrate: no Python at /nowhere/python"),
        (("speed=1",), "unknown key 'speed'"),
    ],
)
def test_a_wrong_request_is_shown_in_one_line(tmp_path, words, error):
    answer = ask("predict", "calibrate", *words, cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {error}")
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "outputs").exists()
