"""Parts of real trainings in three frameworks, measured by a clock that nothing but their work moves on."""
# ruff: noqa: ARG002  the frameworks name the arguments of their hooks

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.extensions.scripts.callback import orchestrator_callback as callback

pytestmark = [
    pytest.mark.filterwarnings("ignore:Your input ran out of data"),  # Keras, where an epoch is a stream
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # Lightning, of PyTorch's
    pytest.mark.filterwarnings("ignore::UserWarning:lightning"),
]

STEP, READ, EVALUATE, SAVE = 1.0, 0.001, 100.0, 1000.0
"""Seconds of training on a sample, of reading one, of an evaluation and of a checkpoint."""


def count_samples_of_set(torch: Any, clock: Any, count: int, *, streams: bool = False) -> Any:
    """A data set whose samples take time to read."""

    def read(index: int) -> dict[str, Any]:
        clock.work(READ)
        return {"x": torch.full((3,), float(index)), "labels": torch.tensor(index % 2)}

    class Samples(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> dict[str, Any]:
            return read(index)

    class Stream(torch.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return map(read, range(count))

    return Stream() if streams else Samples()


def train_hugging_face(clock: Any, folder: Path, samples: int, batch: int, **options: Any) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    num_sets, streams = options.pop("num_sets", 0), options.pop("streams", False)

    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            clock.work(STEP * len(x) if self.training else EVALUATE)
            logits = self.layer(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Trainer(transformers.Trainer):  # type: ignore[misc,name-defined]
        def _save_checkpoint(self, *arguments: Any, **named: Any) -> None:
            clock.work(SAVE)

    sets = {f"set{number}": count_samples_of_set(torch, clock, 2) for number in range(num_sets)}
    arguments = transformers.TrainingArguments(
        str(folder),
        per_device_train_batch_size=batch,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        max_steps=60,
        **{"save_strategy": "no", **options},
    )
    data = count_samples_of_set(torch, clock, samples, streams=streams)
    Trainer(
        Model(), arguments, train_dataset=data, eval_dataset=sets, callbacks=[callback.StepCallback()]
    ).train()


def train_lightning(clock: Any, folder: Path, samples: int, batch: int, **options: Any) -> None:
    torch, lightning = pytest.importorskip("torch"), pytest.importorskip("lightning.pytorch")
    streams, evaluates = options.pop("streams", False), options.pop("evaluates", False)

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)

        def training_step(self, batch: Any, index: int) -> Any:
            clock.work(STEP * len(batch["x"]))
            return torch.nn.functional.cross_entropy(self.layer(batch["x"]), batch["labels"])

        def on_save_checkpoint(self, checkpoint: Any) -> None:
            clock.work(SAVE)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    class Evaluated(Module):
        def validation_step(self, batch: Any, index: int) -> None:
            clock.work(EVALUATE)

    def load(count: int) -> Any:
        return torch.utils.data.DataLoader(count_samples_of_set(torch, clock, count, streams=streams), batch)

    trainer = lightning.Trainer(
        default_root_dir=folder,
        max_steps=60,
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **{"enable_checkpointing": False, "callbacks": [callback.StepCallback()], **options},
    )
    if evaluates:
        trainer.fit(Evaluated(), load(samples), load(2))
    else:
        trainer.fit(Module(), load(samples))


def train_keras(clock: Any, folder: Path, samples: int, batch: int, **options: Any) -> None:
    keras, tensorflow = pytest.importorskip("keras"), pytest.importorskip("tensorflow")

    class Worker(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            is_last = batch == -(-samples // size) - 1
            clock.work((STEP + READ) * (samples % size or size if is_last else size))

        def on_test_begin(self, logs: Any = None) -> None:
            clock.work(EVALUATE)

    class Model(keras.Sequential):  # type: ignore[misc,name-defined]
        def save(self, *arguments: Any, **named: Any) -> None:
            clock.work(SAVE)

    size, streams = batch, options.pop("streams", False)
    x, y = np.ones((samples, 3), np.float32), np.zeros(samples, np.int64)
    model = Model([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data: dict[str, Any] = {"x": x, "y": y, "batch_size": batch}
    if streams:
        data = {"x": tensorflow.data.Dataset.from_tensor_slices((x, y)).filter(lambda *_: True).batch(batch)}
    model.fit(
        **data,
        epochs=40,
        shuffle=not streams,
        verbose=0,
        callbacks=[Worker(), callback.StepCallback(), *options.pop("savers", [])],
        **options,
    )


def approx_rates(samples: int) -> Any:
    """Parts of as many samples each; Accelerate reads a batch ahead, in the time of the step before."""
    return pytest.approx(np.array([((STEP + READ) * samples, samples)] * 4), abs=2 * 8.1 * READ)


TRAININGS = [train_hugging_face, train_lightning, train_keras]


@pytest.mark.parametrize("train", TRAININGS)
@pytest.mark.parametrize(("samples", "streams"), [(8 + 1, False), (3 * 8 + 7, True)])
def test_the_clock_stands_still_for_a_smaller_last_step(
    clock: Any, parts: Any, tmp_path: Path, train: Any, samples: int, streams: bool
) -> None:
    measured = parts(5)
    train(clock, tmp_path, samples, 8, streams=streams)
    assert measured.rates() == approx_rates(16)


def test_keras_smaller_step_is_left_out_on_a_host_that_takes_the_core_away_at_every_wait(
    clock: Any, parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = parts(5)
    monkeypatch.setattr(callback, "_synchronize", lambda: clock.work(8 * STEP))
    train_keras(clock, tmp_path, 3 * 8 + 7, 8)
    assert [samples for _, samples in measured.measured[1:]] == [16] * 4


@pytest.mark.parametrize("train", [train_hugging_face, train_lightning])
def test_the_clock_stands_still_for_an_accumulation_that_is_cut(
    clock: Any, parts: Any, tmp_path: Path, train: Any
) -> None:
    accumulated = {
        train_hugging_face: "gradient_accumulation_steps",
        train_lightning: "accumulate_grad_batches",
    }
    measured = parts(5)
    train(clock, tmp_path, 5 * 8, 8, **{accumulated[train]: 4})
    assert measured.rates() == approx_rates(64)


@pytest.mark.parametrize("num_sets", [1, 3])
@pytest.mark.parametrize("saves", [False, True])
def test_evaluations_on_several_sets_and_checkpoints_of_hugging_face_are_in_no_step(
    clock: Any, parts: Any, tmp_path: Path, num_sets: int, saves: bool
) -> None:
    measured = parts(5)
    options = {"eval_strategy": "steps", "eval_steps": 3}
    saving = {"save_strategy": "steps", "save_steps": 3} if saves else {}
    train_hugging_face(clock, tmp_path, 64, 8, num_sets=num_sets, **options, **saving)
    assert clock.now > EVALUATE * num_sets + SAVE * saves
    assert measured.rates() == approx_rates(16)


def test_evaluations_and_checkpoints_of_lightning_are_in_no_step(
    clock: Any, parts: Any, tmp_path: Path
) -> None:
    measured = parts(5)
    savers = pytest.importorskip("lightning.pytorch").callbacks
    train_lightning(
        clock,
        tmp_path,
        32,
        8,
        evaluates=True,
        enable_checkpointing=True,
        callbacks=[callback.StepCallback(), savers.ModelCheckpoint(tmp_path, every_n_train_steps=1)],
    )
    assert clock.now > SAVE
    assert measured.rates() == approx_rates(16)


@pytest.mark.parametrize("moment", ["epoch", 1])
def test_evaluations_and_checkpoints_of_keras_are_in_no_step(
    clock: Any, parts: Any, tmp_path: Path, moment: Any
) -> None:
    keras = pytest.importorskip("keras")
    measured = parts(5)
    x, y = np.ones((2, 3), np.float32), np.zeros(2, np.int64)
    saver = keras.callbacks.ModelCheckpoint(tmp_path / "kept.keras", save_freq=moment)
    train_keras(clock, tmp_path, 16, 8, savers=[saver], validation_data=(x, y))
    assert clock.now > SAVE + EVALUATE
    assert measured.rates() == approx_rates(16)


@pytest.mark.parametrize("train", TRAININGS)
def test_a_batch_of_another_size_counts_as_it_is(clock: Any, parts: Any, tmp_path: Path, train: Any) -> None:
    measured = parts(2)
    train(clock, tmp_path, 32, 4)
    assert [count for _, count in measured.measured] == [4, 8]


@pytest.mark.parametrize(
    ("rows", "counted"),
    [
        ([8, 8, 1, 8, 8, 1, 8], [8, 16, 16]),
        ([8, 6, 4, 3, 8, 2, 8], [8, 4 + 8]),
        ([4, 8, 8, 8, 8], [4, 16, 16]),
    ],
)
def test_smaller_steps_are_left_out_as_long_as_they_are_few(
    parts: Any, rows: list[int], counted: list[int]
) -> None:
    measured = parts(5)
    watched = callback._Callback()
    watched.samples = None
    for count in rows:
        watched._read_batches()
        watched.rows = count
        watched._begin(is_cut=watched._has_fewer())
        watched._end()
    assert [samples for _, samples in measured.measured] == counted


def test_a_part_of_the_own_number_is_counted_for_fewer_samples() -> None:
    step_callback = callback._Callback()
    step_callback.samples, step_callback.rows, step_callback.most_rows = 1000, 6, 8
    assert step_callback._count_own() == 750
