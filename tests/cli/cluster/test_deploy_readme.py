"""The commands of `deploy/README.md` are understood, as far as they are ours."""

import re

import pytest
from repository import ROOT

from orchestrator.config.loader import load
from orchestrator.extensions.cluster_files.commands import render

TEXT = (ROOT / "deploy" / "README.md").read_text().replace("\\\n", " ").replace("$PROJECT", "my-project")
COMMANDS = [
    word.partition("#")[0].split(" > ")[0].split()
    for word in re.findall(r"^.*python -m orchestrator (.*)$", TEXT, re.MULTILINE)
]
SWEEPS = [command for command in COMMANDS if command[0].startswith("+sweep=")]
CLUSTERS = [command for command in COMMANDS if command[0] == "cluster" and "--check" not in command]


@pytest.mark.parametrize("words", SWEEPS, ids=" ".join)
def test_a_sweep_is_one(words):
    assert load(words, working_directory=ROOT).sweep.points


@pytest.mark.parametrize("words", CLUSTERS, ids=" ".join)
def test_a_cluster_is_one(words):
    assert render(words[1:], working_directory=ROOT).findings == ()


def test_the_words_that_bring_records_back_are_those_that_made_them():
    (words,) = re.findall(r'^export WORDS="(.*)"$', TEXT, re.MULTILINE)
    assert SWEEPS[0][: len(words.split())] == words.split()


def test_there_are_commands_of_each_kind():
    assert (len(SWEEPS), len(CLUSTERS)) == (2, 2)
