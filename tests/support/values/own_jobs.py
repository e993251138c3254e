"""Folders of native jobs, as a user would write them."""

from pathlib import Path

TORCH = """
import torch
from torch import nn
from torch.utils.data import TensorDataset
from workloads.jobs import TorchJob


def build(options):
    random = torch.Generator().manual_seed(0)
    inputs = torch.randn(100, 4, generator=random)
    data = {data}
    model = {model}
    return TorchJob(model=model, loss={loss}, optimizer={optimizer}, data=data{more})
"""

KERAS = """
import keras
import numpy as np
from workloads.jobs import KerasJob


def build(options):
    inputs = np.random.default_rng(0).normal(size=(100, 4)).astype(np.float32)
    model = {model}
    return KerasJob(model=model, loss={loss}, optimizer={optimizer}, data={data}{more})
"""

_TORCH_PARTS = {
    "data": "TensorDataset(inputs, (inputs.sum(1) > 0).long())",
    "model": "nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))",
    "loss": "nn.CrossEntropyLoss()",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "more": "",
}
_KERAS_PARTS = {
    "data": "(inputs, (inputs.sum(1) > 0).astype(np.int64))",
    "model": "keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, 'relu'), keras.layers.Dense(2)])",
    "loss": "keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
    "optimizer": "keras.optimizers.SGD(0.1)",
    "more": "",
}


def torch_job(folder: Path, **parts: str) -> Path:
    """Write a PyTorch job of a hundred samples, with some parts of its code replaced; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "torch_job.py").write_text(TORCH.format(**{**_TORCH_PARTS, **parts}))
    return folder


def keras_job(folder: Path, **parts: str) -> Path:
    """Write a Keras job of a hundred samples, as `torch_job`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keras_job.py").write_text(KERAS.format(**{**_KERAS_PARTS, **parts}))
    return folder
