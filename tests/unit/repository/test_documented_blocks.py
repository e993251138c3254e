"""Blocks of code in the documentation: their language, and who runs them."""

import re
import subprocess
import tomllib

import pytest
import yaml
from documented import Block, blocks
from repository import ROOT

BLOCKS = tuple(blocks())
BASH = [block for block in BLOCKS if block.language == "bash"]
EXAMPLES = [*(ROOT / "docs/examples").rglob("*.py"), ROOT / "docs/notebook.ipynb"]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TESTED = "python -m orchestrator "  # by tests/cli/test_documented_commands.py


def test_every_block_names_its_language():
    assert {block.language for block in BLOCKS} == {"bash", "python", "text", "toml", "yaml"}


@pytest.mark.parametrize("block", BASH, ids=lambda block: f"{block.page}: {block.text[:50]}")
def test_a_block_of_commands_is_run_by_a_test_or_shows_what_it_needs(block: Block) -> None:
    assert block.needs or all(line.startswith(TESTED) for line in block.lines)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=repr)
def test_python_is_that_of_an_example_which_tests_run(block: Block) -> None:
    compile(block.text, block.page, "exec")
    assert any(block.text.strip() in example.read_text() for example in EXAMPLES)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "yaml"], ids=repr)
def test_yaml_is_a_mapping(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), dict)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "toml"], ids=repr)
def test_toml_is_toml(block: Block) -> None:
    assert tomllib.loads(block.text)


def test_targets_of_make_and_extras_exist():
    text = "\n".join(line for block in BASH for line in block.lines)
    goals = {goal for words in re.findall(r"^make ([\w -]+)", text, re.MULTILINE) for goal in words.split()}
    asked = ["make", "--dry-run", *sorted(goals)]
    assert goals
    assert subprocess.run(asked, cwd=ROOT, capture_output=True).returncode == 0
    extras = {
        name for names in re.findall(r"pip install .*\.\[([\w,-]+)\]", text) for name in names.split(",")
    }
    assert extras
    assert extras <= EXTRAS.keys()


def test_blocks_of_the_readme_need_no_scrolling():
    widths = [len(line) for block in BLOCKS if block.page == "README.md" for line in block.text.splitlines()]
    assert max(widths) <= 100


def test_the_readme_begins_with_the_two_commands_of_the_main_job_and_the_tests():
    lines = (ROOT / "README.md").read_text().splitlines()
    first, second, third, *_ = [block for block in BASH if block.page == "README.md"]
    assert len(lines) <= 90
    assert first.lines == ("make sweep", "make test")
    assert second.lines == ("make smoke",)
    assert len(third.text.splitlines()) == 5
    assert lines.index("make smoke") < 40
