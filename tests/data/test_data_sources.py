"""Source of a data set, and every way in which a source can be missing or wrong."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT
from web_server import Site, serving

from workloads.data.batches import load
from workloads.data.dataset import Arrays, DataSet, Published, PublishedFile, Synthetic
from workloads.data.need import DataNeed
from workloads.data.published import Means
from workloads.data.sources import DataRef, default_cache, prepare, resolve

SECONDS_OF_A_CHILD = 60


def numbers(first: int) -> Arrays:
    """30 images that carry their own number; 20 to train on."""
    labels = np.arange(first, first + 30, dtype=np.uint8)
    images = np.broadcast_to(labels[:, None, None, None], (30, 2, 2, 1))
    return {"x_train": images[:20], "y_train": labels[:20], "x_test": images[20:], "y_test": labels[20:]}


def read(paths: Sequence[Path]) -> Arrays:
    return numbers(int(paths[0].read_text()))


def published(content: str, *, place: Path, url: str | None = None) -> Published:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Published(
        description=f"numbers from {content}",
        files=(
            PublishedFile(
                name="first.txt", digest=f"sha256:{digest}", places=lambda: (place / "first.txt",), url=url
            ),
        ),
        cure="put it there, or set data.source=standin",
        read=read,
    )


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.files["/first.txt"] = b"100"
        yield site


@pytest.fixture
def data_set(site: Site, tmp_path: Path) -> DataSet:
    """Numbers from 100 on are real and on a server, those from 50 on a stand-in; drawn ones begin with 0."""
    (tmp_path / "standin").mkdir()
    (tmp_path / "standin" / "first.txt").write_text("50")
    return DataSet(
        name="numbers",
        version=3,
        real=(published("100", place=tmp_path / "usual", url=f"{site.url}/first.txt"),),
        standin=published("50", place=tmp_path / "standin"),
        synthetic=Synthetic(description="synthetic numbers", version=7, make=lambda _: numbers(0)),
        train_samples=20,
    )


@pytest.fixture
def means(tmp_path: Path) -> Means:
    return Means(cache=tmp_path / "cache", download=True)


def without_url(data_set: DataSet) -> DataSet:
    """The same data set, but its real file cannot be downloaded."""
    assert isinstance(data_set.real, tuple)
    (form,) = data_set.real
    files = tuple(replace(file, url=None) for file in form.files)
    return replace(data_set, real=(replace(form, files=files),))


def put_in_the_usual_place(content: str, tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    (tmp_path / "usual" / "first.txt").write_text(content)


def first_of(ref: DataRef) -> int:
    with np.load(ref.path, allow_pickle=False) as arrays:
        return int(arrays["y_train"][0])


def test_a_real_file_in_its_usual_place_is_taken_without_a_download(
    data_set: DataSet, means: Means, site: Site, tmp_path: Path
) -> None:
    put_in_the_usual_place("100", tmp_path)
    ref = prepare(data_set, "auto", means)
    assert ref.id == f"real:numbers-v3:{hashlib.sha256(b'100').hexdigest()}"
    assert (first_of(ref), ref.description, site.asked) == (100, "numbers from 100", [])
    assert ref.path.name == f"numbers-v3-real-{hashlib.sha256(b'100').hexdigest()}.npz"


def test_every_source_has_the_size_of_the_full_training_set(data_set: DataSet, means: Means) -> None:
    data_set = replace(data_set, train_samples=60_000)
    refs = [prepare(data_set, source, means) for source in ("real", "standin", "synthetic", "auto")]
    assert [ref.train_samples for ref in refs] == [60_000] * 4
    assert prepare(replace(data_set, train_samples=None), "real", means).train_samples is None


def test_a_download_is_kept_reported_and_not_repeated(data_set: DataSet, means: Means, site: Site) -> None:
    told: list[tuple[int, int | None]] = []
    means = replace(means, progress=lambda done, total: told.append((done, total)))
    first = prepare(data_set, "real", means)
    first.path.unlink()
    assert prepare(data_set, "real", means) == first
    assert (len(site.asked), told, first_of(first)) == (1, [(3, 3)], 100)
    assert (means.cache / "first.txt").read_text() == "100"


def test_without_leave_to_download_a_published_file_is_promised_by_its_hash(
    data_set: DataSet, means: Means, site: Site
) -> None:
    promised = prepare(data_set, "real", replace(means, download=False))
    assert (promised.path.exists(), promised.to_download, site.asked) == (False, "numbers from 100", [])
    assert replace(promised, to_download=None) == prepare(data_set, "real", means)


def test_an_unpublished_file_is_shown_with_its_places_and_the_remedy(
    data_set: DataSet, means: Means, tmp_path: Path
) -> None:
    expected = (
        rf"^numbers from 100: no {tmp_path}/usual/first\.txt, no {tmp_path}/cache/first\.txt; "
        r"put it there, or set data\.source=standin$"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(without_url(data_set), "real", means)


def test_a_download_with_another_hash_is_refused_and_leaves_no_file(
    data_set: DataSet, means: Means, site: Site
) -> None:
    site.files["/first.txt"] = b"1000"
    expected = r"download of http://.*/first\.txt failed: .*sha256 [0-9a-f]{12}…, expected [0-9a-f]{12}…"
    with pytest.raises(ValueError, match=expected):
        prepare(data_set, "real", means)
    assert [path.name for path in means.cache.iterdir()] == [".numbers.lock"]


def test_a_real_file_with_another_hash_is_named_first_and_not_used(
    data_set: DataSet, means: Means, tmp_path: Path
) -> None:
    put_in_the_usual_place("1000", tmp_path)
    expected = (
        rf"^numbers from 100: {tmp_path}/usual/first\.txt has sha256 \S{{12}}…, expected \S{{12}}…, no "
    )
    with pytest.raises(ValueError, match=expected):
        prepare(without_url(data_set), "real", means)


def test_a_real_file_that_cannot_be_read_is_named(data_set: DataSet, means: Means, tmp_path: Path) -> None:
    (tmp_path / "usual" / "first.txt").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"usual/first\.txt cannot be read \(Is a directory\)"):
        prepare(without_url(data_set), "real", means)


def test_the_second_form_is_used_if_the_first_is_absent_and_wrong_forms_are_named(
    data_set: DataSet, means: Means, tmp_path: Path
) -> None:
    other = published("150", place=tmp_path / "usual")
    two = replace(data_set, real=(*without_url(data_set).real, replace(other, description="other numbers")))
    put_in_the_usual_place("150", tmp_path)
    assert first_of(prepare(two, "real", means)) == 150
    (tmp_path / "usual" / "first.txt").write_text("151")
    wrong = rf"{tmp_path}/usual/first\.txt has sha256 \S+…, expected \S+…"
    prepared = prepare(two, "real", means)
    prepared.path.unlink()
    with pytest.raises(ValueError, match=rf"^numbers from 100: {wrong}, no .*, {wrong}; put it there"):
        prepare(two, "real", means)


def test_auto_takes_the_stand_in_where_there_is_no_real_file_and_shows_it(
    data_set: DataSet, means: Means, site: Site
) -> None:
    del site.files["/first.txt"]
    ref = prepare(data_set, "auto", means)
    assert (first_of(ref), ref.id) == (50, f"standin:numbers-v3:{hashlib.sha256(b'50').hexdigest()}")
    assert ref.description == "numbers from 50; not the real data (data.source=real tells why)"
    assert ref.missing.startswith("no ")
    assert ref.missing.endswith("failed: HTTP Error 404: Not Found")
    with pytest.raises(ValueError, match="HTTP Error 404: Not Found; "):
        prepare(data_set, "real", means)


def test_auto_falls_to_synthetic_data_and_shows_it(data_set: DataSet, means: Means, tmp_path: Path) -> None:
    (tmp_path / "standin" / "first.txt").unlink()
    ref = prepare(without_url(data_set), "auto", means)
    assert (first_of(ref), ref.id) == (0, "synthetic:numbers-v3:7")
    assert ref.description == "synthetic numbers; not the real data (data.source=real tells why)"
    assert "; nor its stand-in: no " in ref.missing
    alone = prepare(replace(without_url(data_set), standin=None), "auto", means)
    assert (alone.id, "stand-in" in alone.description) == ("synthetic:numbers-v3:7", False)
    assert "stand-in" not in alone.missing


def test_a_source_that_a_data_set_does_not_have_is_shown(data_set: DataSet, means: Means) -> None:
    bare = replace(data_set, real=(), standin=None)
    expected = r"^data set 'numbers' has no stand-in of real data; set data\.source=synthetic$"
    with pytest.raises(ValueError, match=expected):
        prepare(bare, "standin", means)
    expected = r"^data set 'numbers': there are no real files; set data\.source=synthetic$"
    with pytest.raises(ValueError, match=expected):
        prepare(bare, "real", means)
    with pytest.raises(
        ValueError, match=r"^data set 'numbers' is not read from a folder, so remove data_folder"
    ):
        prepare(data_set, "real", replace(means, folder=Path()))


def test_a_file_of_the_right_hash_that_cannot_be_understood_is_shown(
    data_set: DataSet, means: Means, tmp_path: Path
) -> None:
    put_in_the_usual_place("no number", tmp_path)
    odd = replace(data_set, real=(published("no number", place=tmp_path / "usual"),))
    expected = r"^numbers from no number: .*usual/first\.txt cannot be read: invalid literal for int\(\) .*$"
    with pytest.raises(ValueError, match=expected):
        prepare(odd, "real", means)


@pytest.mark.parametrize(
    "labels", [np.zeros(29, dtype=np.uint8), np.zeros((20, 1), dtype=np.uint8), np.zeros(20)]
)
def test_labels_that_do_not_fit_the_samples_are_refused(
    data_set: DataSet, means: Means, labels: np.ndarray
) -> None:
    odd = replace(data_set.synthetic, make=lambda _: {**numbers(0), "y_train": labels})
    expected = (
        r"^data set 'numbers' has 20 train samples and \w+ labels of shape \(.*\), expected one integer"
    )
    with pytest.raises(ValueError, match=expected):
        prepare(replace(data_set, synthetic=odd), "synthetic", means)
    assert [path.name for path in means.cache.iterdir()] == [".numbers.lock"]


def test_a_prepared_file_outlives_its_source_and_is_made_again_when_it_is_torn(
    data_set: DataSet, means: Means, tmp_path: Path
) -> None:
    put_in_the_usual_place("100", tmp_path)
    ref = prepare(data_set, "real", means)
    whole = ref.path.read_bytes()
    (tmp_path / "usual" / "first.txt").unlink()
    assert prepare(data_set, "real", replace(means, download=False)) == ref
    ref.path.write_bytes(whole[: len(whole) // 2])
    assert prepare(data_set, "real", means) == ref
    assert ref.path.read_bytes() == whole


def test_processes_that_prepare_at_once_agree_and_leave_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from workloads.data.sources import resolve;"
        "at = Path(sys.argv[1]);"
        "print(resolve('workloads.data.mnist:MNIST', 'synthetic', cache=at, download=False).path)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "cache")]
    racing = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = [Path(process.communicate(timeout=SECONDS_OF_A_CHILD)[0].strip()) for process in racing]
    assert paths[0] == paths[1]
    assert {*(tmp_path / "cache").iterdir()} == {paths[0], tmp_path / "cache" / ".mnist.lock"}
    data = DataNeed(data_set="workloads.data.mnist:MNIST")
    assert load(paths[0], data=data, global_batch_size=64, seed=0).num_batches == 62


def test_a_cache_that_cannot_be_written_is_named(data_set: DataSet, means: Means, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ValueError, match=r"^data cache '.*/file/cache' cannot be used: .*set ORCHESTRATOR_CACHE$"
    ):
        prepare(data_set, "synthetic", replace(means, cache=tmp_path / "file" / "cache"))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("workloads.data.mnits:MNIST", "cannot be loaded: No module named 'workloads.data.mnits'"),
        ("workloads.data.mnist:MINST", "cannot be loaded: .* no attribute 'MINST'"),
        ("mnist data", "cannot be loaded: invalid format: 'mnist data'"),
        ("workloads.data.mnist:Path", "is a type, expected a DataSet$"),
    ],
)
def test_a_data_set_that_does_not_exist_is_shown(path: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^data set '{path}' {told}"):
        resolve(path, "auto", cache=tmp_path, download=False)


def test_an_unknown_source_is_shown_with_the_nearest(tmp_path: Path) -> None:
    expected = (
        r"^unknown data\.source 'stand-in'; did you mean 'standin'\? known: auto, real, standin, synthetic$"
    )
    with pytest.raises(ValueError, match=expected):
        resolve("workloads.data.mnist:MNIST", "stand-in", cache=tmp_path, download=False)


def test_the_environment_decides_where_the_cache_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ORCHESTRATOR_CACHE", raising=False)
    assert default_cache() == tmp_path / "orchestrator"
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "chosen"))
    assert default_cache() == tmp_path / "chosen"
