"""Figures as SVG and PNG files, drawn without a browser."""

import re

import pytest
from PIL import Image
from report_builders import hostile, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.figures import build_figures
from orchestrator.core.objective import FASTEST
from orchestrator.pipeline.report import write_report


@pytest.mark.parametrize("case", [tpu_vs_gpu, hostile])
def test_every_figure_is_an_image_and_not_blank(case, tmp_path):
    files = write_report(tmp_path, *case(), FASTEST, images=True).files
    names = {
        f"{name}{suffix}" for name in build_figures(collect_findings(*case())) for suffix in (".png", ".svg")
    }
    images = {file.name: file for file in files if file.parent == tmp_path / "figures"}
    assert set(images) == names
    for path in images.values():
        if path.suffix == ".svg":
            assert not re.search(r"var\(|<script|href", path.read_text())
            continue
        with Image.open(path) as image:
            assert 600 < image.width < 2600
            colours = image.convert("RGB").quantize(16).getcolors()
            assert max(count for count, _ in colours) < 0.995 * image.width * image.height


@pytest.mark.more
def test_a_report_without_images_leaves_none_of_an_earlier_one(tmp_path):
    assert list((tmp_path / "figures").glob("*")) == []
    write_report(tmp_path, *tpu_vs_gpu(), FASTEST, images=True)
    assert list((tmp_path / "figures").glob("*.png"))
    files = write_report(tmp_path, *tpu_vs_gpu(), FASTEST).files
    assert not any(file.suffix == ".png" for file in files)
    assert list((tmp_path / "figures").iterdir()) == []
