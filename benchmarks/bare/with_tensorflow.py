"""MNIST's small network as a user of TensorFlow trains it, with a clock; nothing of ours is in it."""

import argparse
import itertools
import json
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", help="x: [batch, sample, 28, 28, 1] float32; y: [batch, sample]")
for name in ("threads", "warmup-steps", "steps-per-block"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("--learning-rate", type=float, required=True)
parser.add_argument("--momentum", type=float, required=True)
args = parser.parse_args()

tf.config.threading.set_intra_op_parallelism_threads(args.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
with np.load(args.file) as file:
    pairs = [(tf.constant(x), tf.constant(y, tf.int64)) for x, y in zip(file["x"], file["y"], strict=True)]
batches = itertools.cycle(pairs)

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10),
    ]
)
compute_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(args.learning_rate, momentum=args.momentum)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = compute_loss(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def train(steps):
    for x, y in itertools.islice(batches, steps):
        loss = train_step(x, y)
    return float(loss)  # waits for the device


print(json.dumps({"parameters": model.count_params(), "loss": train(1)}), flush=True)
train(args.warmup_steps)
for _ in sys.stdin:  # each line asks for a block
    start = time.perf_counter()
    loss = train(args.steps_per_block)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "loss": loss}), flush=True)
