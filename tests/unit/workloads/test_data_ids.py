"""The id of a data set names its samples: other samples, another id; what is not here yet has one too."""

from dataclasses import replace

import pytest

from workloads.data.dataset import Published, PublishedFile
from workloads.data.mnist import MNIST
from workloads.data.published import Means, MissingDataError
from workloads.data.sources import prepare


@pytest.fixture
def means(tmp_path):
    return Means(cache=tmp_path, download=False)


def published(name, *, url):
    """A file that is not here."""
    file = PublishedFile(name=name, digest=f"sha256:{name}", places=tuple, url=url)
    return Published(description=f"the file {name}", files=(file,), cure="get it", read=dict)


def test_data_that_is_read_in_another_way_or_belongs_to_another_set_is_other_data(means):
    sets = (MNIST, replace(MNIST, version=MNIST.version + 1), replace(MNIST, name="mnist_again"))
    refs = [prepare(item, "synthetic", means) for item in sets]
    version, content = MNIST.version, MNIST.synthetic.version
    assert [ref.id for ref in refs] == [
        f"synthetic:mnist-v{version}:{content}",
        f"synthetic:mnist-v{version + 1}:{content}",
        f"synthetic:mnist_again-v{version}:{content}",
    ]
    assert len({ref.path for ref in refs}) == 3


@pytest.mark.parametrize("source", ["real", "standin"])
def test_what_a_download_would_give_has_its_id_before_it_is_here(means, source):
    wanted = published("wanted", url="file:///nowhere")
    data_set = replace(MNIST, real=(wanted,), standin=wanted)
    ref = prepare(data_set, source, means)
    assert ref.id == f"{source}:mnist-v{MNIST.version}:wanted"
    assert (ref.to_download, ref.path.exists()) == ("the file wanted", False)


def test_what_stands_in_for_a_download_that_was_not_allowed_shows_which(means):
    wanted = published("wanted", url="file:///nowhere")
    gone = published("gone", url=None)
    ref = prepare(replace(MNIST, real=(wanted,), standin=gone), "auto", means)
    assert (ref.id.partition(":")[0], ref.to_download) == ("synthetic", "the file wanted")
    ref = prepare(replace(MNIST, real=(gone,), standin=wanted), "auto", means)
    assert ref.to_download == "the file wanted"
    assert prepare(replace(MNIST, real=(gone,), standin=gone), "auto", means).to_download is None


def test_what_cannot_be_downloaded_is_an_error(means):
    gone = replace(MNIST, real=(published("gone", url=None),))
    with pytest.raises(MissingDataError, match=r"^the file gone: no .*gone; get it$"):
        prepare(gone, "real", means)
