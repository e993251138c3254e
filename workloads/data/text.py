"""Running text for language models: a user's own files, sentences of film reviews, or words by a program."""

import hashlib
from dataclasses import replace
from pathlib import Path

from workloads.data.dataset import Arrays, DataSet, Synthetic, UserFolder
from workloads.data.drawn_text import draw
from workloads.data.movie_sentences import MOVIE_SENTENCES
from workloads.data.words import format_words, tokenized

_SUFFIXES = (".txt", ".md")
_TRAIN_SHARE = 0.9


def identify(folder: Path) -> str:
    """sha256 over name and content of every text file. Raises ValueError if there is none."""
    digest = hashlib.sha256()
    for path in _find_files(folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder)}\n{content}\n".encode())
    return digest.hexdigest()


def read(folder: Path) -> Arrays:
    """Lower-case words of all files; the first nine tenths of each file are to train on.

    Raises:
        ValueError: a file is not UTF-8, or the files have no words.
    """
    train, test = [], []
    for path in _find_files(folder):
        words = format_words(_read_text(path))
        cut = int(_TRAIN_SHARE * len(words))
        train.append((" ".join(words[:cut]), 0))
        test.append((" ".join(words[cut:]), 0))
    arrays = tokenized(train, test)
    if not (len(arrays["x_train"]) and len(arrays["x_test"])):
        raise ValueError(f"{str(folder)!r}: its text files have too few words to train on and to test")
    return arrays


def _find_files(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    if not paths:
        raise ValueError(f"{str(folder)!r} holds no text; expected files *{' or *'.join(_SUFFIXES)} in it")
    return paths


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} is not a text in UTF-8: {error}") from error


TEXT = DataSet(
    name="text",
    version=1,
    real=UserFolder(
        description="text files",
        cure="set data_folder to a folder of .txt or .md files, or set data.source=standin",
        identify=identify,
        read=read,
    ),
    standin=replace(
        MOVIE_SENTENCES,
        description="stand-in for your own text: the words of 10,568 sentences of film reviews",
    ),
    synthetic=Synthetic(
        description="synthetic: 1,050,000 words drawn by a program, 1,000,000 to train on",
        version=1,
        make=lambda _: draw(),
    ),
)
