"""A small BERT: saved for optimum-benchmark, or trained by a plain loop. Nothing of ours is in it.

    python bert.py --save FOLDER
    python bert.py --batch-size 8 --seed 0

The loop writes its event as `job.py` does, and reads the same variables.
"""

import argparse
import json
import os
import time
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification

WARMUP_STEPS, STEPS, LENGTH = 20, 100, 64
CONFIG = BertConfig(
    vocab_size=2000,
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=256,
    max_position_embeddings=LENGTH,
)


def train(batch_size, seed):
    begun = time.time()
    torch.set_num_threads(int(os.environ["THREADS"]))
    torch.manual_seed(seed)
    model = BertForSequenceClassification(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    tokens = torch.randint(CONFIG.vocab_size, (batch_size, LENGTH))
    classes = torch.randint(CONFIG.num_labels, (batch_size,))

    def take(steps):
        for _ in range(steps):
            loss = model(input_ids=tokens, labels=classes).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    take(1)
    first_step = time.time()
    take(WARMUP_STEPS)
    start = time.perf_counter()
    take(STEPS)
    rate = batch_size * STEPS / (time.perf_counter() - start)
    event = {"trial": f"{batch_size}-{seed}", "begun": begun, "first_step": first_step, "ended": time.time()}
    with Path(os.environ["EVENTS"]).open("a") as events:
        events.write(json.dumps(event | {"pid": os.getpid(), "rate": rate}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--save")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=8)
    asked = parser.parse_args()
    if asked.save:
        BertForSequenceClassification(CONFIG).save_pretrained(asked.save)
    else:
        train(asked.batch_size, asked.seed)
