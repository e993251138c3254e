"""Words about a script are options of its workload, and choose its trainer."""

import pytest

from orchestrator.config.script_overrides import with_script_overrides


def test_words_become_options_of_the_workload_in_hydras_quotes() -> None:
    words = ["workload=script", "script.command=python t.py {precision} 'a'", "script.steps_total=5"]
    assert with_script_overrides(words) == [
        "workload=script",
        r"workload.command='python t.py {precision} \'a\''",
        "workload.steps_total=5",
        "trainer=script",
    ]


@pytest.mark.parametrize("word", ["trainer=torch_ddp", "+trainer=noop"])
def test_a_trainer_that_is_named_stays(word: str) -> None:
    assert with_script_overrides(["workload=script", word]) == ["workload=script", word]


def test_other_words_stay() -> None:
    words = ["+sweep=smoke", "workload=mnist_cnn", "workload.filters=[1,2]"]
    assert with_script_overrides(words) == words
