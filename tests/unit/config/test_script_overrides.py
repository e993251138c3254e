"""Words about a script are options of its workload, and choose its trainer."""

import pytest
from plan_builders import point

from orchestrator.config.script_overrides import require_one_training, with_script_overrides
from orchestrator.core.errors import ConfigError
from orchestrator.core.sweep import Point


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


def points(*sizes: int, **options: object) -> list[Point]:
    return [point(workload="script", workload_options=options, global_batch_size=size) for size in sizes]


@pytest.mark.parametrize("sizes", [(32, 64), (64, 32)])
def test_steps_of_several_batches_are_refused_in_any_order(sizes: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match=r"global_batch_size=32,64 .* script.samples_total=32000"):
        require_one_training(points(*sizes, steps_total=1000))


def test_steps_of_one_batch_and_samples_of_several_are_one_training() -> None:
    require_one_training(points(32, 32, steps_total=1000))
    require_one_training(points(32, 64, samples_total=64_000))
    require_one_training(points(32, steps_total=1000) + points(64, steps_total=500))
