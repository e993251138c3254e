"""Files of a report that cannot be written: one line for each; the others are there, no record is lost."""

import os
import resource
import subprocess
from pathlib import Path

import pytest
from cli_process import NOOP, Answer, ask, command, environment, records_in

from orchestrator.config.loader import load
from orchestrator.pipeline.components import list_command_words

FOLDER = Path("outputs/smoke")
NAMES = ("report.html", "report.md", "results.csv", "results.parquet", "comparisons.csv", "plan.json")


_MOST_BYTES = 50_000  # of one file: the page of a small sweep has 56 kB, results.parquet 45 kB


def list_lines(told: Answer) -> list[str]:
    return told.err.splitlines()


def unwritten(path: Path, why: str) -> str:
    return (
        f"error: {str(path)!r} cannot be written: {why}; the records are kept; run `report` when the "
        "cause is fixed"
    )


def limited_in(folder: Path, *words: str) -> Answer:
    """A command none of whose files may have more than `_MOST_BYTES`."""
    done = subprocess.run(
        command(*words),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, _MOST_BYTES)),
    )
    return Answer(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep that has run."""
    folder = tmp_path_factory.mktemp("measured")
    assert ask(*NOOP, cwd=folder).code == 0
    return folder


@pytest.mark.slow_cases("results.csv", "results.parquet", "plan.json")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.more
def test_a_folder_in_the_place_of_a_file_costs_this_file_alone(measured: Path, name: str) -> None:
    place = measured / FOLDER / name
    place.unlink()
    (place / "mine").mkdir(parents=True)
    others = [measured / FOLDER / item for item in NAMES if item != name]
    for other in others:
        other.unlink()
    told = ask("report", *NOOP, cwd=measured)
    (place / "mine").rmdir()
    place.rmdir()
    place.touch()
    assert told.code == 1
    assert list_lines(told) == [unwritten(place, "Is a directory")]
    assert all(other.stat().st_size for other in others)
    assert "1 trial measured" in told.out
    assert ("report: outputs/smoke/report.html" in told.out) is (name != "report.html")
    assert list((measured / FOLDER).glob(".*")) == []


@pytest.mark.more
def test_a_page_that_is_too_large_for_the_disk_costs_no_other_file_and_the_former_page_stays(
    measured: Path,
) -> None:
    page, markdown = measured / FOLDER / "report.html", measured / FOLDER / "report.md"
    page.write_text("the former page")
    markdown.unlink()
    told = limited_in(measured, "report", *NOOP)
    assert told.code == 1
    assert list_lines(told) == [unwritten(page, "File too large")]
    assert "1 trial measured" in told.out
    assert [record["result"] is not None for record in records_in(measured)] == [True]
    assert page.read_text() == "the former page"
    assert "1 trial measured" in markdown.read_text()
    again = ask("report", *NOOP, cwd=measured)
    assert (again.code, again.err) == (0, "")
    assert page.stat().st_size > _MOST_BYTES


@pytest.mark.more
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(measured: Path) -> None:
    page = measured / FOLDER / "report.html"
    page.unlink()
    os.mkfifo(page)
    told = ask("report", *NOOP, cwd=measured, seconds=60)
    assert (told.code, told.err) == (0, "")
    assert page.is_file()


@pytest.mark.more
def test_a_file_in_the_place_of_the_folder_is_one_line_beside_the_tables(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    (tmp_path / FOLDER).touch()
    told = ask("report", *NOOP, cwd=tmp_path)
    assert told.code == 1
    assert list_lines(told) == [unwritten(tmp_path / FOLDER, "File exists")]
    assert "1 not run yet" in told.out


@pytest.mark.more
def test_an_image_that_cannot_be_removed_costs_no_other_file(measured: Path) -> None:
    image = measured / FOLDER / "figures/time.png"
    image.mkdir(parents=True)
    told = ask("report", *NOOP, cwd=measured)
    image.rmdir()
    assert told.code == 1
    assert list_lines(told) == [unwritten(image.parent, "Is a directory")]
    assert "report: outputs/smoke/report.html" in told.out


def test_the_words_of_a_command_have_no_secret_and_no_source_of_a_report(tmp_path: Path) -> None:
    words = ["+sweep=smoke", "tracking.uri=http://key:planted@host:5000", "report.source=mlflow"]
    settings = load(words, working_directory=tmp_path)
    assert list_command_words(settings) == ("+sweep=smoke", "tracking.uri=http://host:5000")
