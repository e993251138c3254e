"""Fashion-MNIST: articles of clothing, 28x28 grey, ten classes (Xiao, Rasul, Vollgraf 2017)."""

from pathlib import Path

from workloads.data import caches
from workloads.data.dataset import DataSet, Published, Synthetic
from workloads.data.drawn_glyphs import CLOTHES, draw
from workloads.data.idx import idx_files, read_idx

_SHA256_UNPACKED = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


def _places(name: str) -> tuple[Path, ...]:
    raw = caches.torchvision("FashionMNIST", "raw", name)
    return (
        caches.keras("fashion-mnist", f"{name}.gz"),
        Path("/usr/share/datasets/fashion-mnist", f"{name}.gz"),  # Debian's dataset-fashion-mnist
        raw,
        raw.with_name(f"{name}.gz"),
        *caches.tensorflow_datasets(name),
    )


FASHION_MNIST = DataSet(
    name="fashion_mnist",
    version=1,
    real=(
        Published(
            description="Fashion-MNIST, 60,000 articles of clothing to train on and 10,000 to test",
            files=idx_files(
                _SHA256_UNPACKED,
                kept_as="fashion-mnist",
                url="https://storage.googleapis.com/tensorflow/tf-keras-datasets",
                places=_places,
            ),
            cure="apt install dataset-fashion-mnist, or put it there, or set data.source=synthetic",
            read=read_idx,
        ),
    ),
    standin=None,
    synthetic=Synthetic(
        description="synthetic: 5,000 garments drawn by a program, 4,000 to train on and 1,000 to test",
        version=1,
        make=lambda _: draw(CLOTHES),
    ),
    train_samples=60_000,
)
