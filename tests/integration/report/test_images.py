"""Figures as PNG files, drawn by a real browser; where there is none, that is told before anything is run."""

import logging
import os

import pytest
from browser_pages import CHROMIUM
from cli_process import NOOP, ask
from PIL import Image
from report_builders import hostile, tpu_vs_gpu
from repository import ROOT

from orchestrator.core.objective import FASTEST
from orchestrator.pipeline.report import write_report

pytest.importorskip("kaleido", reason="no kaleido here to draw images with")
drawn_here = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to draw images with")
LACKING = """
import importlib.machinery, sys
class Hide(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "kaleido" else super().find_spec(name, path, target)
sys.meta_path[:] = [Hide if each is importlib.machinery.PathFinder else each for each in sys.meta_path]
"""


@drawn_here
@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_every_figure_is_an_image_of_its_size_and_not_blank(case, tmp_path):
    files = write_report(tmp_path, *case(), FASTEST, images=True).files
    images = [file for file in files if file.suffix == ".png"]
    assert len(images) == 6
    for path in images:
        assert path.parent == tmp_path / "figures"
        with Image.open(path) as image:
            assert image.width == 1800
            assert 400 < image.height < 2000
            colours = image.convert("RGB").quantize(16).getcolors()
            assert max(count for count, _ in colours) < 0.99 * image.width * image.height


@drawn_here
def test_a_report_without_images_leaves_none_of_an_earlier_one(tmp_path):
    assert any(
        file.suffix == ".png" for file in write_report(tmp_path, *tpu_vs_gpu(), FASTEST, images=True).files
    )
    assert not any(file.suffix == ".png" for file in write_report(tmp_path, *tpu_vs_gpu(), FASTEST).files)
    assert list((tmp_path / "figures").iterdir()) == []


def test_a_browser_that_does_not_start_costs_the_images_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("BROWSER_PATH", "/bin/false")
    with caplog.at_level(logging.WARNING):
        outcome = write_report(tmp_path, *tpu_vs_gpu(), FASTEST, images=True)
    assert outcome.report.exists()
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("orchestrator")]
    assert line.startswith("figures were not drawn as images: The browser seemed to close")


def test_without_a_browser_nothing_is_run(tmp_path):
    answer = ask(*NOOP, "report.images=true", cwd=tmp_path, variables={"BROWSER_PATH": "/nowhere/chrome"})
    assert (answer.code, answer.err.strip()) == (
        2,
        "error: report.images=true needs Chrome or Chromium, and BROWSER_PATH='/nowhere/chrome' is not a "
        "file; install one, name it in BROWSER_PATH, or set report.images=false",
    )
    assert not list(tmp_path.glob("outputs/*/*"))


def test_without_kaleido_nothing_is_run(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LACKING)
    variables = {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    answer = ask(*NOOP, "report.images=true", cwd=tmp_path, variables=variables)
    assert (answer.code, answer.err.strip()) == (
        2,
        "error: report.images=true needs the package 'kaleido'; pip install '.[images]', or say "
        "report.images=false",
    )
    assert not list(tmp_path.glob("outputs/*/*"))
