"""Handwritten digits of scikit-learn, read by a small network in plain PyTorch."""

import torch
from digits.options import Options
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import TensorDataset

from workloads.jobs import TorchJob


def build(options: Options) -> TorchJob:
    images, labels = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    images = images.float() / 16
    model = nn.Sequential(nn.Linear(64, options.units), nn.ReLU(), nn.Linear(options.units, 10))

    def evaluate(model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        is_right = model(images[1500:].to(device)).argmax(1).cpu() == labels[1500:]
        return {"accuracy": is_right.float().mean().item()}

    return TorchJob(
        model=model,
        loss=nn.CrossEntropyLoss(),
        optimizer=torch.optim.AdamW(model.parameters(), lr=options.learning_rate),
        data=TensorDataset(images[:1500], labels[:1500]),
        evaluate=evaluate,
        target=0.9,
        epochs=20,
    )
