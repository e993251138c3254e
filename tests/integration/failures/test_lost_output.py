"""Output without a reader or without space: a command does its work to the end, without a traceback."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_process import NOOP, Answer, ask, command, environment, records_in, start, wait_for_stage

ON_RAY = tuple(word for word in NOOP if word != "executor=inline")
REPEATS = "sweep.repeats=3"


def told_after_its_first_line(words: Sequence[str], *, cwd: Path, with_errors: bool = False) -> Answer:
    """Run `COMMAND | head -1`, or `COMMAND 2>&1 | head -1`."""
    with subprocess.Popen(
        command(*words),
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if with_errors else subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.stdout.close()
        try:
            code = process.wait(120)
        finally:
            process.kill()
        return Answer(code=code, out=first, err=process.stderr.read() if process.stderr else "")


def redirected(how: str, words: Sequence[str], *, cwd: Path) -> Answer:
    """A command behind the redirections of a shell."""
    script = ["sh", "-c", f'exec "$@" {how}', "sh", *command(*words)]
    done = subprocess.run(
        script,
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


def num_results(folder: Path) -> int:
    return sum(record["result"] is not None for record in records_in(folder))


@pytest.mark.slow_cases("ray")
@pytest.mark.parametrize("words", [NOOP, ON_RAY], ids=["inline", "ray"])
@pytest.mark.more
def test_a_run_that_loses_its_reader_keeps_every_record_and_reports(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    told = told_after_its_first_line([*words, REPEATS], cwd=tmp_path)
    assert (told.code, told.err) == (0, "")
    assert told.out == "records: outputs/smoke/records.jsonl\n"
    assert num_results(tmp_path) == 3
    assert "3 trials measured" in (tmp_path / "outputs/smoke/report.md").read_text()


@pytest.mark.more
def test_a_run_that_loses_the_reader_of_its_errors_too_keeps_its_exit_code(tmp_path: Path) -> None:
    words = [*NOOP, "trainer.fault=none,raise"]
    assert told_after_its_first_line(words, cwd=tmp_path, with_errors=True).code == 1
    assert num_results(tmp_path) == 1


@pytest.mark.more_except("words0")
@pytest.mark.parametrize(
    "words", [("--help",), ("--version",), ("plan", *NOOP), ("plan", "--json", *NOOP), ("--cfg", "job")]
)
def test_an_answer_that_is_not_read_to_its_end_is_no_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    told = told_after_its_first_line(words, cwd=tmp_path)
    assert told.code == 0
    assert all(line.startswith("data: ") for line in told.err.splitlines())
    assert told.out


@pytest.mark.more
@pytest.mark.parametrize("how", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_written_to_nowhere_and_least_of_all_to_the_records(
    tmp_path: Path, how: str
) -> None:
    told = redirected(how, [*NOOP, REPEATS], cwd=tmp_path)
    assert (told.code, told.out, told.err) == (0, "", "")
    assert num_results(tmp_path) == 3
    for line in (tmp_path / "outputs/smoke/journal.jsonl").read_text().splitlines():
        json.loads(line)


@pytest.mark.more_except("plan")
@pytest.mark.parametrize(
    "words", [(*NOOP, REPEATS), ("plan", *NOOP), ("--help",)], ids=lambda words: words[0]
)
def test_words_that_a_full_disk_cannot_take_are_one_line_and_exit_code_one(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    told = redirected("> /dev/full", words, cwd=tmp_path)
    assert told.code == 1
    assert told.err == (
        "error: standard output cannot be written: No space left on device; all else was done, so say where "
        "there is room, and the same command tells it again\n"
    )
    assert num_results(tmp_path) == (3 if words[0] != "plan" and words[0] != "--help" else 0)


def test_a_refusal_that_cannot_be_printed_keeps_its_exit_code(tmp_path: Path) -> None:
    assert redirected("2> /dev/full", ["plan", "+sweep=smok"], cwd=tmp_path).code == 2


@pytest.mark.more
def test_outputs_that_are_removed_while_a_sweep_runs_are_made_again_with_what_is_known(
    tmp_path: Path,
) -> None:
    with start(*NOOP, "seed=range(4)", cwd=tmp_path) as driver:
        wait_for_stage(tmp_path, "finished", trials=1)
        (tmp_path / "outputs").rename(tmp_path / "removed")  # at once: the driver writes into it
        shutil.rmtree(tmp_path / "removed", ignore_errors=True)
        output = driver.communicate(timeout=120)[0]
    assert driver.returncode == 0, output
    assert num_results(tmp_path) == 4
    assert "was removed while its sweep ran" in output
    assert "4 trials measured" in (tmp_path / "outputs/smoke/report.md").read_text()
    again = ask(*NOOP, "seed=range(4)", cwd=tmp_path)
    assert (again.code, num_results(tmp_path)) == (0, 4)
    assert "4 cached" in again.out
