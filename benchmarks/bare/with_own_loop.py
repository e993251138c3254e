"""A small convolutional network trained by a plain loop over a DataLoader; nothing of ours is in it."""

import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
for name in ("threads", "batch-size", "warmup-steps", "steps-per-block"):
    parser.add_argument(f"--{name}", type=int, required=True)
args = parser.parse_args()

torch.set_num_threads(args.threads)
torch.manual_seed(0)
images = torch.rand(4096, 1, 28, 28, generator=torch.Generator().manual_seed(0))
labels = (images.mean((1, 2, 3)) > 0.5).long()
loader = DataLoader(TensorDataset(images, labels), args.batch_size, shuffle=True, drop_last=True)
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
compute_loss = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def endless():
    while True:
        yield from loader


batches = endless()


def train(steps):
    for _ in range(steps):
        x, y = next(batches)
        optimizer.zero_grad()
        loss = compute_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.detach()


parameters = sum(parameter.numel() for parameter in model.parameters())
print(json.dumps({"parameters": parameters, "loss": train(1).item()}), flush=True)
train(args.warmup_steps)
for _ in sys.stdin:  # each line asks for a block
    start = time.perf_counter()
    loss = train(args.steps_per_block)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "loss": loss.item()}), flush=True)
