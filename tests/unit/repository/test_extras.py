"""Extras that the documentation installs together: none of them writes the files of another."""

import re

import pytest
from repository import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "deploy" / "README.md"]
SAME_FILES = (
    {"torch", "tensorflow-gpu"},  # nvidia/cudnn/lib and nvidia/nccl/lib, for CUDA 13 and for CUDA 12
    {"tensorflow", "tensorflow-gpu"},  # the package tensorflow
    {"tensorflow", "tensorflow-tpu"},
    {"tensorflow-gpu", "tensorflow-tpu"},
    {"torch", "xla"},  # two versions of torch
)
JOINS = {
    (page.relative_to(ROOT), words)
    for page in PAGES
    for words in re.findall(r"\.\[([\w,-]+)\]", page.read_text())
}


def test_some_page_installs_an_extra():
    assert JOINS


@pytest.mark.parametrize(("page", "words"), sorted(JOINS, key=str))
def test_extras_that_are_installed_together_have_files_of_their_own(page, words):
    assert not [pair for pair in SAME_FILES if pair <= set(words.split(","))]
