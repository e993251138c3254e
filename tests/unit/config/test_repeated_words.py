"""Words that the commands of an answer repeat."""

import pytest
from repository import ROOT

from orchestrator.config.loader import load
from orchestrator.config.overrides import repeated_words
from orchestrator.config.places import place_words
from orchestrator.pipeline.components import find_repeated_words

WHERE = (
    "executor=inline",
    "executor.run_seconds=60",
    "tracking=none",
    "pools=gcp",
    "pools.project=mine",
    "cluster.address=auto",
    "outputs=elsewhere",
    "+data_folder=photographs",
    "trainer.python=/opt/python",
    "trainer.start_method=spawn",
    "workload_path=jobs",
    "hydra.searchpath=[mine]",
    "hydra.job.config_name=other",
    "prices.provisioning=spot",
    "budget.usd=5",
    "report.goal=cheapest",
)
WHAT = (
    "+sweep=smoke",
    "trainer=torch_ddp",
    "trainer.compile=on",
    "precision=fp32,bf16",
    "sweep.repeats=5",
    "sweep.include=[]",
    "search=adaptive",
    "report.images=true",
    "report.source=mlflow",
    "compile=off",
)


def test_where_trials_run_and_what_is_asked_is_repeated_and_what_is_measured_is_not():
    assert repeated_words([*WHAT, *WHERE]) == WHERE
    assert repeated_words(WHAT) == ()


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        ("mine", "hydra.searchpath=[mine]"),
        ("my own", "hydra.searchpath=[my own]"),
        ("a,b", "hydra.searchpath=['a,b']"),
        ("it's", 'hydra.searchpath=["it\'s"]'),
    ],
)
def test_a_folder_is_quoted_where_it_must_be(folder, word):
    assert place_words(folders=[folder], names=[]) == (word,)


def test_workloads_of_the_environment_are_repeated_and_passwords_are_not(tmp_path, monkeypatch):
    examples = ROOT / "docs/examples"
    monkeypatch.setenv("ORCHESTRATOR_WORKLOAD_PATH", f"{examples}:{examples}/jobs")
    words = ["+sweep=smoke", "tracking.uri=http://me:secret@host:5000", "executor=inline"]
    assert find_repeated_words(load(words, working_directory=tmp_path)) == (
        "tracking.uri=http://host:5000",
        "executor=inline",
        f"workload_path={examples},{examples}/jobs",
    )
