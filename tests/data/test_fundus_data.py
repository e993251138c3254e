"""Folders of graded fundus photographs: their layouts, their halves, and lesions painted by a program."""

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from photo_files import aptos_folder
from PIL import Image

from workloads.data import fundus
from workloads.data.batches import Batches, load
from workloads.data.fundus import FUNDUS
from workloads.data.need import DataNeed
from workloads.data.painted_fundus import RETINA, SIDE, paint
from workloads.data.published import Means, find
from workloads.data.sources import DataRef, prepare


@pytest.fixture
def means(tmp_path: Path) -> Means:
    return Means(cache=tmp_path / "cache", download=False, folder=tmp_path / "folder")


def read_content(ref: DataRef) -> dict[str, list[object]]:
    with np.load(ref.path, allow_pickle=False) as arrays:
        return {name: arrays[name].tolist() for name in arrays}


def batches(ref: DataRef, **form: object) -> Batches:
    return load(ref.path, data=DataNeed(data_set="tests:EYES", **form), global_batch_size=1, seed=0)


def eyepacs_folder(folder: Path) -> Path:
    """Both eyes of 20 patients."""
    (folder / "train").mkdir(parents=True)
    names = [f"{patient}_{side}" for patient in range(20) for side in ("left", "right")]
    for name in names:
        Image.new("RGB", (8, 8), (90, 50, 30)).save(folder / "train" / f"{name}.jpeg")
    table = "image,level\n" + "".join(f"{name},{number % 5}\n" for number, name in enumerate(names))
    (folder / "trainLabels.csv").write_text(table)
    return folder


def test_a_fifth_of_aptos_photographs_is_for_testing_in_any_order_of_the_table(
    means: Means, tmp_path: Path
) -> None:
    folder = aptos_folder(tmp_path / "folder", count=60, side=8)
    first = prepare(FUNDUS, "real", means)
    content = read_content(first)
    assert sorted([*content["x_train"], *content["x_test"]]) == sorted(
        f"train_images/eye{number}.png".encode() for number in range(60)
    )
    assert 5 <= len(content["x_test"]) <= 20
    header, *lines = (folder / "train.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join([header, *reversed(lines)]))
    turned = prepare(FUNDUS, "real", means)
    assert read_content(turned) == content
    assert turned.id != first.id


def test_the_full_training_set_is_the_users_folder_where_there_is_one(means: Means, tmp_path: Path) -> None:
    aptos_folder(tmp_path / "folder", count=60, side=8)
    ref = prepare(FUNDUS, "auto", means)
    assert ref.train_samples == len(batches(ref, image_size=8).train)
    assert 30 <= ref.train_samples < 60
    assert prepare(FUNDUS, "auto", means) == ref


def test_the_id_holds_for_the_same_files_elsewhere_and_changes_with_a_size(
    means: Means, tmp_path: Path
) -> None:
    folder = aptos_folder(tmp_path / "folder", count=20, side=8)
    first = prepare(FUNDUS, "auto", means)
    assert first.id.startswith("real:fundus-v1:")
    assert first.description == f"graded fundus photographs in {folder}"
    shutil.copytree(folder, tmp_path / "copy")
    copied = prepare(FUNDUS, "auto", replace(means, folder=tmp_path / "copy"))
    assert (copied.id, copied.path == first.path) == (first.id, False)
    (folder / "train_images" / "eye3.png").write_bytes(b"changed")
    assert prepare(FUNDUS, "auto", means).id != first.id


def test_both_eyes_of_a_patient_are_in_one_half(means: Means, tmp_path: Path) -> None:
    eyepacs_folder(tmp_path / "folder")
    content = read_content(prepare(FUNDUS, "real", means))
    patients = {
        half: {name.decode().split("/")[1].split("_")[0] for name in content[half]}
        for half in ("x_train", "x_test")
    }
    assert not patients["x_train"] & patients["x_test"]
    assert len(content["x_train"]) + len(content["x_test"]) == 40


def test_grades_are_five_classes_or_referable_or_not(means: Means, tmp_path: Path) -> None:
    aptos_folder(tmp_path / "folder", count=30, side=8)
    ref = prepare(FUNDUS, "real", means)
    grades = batches(ref, image_size=4).held_out(0, 30)["y"]
    referable = batches(ref, image_size=4, binary=True).held_out(0, 30)["y"]
    assert set(grades.tolist()) <= {0, 1, 2, 3, 4}
    assert referable.tolist() == [int(grade >= 2) for grade in grades]
    assert referable.dtype == np.int32


def test_photographs_without_a_size_are_refused(means: Means, tmp_path: Path) -> None:
    aptos_folder(tmp_path / "folder", count=20, side=8)
    with pytest.raises(ValueError, match=r"^data set 'tests:EYES' holds photographs: image_size is needed$"):
        batches(prepare(FUNDUS, "real", means))


def test_no_folder_and_a_wrong_folder_are_shown(means: Means, tmp_path: Path) -> None:
    expected = (
        r"^graded fundus photographs: no folder is given; set data_folder to photographs from Kaggle \("
    )
    with pytest.raises(ValueError, match=expected):
        prepare(FUNDUS, "real", replace(means, folder=None))
    expected = (
        rf"^'{tmp_path}/folder' holds no graded photographs; expected train\.csv with id_code and diagnosis "
        r"beside train_images/\*\.png, or trainLabels\.csv with image and level beside train/\*\.jpeg$"
    )
    for source in ("real", "auto"):
        with pytest.raises(ValueError, match=expected):
            prepare(FUNDUS, source, means)


@pytest.mark.parametrize("line", ["eye0,5", "eye0,", "eye0", "../eye0,1", ",1"])
def test_a_line_of_the_table_that_cannot_be_used_is_shown(means: Means, tmp_path: Path, line: str) -> None:
    folder = aptos_folder(tmp_path / "folder", count=20, side=8)
    (folder / "train.csv").write_text(f"id_code,diagnosis\neye1,0\n{line}\n")
    expected = (
        r"train\.csv: a line has id_code='.*' and diagnosis=.*, expected the name of an image and a grade"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(FUNDUS, "real", means)


def test_a_photograph_that_is_missing_is_shown(means: Means, tmp_path: Path) -> None:
    folder = aptos_folder(tmp_path / "folder", count=20, side=8)
    (folder / "train_images" / "eye7.png").unlink()
    expected = r"^graded photograph '.*train_images/eye7\.png' cannot be read: No such file or directory$"
    with pytest.raises(ValueError, match=expected):
        prepare(FUNDUS, "real", means)


def test_lesions_are_more_and_darker_from_grade_to_grade_and_always_the_same(tmp_path: Path) -> None:
    retina = np.full((SIDE, SIDE, 3), (200, 90, 60), dtype=np.uint8)
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        paint(tmp_path / name, retina, count=20)
    files = sorted((tmp_path / "first" / "train_images").iterdir())
    assert len(files) == 20
    assert all(
        file.read_bytes() == (tmp_path / "again/train_images" / file.name).read_bytes() for file in files
    )
    middles = [np.array(Image.open(file))[64:-64, 64:-64, 0] for file in files]
    dark = [int((middle < 140).sum()) for middle in middles]
    by_grade = [sum(dark[grade::5]) for grade in range(5)]
    assert by_grade == sorted(by_grade)
    assert by_grade[0] == 0
    assert (tmp_path / "first" / "train.csv").read_text().splitlines()[2] == "painted_0001,1"


@pytest.mark.skipif(not find_spec("skimage"), reason="scikit-image holds the photograph that is painted on")
def test_painted_photographs_are_a_folder_in_the_cache_that_is_painted_again_when_it_is_lost(
    means: Means, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fundus, "_COUNT", 20)
    ref = prepare(FUNDUS, "auto", replace(means, folder=None))
    assert ref.id.startswith("synthetic:fundus-v1:")
    assert ref.description.endswith("painted; not the real data (data.source=real tells why)")
    assert ref.missing == "no folder is given"
    folder = means.cache / "fundus-synthetic-1"
    first = batches(ref, image_size=32).held_out(0, 3)["x"]
    shutil.rmtree(folder)
    asked_for = replace(ref, description=FUNDUS.synthetic.description, missing="")
    assert prepare(FUNDUS, "synthetic", means) == asked_for
    assert np.array_equal(batches(ref, image_size=32).held_out(0, 3)["x"], first)
    assert {path.name for path in means.cache.iterdir()} == {".fundus.lock", folder.name, ref.path.name}


def test_without_scikit_image_its_cure_is_shown(means: Means) -> None:
    gone = replace(RETINA, files=(replace(RETINA.files[0], places=tuple),))
    expected = r"^photograph of a healthy retina, .*: no .*retina\.jpg; pip install scikit-image==0\.26\.0$"
    with pytest.raises(ValueError, match=expected):
        find(gone, means)


@pytest.mark.parametrize("line", ["x" * 200_000 + ",0", "eye0\x00,0", "eye\ud800,0"])
def test_a_table_that_is_none_is_shown(means: Means, tmp_path: Path, line: str) -> None:
    folder = aptos_folder(tmp_path / "folder", count=1, side=8)
    text = f"id_code,diagnosis\n{line}\n"
    (folder / "train.csv").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ValueError, match=r"^'?/.*/train\.csv'?(:| is not a table of grades:)"):
        prepare(FUNDUS, "real", means)
