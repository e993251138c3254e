"""MNIST's small network as a user of PyTorch/XLA trains it, with a clock; nothing of ours is in it."""

import argparse
import itertools
import json
import sys
import time

import numpy as np
import torch
import torch_xla
from torch import nn
from torch_xla.core import xla_model

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", help="x: [batch, sample, 28, 28, 1] float32; y: [batch, sample]")
for name in ("threads", "warmup-steps", "steps-per-block"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("--learning-rate", type=float, required=True)
parser.add_argument("--momentum", type=float, required=True)
args = parser.parse_args()

torch.set_num_threads(args.threads)  # those of XLA are counted by the variable NPROC
torch.manual_seed(0)
device = torch_xla.device()
with np.load(args.file) as file:
    images = torch.from_numpy(file["x"])
    classes = torch.from_numpy(file["y"]).long()
pairs = [(x.to(device), y.to(device)) for x, y in zip(images, classes, strict=True)]
batches = itertools.cycle(pairs)


class ChannelsFirst(nn.Module):
    """Takes images as they come, channels last."""

    def forward(self, images):
        return images.permute(0, 3, 1, 2)


class Flatten(nn.Module):
    """Vectors of maps in the order of channels last, in which the weights of all frameworks are the same."""

    def forward(self, maps):
        return maps.permute(0, 2, 3, 1).flatten(1)


model = nn.Sequential(
    ChannelsFirst(),
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
).to(device)
compute_loss = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate, momentum=args.momentum)


def train(steps):
    for x, y in itertools.islice(batches, steps):
        optimizer.zero_grad()
        loss = compute_loss(model(x), y)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    xla_model.wait_device_ops()
    return loss.detach()


parameters = sum(parameter.numel() for parameter in model.parameters())
print(json.dumps({"parameters": parameters, "loss": train(1).item()}), flush=True)
train(args.warmup_steps)
for _ in sys.stdin:  # each line asks for a block
    start = time.perf_counter()
    loss = train(args.steps_per_block)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "loss": loss.item()}), flush=True)
