"""One trial of a peer or of a shell loop: nothing at all, or the training of `bare/with_torch.py`.

    python job.py --seed 0 [--batch-size 64]

Variables: JOB is `noop` or `train`; EVENTS is the file that gets a line of JSON when the job has ended;
SLEEP is the number of seconds that a no-op job lasts; BATCHES is the folder of `<batch size>.npz`. Nothing
of ours is in it.
"""

import argparse
import itertools
import json
import os
import statistics
import time
from pathlib import Path

WARMUP_STEPS, BLOCKS, STEPS_PER_BLOCK = 20, 10, 20


def run(*, seed, batch_size=0):
    """Run the job, write its event, and return the rate that a peer is told, in samples per second."""
    begun = time.time()
    first_step, rate = (begun, 0.0) if os.environ["JOB"] == "noop" else _train(batch_size, seed)
    if os.environ["JOB"] == "noop":
        time.sleep(float(os.environ.get("SLEEP", "0")))
    event = {"trial": f"{batch_size}-{seed}", "begun": begun, "first_step": first_step, "ended": time.time()}
    with Path(os.environ["EVENTS"]).open("a") as events:
        events.write(json.dumps(event | {"pid": os.getpid(), "rate": rate}) + "\n")
    return {"samples_per_second": rate}


def _train(batch_size, seed):
    import numpy as np
    import torch
    from torch import nn

    torch.set_num_threads(int(os.environ["THREADS"]))
    torch.manual_seed(seed)
    with np.load(Path(os.environ["BATCHES"]) / f"{batch_size}.npz") as file:
        images = torch.from_numpy(file["x"]).permute(0, 1, 4, 2, 3)  # channels last in memory, as they come
        classes = torch.from_numpy(file["y"]).long()
    batches = itertools.cycle(list(zip(images, classes, strict=True)))

    class Flatten(nn.Module):
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
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.95)

    def train(steps):
        for x, y in itertools.islice(batches, steps):
            loss = compute_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    train(1)
    first_step = time.time()
    train(WARMUP_STEPS)
    seconds = []
    for _ in range(BLOCKS):
        start = time.perf_counter()
        train(STEPS_PER_BLOCK)
        seconds.append(time.perf_counter() - start)
    return first_step, batch_size * STEPS_PER_BLOCK / statistics.median(seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--batch-size", type=int, default=0)
    run(**vars(parser.parse_args()))
