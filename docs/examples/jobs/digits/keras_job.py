"""Handwritten digits of scikit-learn, read by a small network in plain Keras."""

import keras
import numpy as np
from digits.options import Options
from sklearn.datasets import load_digits

from workloads.jobs import KerasJob


def build(options: Options) -> KerasJob:
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(options.units, activation="relu"),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )

    def evaluate(model: keras.Model) -> dict[str, float]:
        is_right = np.asarray(model(images[1500:])).argmax(1) == labels[1500:]
        return {"accuracy": is_right.mean()}

    return KerasJob(
        model=model,
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.AdamW(options.learning_rate),
        data=(images[:1500], labels[:1500]),
        evaluate=evaluate,
        target=0.9,
        epochs=20,
    )
