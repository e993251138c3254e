"""A small convolutional network on random images: the job of `native_step.py`."""

import torch
from torch import nn
from torch.utils.data import TensorDataset

from workloads.jobs import TorchJob

SAMPLES = 4096


def build(_options: object) -> TorchJob:
    """Build the job; `bare/with_own_loop.py` trains the same network on the same kind of data."""
    random = torch.Generator().manual_seed(0)
    images = torch.rand(SAMPLES, 1, 28, 28, generator=random)
    labels = (images.mean((1, 2, 3)) > 0.5).long()
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 128),
        nn.ReLU(),
        nn.Linear(128, 2),
    )
    return TorchJob(
        model=model,
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
        data=TensorDataset(images, labels),
    )
