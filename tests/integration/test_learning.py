"""Every workload learns: each beats chance by far on what it has not seen."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from cli_process import ask, records_in
from declared_workloads import DECLARED

SYNTHETIC, STANDIN = "synthetic", "standin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A training of seconds on two cores, and what must come of it.

    Attributes:
        beyond: what the metric must be better than.
        chance: what it is worth without training: all of one class, or noise for digits.
    """

    metric: str = "accuracy"
    beyond: float
    chance: float = 0.1
    data: str = SYNTHETIC
    steps: int
    global_batch_size: int = 64
    options: Mapping[str, Any] = field(default_factory=dict)

    def is_passed_with(self, reached: float) -> bool:
        """Return whether the value is better than required, on the side away from chance."""
        return reached > self.beyond if self.beyond > self.chance else reached < self.beyond


NARROW = {"width": 0.25}
UNNORMALISED: Mapping[str, Any] = {**NARROW, "learning_rate": 0.003}
"""For deep networks without normalisation: at 0.01 some runs diverge, or guess for hundreds of steps."""

TOKENS: Mapping[str, Any] = {
    "metric": "held_out_loss",
    "beyond": 4.7,
    "chance": 4.94,  # what the frequencies of words alone lose
    "steps": 100,
    "global_batch_size": 32,
}
LESSONS: Mapping[str, Lesson] = {
    "mnist_cnn": Lesson(beyond=0.93, data=STANDIN, steps=200),
    "mnist_dbn": Lesson(beyond=0.88, data=STANDIN, steps=600),
    "mnist_gan": Lesson(
        metric="frechet_distance", beyond=110, chance=259, data=STANDIN, steps=300, options={"width": 8}
    ),
    "imdb_bilstm": Lesson(beyond=0.7, chance=0.5, data=STANDIN, steps=200),
    "imdb_bigru": Lesson(beyond=0.7, chance=0.5, data=STANDIN, steps=200),
    "cifar10_cnn": Lesson(beyond=0.8, steps=100, options={"kernels": [16, 32]}),
    "retinopathy_cnn": Lesson(
        metric="auc",
        beyond=0.9,
        chance=0.5,
        steps=65,
        global_batch_size=16,
        options={"network": "resnet50", "image_size": 64, **NARROW},
    ),
    "lenet5": Lesson(beyond=0.7, steps=600),
    "alexnet": Lesson(beyond=0.7, steps=70, options={"width": 0.125, "learning_rate": 0.03}),
    "vgg11": Lesson(beyond=0.5, steps=150, options=UNNORMALISED),
    "vgg13": Lesson(beyond=0.5, steps=200, options=UNNORMALISED),
    "vgg16": Lesson(metric="held_out_loss", beyond=2.2, chance=2.3, steps=400, options=UNNORMALISED),
    "vgg19": Lesson(metric="held_out_loss", beyond=2.2, chance=2.3, steps=400, options=UNNORMALISED),
    "resnet18": Lesson(beyond=0.7, steps=70, options=NARROW),
    "resnet34": Lesson(beyond=0.9, steps=80, options=NARROW),
    "resnet50": Lesson(beyond=0.7, steps=70, options=NARROW),
    "inception_v3": Lesson(beyond=0.5, steps=200, global_batch_size=32, options={"image_size": 75, **NARROW}),
    "inception_resnet_v2": Lesson(
        beyond=0.3,
        steps=120,
        global_batch_size=32,
        options={"image_size": 75, "width": 0.125},
    ),
    "mobilenet_v2": Lesson(beyond=0.5, steps=100, options={"width": 0.5}),
    "gpt2": Lesson(**TOKENS),
    "llama_style": Lesson(**TOKENS),
    "bert_base": Lesson(  # a seventh of the tokens teach, so that it takes longer
        **{**TOKENS, "steps": 500, "global_batch_size": 64},
        options={"dropout": 0.0, "sequence_length": 32},
    ),
    "vit_b16": Lesson(beyond=0.5, steps=80, global_batch_size=32),
    "xception": Lesson(beyond=0.5, steps=70, global_batch_size=32, options={"image_size": 71, **NARROW}),
}


def point_of(name: str, lesson: Lesson) -> Mapping[str, Any]:
    """An entry of `sweep.include`."""
    return {
        "workload": name,
        "data": lesson.data,
        "steps": lesson.steps,
        "global_batch_size": lesson.global_batch_size,
        **{f"workload.{knob}": value for knob, value in lesson.options.items()},
    }


SHORT = ("cifar10_cnn", "gpt2", "imdb_bilstm", "mnist_cnn", "mnist_dbn", "mnist_gan")
"""Lessons of `make test`. Shortcuts, depthwise kernels, GRUs, patches and rotary positions are long ones."""


@pytest.fixture(scope="module", params=["short", "long"])
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Mapping[str, Any]]:
    """Workload -> its record: one sweep of the short lessons, or of the long ones."""
    names = [name for name in LESSONS if (name in SHORT) == (request.param == "short")]
    folder = tmp_path_factory.mktemp("lessons")
    file = folder / "conf" / "sweep" / "lessons.yaml"
    file.parent.mkdir(parents=True)
    entries = [point_of(name, LESSONS[name]) for name in names]
    sweep = {"defaults": ["schema", "_self_"], "name": "lessons", "include": entries}
    file.write_text(json.dumps(sweep))  # which is YAML too
    words = ("+sweep=lessons", "trainer=torch_ddp", "precision=fp32", "executor=inline", "tracking=none")
    told = ask(*words, cwd=folder, seconds=1500)
    assert told.code == 0, told.out + told.err
    records = {record["spec"]["workload"]: record for record in records_in(folder, "lessons")}
    assert set(records) == set(names)
    return records


def test_every_workload_has_its_lesson() -> None:
    assert set(LESSONS) == set(DECLARED)


@pytest.mark.slow
def test_each_is_much_better_than_chance_on_what_it_has_not_seen(
    trained: Mapping[str, Mapping[str, Any]],
) -> None:
    assert {mapping["provenance"] for mapping in trained.values()} == {"measured"}
    reached = {name: each["result"]["quality"][LESSONS[name].metric] for name, each in trained.items()}
    assert not {name: value for name, value in reached.items() if not LESSONS[name].is_passed_with(value)}
