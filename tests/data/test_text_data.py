"""Texts: one tokenizer, a vocabulary of the training half alone, rows of one length."""

import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from web_server import Site, serving

from workloads.data.batches import Batches, load
from workloads.data.imdb import IMDB
from workloads.data.movie_sentences import MOVIE_SENTENCES
from workloads.data.need import DataNeed
from workloads.data.published import Means
from workloads.data.sources import prepare
from workloads.data.texts import TextSplit
from workloads.data.words import build_vocabulary, format_words, tokenized

RATED = [
    (2.5, "A warm, funny film"),
    (-3, "Dull. Dull!"),
    (0, "Neither"),
    *[(1.0 - n, "filler") for n in range(9)],
]


@pytest.fixture
def means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Means:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    return Means(cache=tmp_path / "cache", download=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A package index with a small file in the layout of the stand-in."""
    sentences = "\r\n".join(
        f"{number}\t{rating}\t{text}" for number, (rating, text) in enumerate(RATED)
    ).encode()
    packed, package = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt")
        member.size = len(sentences)
        archive.addfile(member, io.BytesIO(sentences))
    with ZipFile(package, "w") as whole:
        whole.writestr("vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz", packed.getvalue())
    with serving() as site:
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
        page = b'<a href="/files/vaderSentiment-0.5.zip#sha256=00">vaderSentiment-0.5.zip</a>'
        site.files |= {
            "/simple/vadersentiment/": page,
            "/files/vaderSentiment-0.5.zip": package.getvalue(),
        }
        yield site


def batches(path: Path, *, vocabulary: int = 100, length: int = 4) -> Batches:
    need = DataNeed(data_set="tests:TEXTS", vocabulary=vocabulary, sequence_length=length)
    return load(path, data=need, global_batch_size=1, seed=0)


def test_words_are_lower_case_letters_with_apostrophes_inside() -> None:
    text = "''Conan'' isn't 21st-century; it\u2019s Café's BEST!"
    assert format_words(text) == ["conan", "isn't", "st", "century", "it's", "café's", "best"]


def test_ids_go_by_frequency_and_then_by_the_alphabet() -> None:
    assert build_vocabulary([["b", "c", "c"], ["a", "c", "b"], ["d", "a"]]) == {
        "c": 2,
        "a": 3,
        "b": 4,
        "d": 5,
    }


def test_words_of_the_test_half_alone_are_unknown() -> None:
    arrays = tokenized([("good good film", 1), ("bad film", 0)], [("good song", 1)])
    assert arrays["x_train"].tolist() == [3, 3, 2, 4, 2]
    assert arrays["lengths_train"].tolist() == [3, 2]
    assert (arrays["x_test"].tolist(), arrays["y_test"].tolist()) == ([3, 1], [1])


def test_rows_keep_the_last_words_and_are_padded_in_front() -> None:
    split = TextSplit(
        ids=np.array([2, 3, 4, 5, 6, 7], dtype=np.uint16),
        ends=np.array([5, 5, 6]),
        labels=np.array([1, 0, 1], dtype=np.int32),
        vocabulary=6,
        length=3,
    )
    batch = split.take(np.array([2, 1, 0]), epoch=0)
    assert batch["x"].tolist() == [[0, 0, 1], [0, 0, 0], [4, 5, 1]]
    assert (batch["x"].dtype, batch["y"].tolist()) == (np.int32, [1, 0, 1])


def test_the_stand_in_is_downloaded_from_the_package_index_and_rated_by_its_sign(
    means: Means, site: Site
) -> None:
    digest = hashlib.sha256(site.files["/files/vaderSentiment-0.5.zip"]).hexdigest()
    file = replace(MOVIE_SENTENCES.files[0], digest=f"sha256:{digest}")
    imdb = replace(IMDB, standin=replace(MOVIE_SENTENCES, files=(file,)))
    with np.load(prepare(imdb, "standin", means).path) as arrays:
        labels = [*arrays["y_train"], *arrays["y_test"]]
        assert (len(arrays["y_train"]), len(labels), sum(labels)) == (8, 10, 2)
        assert sorted([*arrays["lengths_train"], *arrays["lengths_test"]]) == [1] * 8 + [2, 4]
    assert site.asked[-1][0] == "/files/vaderSentiment-0.5.zip"


def test_a_stand_in_with_another_hash_is_refused(means: Means, site: Site) -> None:
    expected = (
        r"^stand-in for IMDB, .*vaderSentiment-0\.5\.zip failed: .*, expected 5d97c37f3ef6…; download that"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(IMDB, "standin", means)


def test_numbers_of_keras_become_ids_by_their_frequency_in_the_training_half(
    means: Means, tmp_path: Path
) -> None:
    path = tmp_path / "keras" / "datasets" / "imdb.npz"
    path.parent.mkdir(parents=True)
    train, test = np.empty(2, dtype=object), np.empty(1, dtype=object)
    train[:] = [[7, 9, 9], [9, 7, 4, 4]]
    test[:] = [[4, 5, 1000, 9]]
    np.savez(path, x_train=train, y_train=np.array([0, 1]), x_test=test, y_test=np.array([1]))
    assert isinstance(IMDB.real, tuple)
    (form,) = IMDB.real
    file = replace(form.files[0], digest=f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")
    ref = prepare(replace(IMDB, real=(replace(form, files=(file,)),)), "real", means)
    data = batches(ref.path)
    assert data.held_out(0, 1)["x"].tolist() == [[3, 1, 1, 2]]  # 9 three times, then 4 and 7 twice each
    rows = data.train.take(np.arange(2), epoch=0)
    assert sorted(zip(rows["y"].tolist(), rows["x"].tolist(), strict=True)) == [
        (0, [0, 4, 2, 2]),
        (1, [2, 4, 3, 3]),
    ]


def test_synthetic_reviews_are_the_same_each_time_and_their_words_predict_the_label(means: Means) -> None:
    ref = prepare(IMDB, "synthetic", means)
    data = batches(ref.path, length=60)
    assert (len(data.train), data.num_held_out) == (2000, 500)
    train, test = data.train.take(np.arange(2000), epoch=0), data.held_out(0, 500)
    counts = np.stack(
        [np.bincount(train["x"][train["y"] == label].ravel(), minlength=100) + 1 for label in (0, 1)]
    )
    weights = np.log(counts[1] / counts[0])
    weights[0] = 0
    assert ((weights[test["x"]].sum(axis=1) > 0) == test["y"]).mean() > 0.8


def test_texts_without_a_length_are_refused(means: Means) -> None:
    ref = prepare(IMDB, "synthetic", means)
    expected = r"^data set 'tests:TEXTS' holds texts: vocabulary and sequence_length are needed$"
    with pytest.raises(ValueError, match=expected):
        load(ref.path, data=DataNeed(data_set="tests:TEXTS"), global_batch_size=1, seed=0)
