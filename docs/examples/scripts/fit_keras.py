"""A training script that calls Keras' `fit`."""

import sys

import keras
import numpy as np
from orchestrator_callback import StepCallback

random = np.random.default_rng(0)
inputs = random.normal(size=(4000, 20)).astype(np.float32)
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(2)])
model.compile(
    optimizer=keras.optimizers.Adam(),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
labels = (inputs.sum(1) > 0).astype(np.int64)
model.fit(inputs, labels, batch_size=int(sys.argv[1]), epochs=20, verbose=0, callbacks=[StepCallback()])
