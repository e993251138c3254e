"""MNIST's small network as a user of PyTorch trains it, with a clock; nothing of ours is in it."""

import argparse
import itertools
import json
import sys
import time

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", help="x: [batch, sample, 28, 28, 1] float32; y: [batch, sample]")
for name in ("threads", "warmup-steps", "steps-per-block"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("--learning-rate", type=float, required=True)
parser.add_argument("--momentum", type=float, required=True)
args = parser.parse_args()

torch.set_num_threads(args.threads)
torch.manual_seed(0)
with np.load(args.file) as file:
    images = torch.from_numpy(file["x"]).permute(0, 1, 4, 2, 3)  # channels last in memory, as they come
    classes = torch.from_numpy(file["y"]).long()
batches = itertools.cycle(list(zip(images, classes, strict=True)))


class Flatten(nn.Module):
    """Views maps that are stored channels last as vectors; `nn.Flatten` would copy them."""

    def forward(self, maps):
        return maps.permute(0, 2, 3, 1).flatten(1)


model = nn.Sequential(
    nn.Conv2d(1, 16, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    Flatten(),
    nn.Linear(32 * 5 * 5, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
).to(memory_format=torch.channels_last)
compute_loss = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=args.momentum)


def train(steps):
    for x, y in itertools.islice(batches, steps):
        loss = compute_loss(model(x), y)
        optimizer.zero_grad()
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
