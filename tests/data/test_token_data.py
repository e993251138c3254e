"""Running text: windows of tokens, masks, and a user's own files."""

from pathlib import Path

import numpy as np
import pytest

from workloads.data.batches import load
from workloads.data.need import DataNeed
from workloads.data.published import Means
from workloads.data.sources import prepare
from workloads.data.split import IGNORED
from workloads.data.text import TEXT
from workloads.data.tokens import TokenSplit, running_text
from workloads.data.words import FIRST_WORD, PAD, UNKNOWN

IDS = np.arange(FIRST_WORD, FIRST_WORD + 100, dtype=np.uint16)


def split(*, is_masked: bool = False, vocabulary: int = 1000, length: int = 20, seed: int = 0) -> TokenSplit:
    return TokenSplit(ids=IDS, vocabulary=vocabulary, length=length, is_masked=is_masked, seed=seed)


def test_texts_follow_each_other_with_a_separator_behind_each() -> None:
    texts = running_text(np.array([5, 6, 7], dtype=np.uint16), np.array([2, 1], dtype=np.int32))
    assert texts.tolist() == [5, 6, PAD, 7, PAD]


def test_every_step_predicts_the_next_token_and_windows_do_not_overlap() -> None:
    batch = split().take(np.array([1, 0]), epoch=0)
    assert batch["x"].tolist() == [IDS[20:40].tolist(), IDS[:20].tolist()]
    assert batch["y"].tolist() == [IDS[21:41].tolist(), IDS[1:21].tolist()]
    assert len(split()) == 4  # the last token has none behind it


def test_tokens_beyond_the_vocabulary_are_unknown() -> None:
    x = split(vocabulary=10).take(np.array([0]), epoch=0)["x"][0]
    assert x.tolist() == [*IDS[:8].tolist(), *[UNKNOWN] * 12]


def test_masked_steps_are_as_many_in_every_window_and_predict_what_they_hide() -> None:
    indices = np.arange(4)
    batch = split(is_masked=True).take(indices, epoch=0)
    hidden = batch["y"] != IGNORED
    assert hidden.sum(1).tolist() == [3] * 4  # 15% of 20
    plain = split().take(indices, epoch=0)["x"]
    assert np.array_equal(batch["y"][hidden], plain[hidden])
    assert np.array_equal(batch["x"][~hidden], plain[~hidden])


def test_masks_show_the_last_id_mostly_and_stay_for_the_same_seed() -> None:
    ids = np.tile(IDS, 50)
    masked = TokenSplit(ids=ids, vocabulary=1000, length=100, is_masked=True, seed=0)
    indices = np.arange(len(masked))
    batch, again = (masked.take(indices, epoch=epoch) for epoch in (0, 1))
    shown = batch["x"][batch["y"] != IGNORED]
    assert 0.7 < np.mean(shown == 999) < 0.9
    assert np.array_equal(batch["x"], again["x"])
    order = indices[::-1]
    assert np.array_equal(masked.take(order, epoch=0)["x"], batch["x"][::-1])


def test_drawn_text_is_the_same_each_time_and_its_words_call_for_others(tmp_path: Path) -> None:
    means = Means(cache=tmp_path, download=False)
    ref = prepare(TEXT, "synthetic", means)
    need = DataNeed(data_set="-", vocabulary=2000, sequence_length=64, targets="next_token")
    batches = load(ref.path, data=need, global_batch_size=8, seed=0)
    assert len(batches.train) == 15_625
    assert batches.part(0, range(8))["y"].shape == (8, 64)
    assert ref.count_samples_of_set(need) is None  # nobody says how long a full training is


def test_text_files_of_a_folder_are_read_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "one.txt").write_text("Some words. " * 500)
    (folder / "two.md").write_text("Other words, again. " * 500)
    (folder / "three.py").write_text("no words")
    ref = prepare(TEXT, "real", Means(cache=tmp_path / "cache", download=False, folder=folder))
    need = DataNeed(data_set="-", vocabulary=50, sequence_length=10, targets="next_token", train_tokens=7)
    assert ref.train_tokens == 0.9 * (1000 + 1500)
    assert ref.count_samples_of_set(need) == 225
    (folder / "two.md").write_text("changed")
    assert prepare(TEXT, "real", Means(cache=tmp_path, download=False, folder=folder)).id != ref.id


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.csv": b"x"}, r"holds no text; expected files \*\.txt or \*\.md in it$"),
        ({"a.txt": b"\xff\xfe\x00"}, r"a\.txt' is not a text in UTF-8: "),
        ({"a.txt": b"12 34"}, r"its text files have too few words to train on and to test$"),
    ],
)
def test_a_folder_without_text_is_one_line(files: dict[str, bytes], expected: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=expected):
        prepare(TEXT, "real", Means(cache=tmp_path / "cache", download=False, folder=tmp_path))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (700, r"^global_batch_size=16 is above the 9 training samples$"),
        (100, r"^the running text has 11 tokens, and sequence_length=64 needs one more$"),
    ],
)
def test_a_text_that_is_too_short_is_one_line(words: int, expected: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * words)
    ref = prepare(TEXT, "real", Means(cache=tmp_path / "cache", download=False, folder=tmp_path))
    need = DataNeed(data_set="-", vocabulary=50, sequence_length=64, targets="next_token")
    with pytest.raises(ValueError, match=expected):
        load(ref.path, data=need, global_batch_size=16, seed=0)
