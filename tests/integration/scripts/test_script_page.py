"""The scripts of docs/how_to/scripts.md; modules, interpreters and runs without the callback."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import ask, environment
from repository import ROOT
from script_runs import PATIENT, PLAIN, SHORT, records_in, run

PAGE = (ROOT / "docs/how_to/scripts.md").read_text()
SCRIPTS = ROOT / "docs/examples/scripts"

COMMANDS = [
    shlex.split(line)[3:]
    for line in PAGE.replace("\\\n", " ").splitlines()
    if line.startswith("python -m orchestrator")
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands have been typed."""
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(SCRIPTS, folder / "docs/examples/scripts")
    for words in COMMANDS:
        told = ask(*words, "steps=100", "executor=inline", "tracking=none", cwd=folder)
        assert (told.code, told.err) == (0, ""), told.out
    return folder


def test_the_page_shows_every_script_as_it_is() -> None:
    shown = dict(re.findall(r"^`([\w/.]+)`\n\n```\w+\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert shown == {file.name: file.read_text() for file in SCRIPTS.glob("*.py")}


@pytest.mark.more
def test_the_scripts_of_the_page_are_measured(page: Path) -> None:
    records = records_in(page)
    found = {(record["spec"]["precision"], record["spec"]["num_workers"]) for record in records}
    assert found == {("fp32", 1), ("fp32", 2), ("bf16", 1), ("bf16", 2)}
    for record in records:
        result, spec = record["result"], record["spec"]
        assert {device["precision"] for device in result["devices"]} == {spec["precision"]}
        assert (result["steps"], result["samples"]) == (100, 100 * spec["global_batch_size"])
        assert len(result["block_seconds"]) == spec["num_workers"]
        assert all(seconds > 0 for seconds in result["cpu_seconds"])
        assert [sum(blocks) for blocks in result["block_cpu_seconds"]] == pytest.approx(result["cpu_seconds"])
        assert list(map(len, result["core_wait_seconds"])) == list(map(len, result["block_seconds"]))
        assert any("weights, quality" in text for text in result["unchecked"])


@pytest.mark.more
def test_the_whole_training_is_its_steps_times_the_batch(page: Path) -> None:
    told = ask("report", *COMMANDS[0], "steps=100", "executor=inline", "tracking=none", cwd=page)
    assert told.code == 0, told.err
    [stored] = page.glob("outputs/single-train-mnist-*/plan.json")
    plan = json.loads(stored.read_text())
    [training] = plan["trainings"].values()
    assert (training["samples"], training["epochs"], training["train_samples"]) == (868 * 64, None, None)


@pytest.mark.more
def test_typed_again_it_is_cached_until_the_script_changes(page: Path) -> None:
    words = ("plan", *COMMANDS[1], "steps=100", "executor=inline", "tracking=none")
    assert "0 to measure" in ask(*words, cwd=page).out
    script = page / "docs/examples/scripts/fit_keras.py"
    code = script.read_text()
    script.write_text(code.replace("64", "32"))
    assert "1 to measure" in ask(*words, cwd=page).out
    script.write_text(code)


@pytest.mark.more
@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_script_without_the_callback_is_measured_as_a_whole(num_workers: int, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nwhile time.process_time() < 0.3: pass\ntime.sleep(1.5)")
    words = ("python train.py", f"num_workers={num_workers}")
    told = run(tmp_path, *words)
    assert (told.code, told.err) == (0, ""), told.out
    assert re.search(r"a run of \d", told.out)
    [record] = records_in(tmp_path)
    result = record["result"]
    assert len(result["run_seconds"]) == num_workers
    assert all(seconds > 1.8 for seconds in result["run_seconds"])
    assert all(0.3 < seconds < 1.5 for seconds in result["cpu_seconds"])
    assert (result["steps"], result["samples"], result["block_seconds"][0]) == (0, 0, [])
    assert result["devices"][0]["precision"] == "not seen"
    assert "reported no step" in result["unchecked"][0]
    assert "1 trial measured" in told.out
    [report] = tmp_path.glob("outputs/single-train-*/report.html")
    page = report.read_text()
    assert "<h2>Runs" in page or ">Runs<" in page
    assert ">Measured<" not in page
    assert "0 to measure" in ask("plan", *SHORT, f"script.command={words[0]}", words[1], cwd=tmp_path).out


SLOW_LOADER = """
import time
import torch
from orchestrator_callback import report, steps

class Slow(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            time.sleep(0.001)
            yield torch.ones(4)

weights = torch.ones(4, requires_grad=True)
for index, batch in enumerate(steps(torch.utils.data.DataLoader(Slow(), 8))):
    (batch @ weights).sum().backward()
    report(loss=1 / (index + 1))
"""


@pytest.mark.more
def test_the_measured_loader_of_a_script_is_the_limit_of_every_device(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLOW_LOADER)
    told = run(tmp_path, "python train.py", "global_batch_size=8", *PATIENT)
    assert told.code == 0, told.out + told.err
    [record] = records_in(tmp_path)
    rate = record["result"]["pipeline_samples_per_second"]
    trained = record["result"]["samples"] / record["result"]["training_seconds"]
    assert rate == pytest.approx(trained, rel=0.3), "it does nothing else than to load"
    assert rate < 1000
    assert not any("the rate of its loader" in text for text in record["result"]["unchecked"])
    job = ("workload=script", "script.command=python train.py", "device=t4", "global_batch_size=8")
    explained = ask("predict", "explain", *job, cwd=tmp_path)
    assert re.search(r"every device is (maybe )?limited by your loader above [\d.]+ ", explained.out), (
        explained
    )


@pytest.mark.more
def test_a_module_of_the_script_may_report_its_steps(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import loop")
    (tmp_path / "loop.py").write_text(
        f"{PLAIN}for i in steps(range(900), samples=64): report(loss=1 / (i + 1))"
    )
    assert run(tmp_path, "python train.py").code == 0
    [record] = records_in(tmp_path)
    assert (record["result"]["steps"], record["result"]["run_seconds"]) == (100, [])
    assert sum("the rate of its loader" in text for text in record["result"]["unchecked"]) == 1


@pytest.mark.more
def test_a_script_may_train_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}for i in steps(range(500), samples=64): pass\nopen('finished', 'w').write(str(i))"
    )
    assert run(tmp_path, "python train.py", "script.train_to_end=true").code == 0
    assert (tmp_path / "finished").read_text() == "499"


def test_a_context_ends_the_script_and_a_loop_goes_on_behind_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}for i in steps(range(900), samples=64): pass\nopen('behind', 'w').write(str(i))"
    )
    assert run(tmp_path, "python train.py").code == 0
    assert (tmp_path / "behind").read_text() == "99"


@pytest.mark.more
def test_a_failure_behind_the_measured_steps_is_in_the_record(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}for epoch in range(2):\n"
        "    count = 0\n"
        "    for i in steps(range(100), samples=64): count += 1\n"
        "    print(64 / count)"
    )
    assert run(tmp_path, "python train.py").code == 0
    [record] = records_in(tmp_path)
    failed = "the script ended with exit code 1: ZeroDivisionError: division by zero"
    assert f"what follows the measured steps, where {failed}" in record["result"]["unchecked"]


@pytest.mark.more
def test_a_rehearsed_script_gets_the_name_of_the_device_and_the_cpu_of_pytorch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        f"{PLAIN}import sys\nopen('words', 'w').write(' '.join(sys.argv[1:]))\n"
        "for i in steps(range(900), samples=64): pass"
    )
    assert run(tmp_path, "python train.py {device} {torch_device}", "device=t4").code == 0
    assert (tmp_path / "words").read_text() == "t4 cpu"


@pytest.mark.more
def test_a_module_of_the_folder_is_a_command(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    module = tmp_path / "tools/train.py"
    module.write_text(f"{PLAIN}for i in steps(range(900), samples=64): pass")
    assert run(tmp_path, "python -m tools.train").code == 0
    words = ("plan", *SHORT, "script.command=python -m tools.train")
    assert "0 to measure" in ask(*words, cwd=tmp_path).out
    module.write_text(f"{PLAIN}for i in steps(range(901), samples=64): pass")
    assert "1 to measure" in ask(*words, cwd=tmp_path).out


@pytest.mark.more
def test_another_interpreter_is_what_python_means(tmp_path: Path) -> None:
    interpreter = tmp_path / "bin/python"
    interpreter.parent.mkdir()
    interpreter.write_text(f'#!/bin/sh\ntouch seen\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    (tmp_path / "train.py").write_text(f"{PLAIN}for i in steps(range(900), samples=64): pass")
    assert run(tmp_path, "python train.py", f"script.python={interpreter}").code == 0
    assert (tmp_path / "seen").exists()


def test_outside_a_trial_the_callback_times_and_prints(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{PLAIN}for i in steps(range(60), samples=8): pass\nprint('end', i)")
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(ROOT / "orchestrator/extensions/scripts/callback")),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "end 59\n")
    pattern = r"orchestrator_callback: [\d.e-]+ ms a step, median of 5 blocks of 10, [\d,]+ samples/s\n"
    assert re.fullmatch(pattern, done.stderr)


@pytest.mark.more
def test_the_callback_has_a_wheel_of_its_own_without_dependencies(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*pip, str(ROOT / "orchestrator/extensions/scripts/callback")], check=True, timeout=120)
    code = (
        "import sys, orchestrator_callback; print(sorted(sys.modules.keys() & {'torch', 'numpy', 'keras'}))"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"


@pytest.mark.more
def test_python_is_the_interpreter_of_the_orchestrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "train.py").write_text("import sys\nopen('seen', 'w').write(sys.executable)")
    assert run(tmp_path, "python train.py").code == 0
    assert (tmp_path / "seen").read_text() == sys.executable
