"""A training script with its own loop, model and arguments, in the shape of PyTorch's MNIST example."""

import argparse
import os

import torch
from orchestrator_callback import report, steps
from torch import nn
from torch.nn import functional


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--epochs", type=int, default=14)
    arguments = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.fp32_precision = "tf32" if arguments.precision == "tf32" else "ieee"
    torch.manual_seed(1)
    images, labels = torch.rand(4000, 1, 28, 28), torch.randint(10, (4000,))
    data = torch.utils.data.TensorDataset(images, labels)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10)
    ).to(device)
    sampler = None
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
        sampler = torch.utils.data.DistributedSampler(data)
        model = nn.parallel.DistributedDataParallel(model)
    loader = torch.utils.data.DataLoader(data, arguments.batch_size, sampler=sampler, drop_last=True)
    optimizer = torch.optim.Adadelta(model.parameters())
    for _ in range(arguments.epochs):
        for x, y in steps(loader):
            x, y = x.to(device), y.to(device)
            with torch.autocast(device, torch.bfloat16, enabled=arguments.precision == "bf16"):
                loss = functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            report(loss=loss)


if __name__ == "__main__":
    main()
