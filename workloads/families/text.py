"""Bidirectional recurrent classifiers of film reviews: their layers, knobs, data and target.

After "Performance of Parallel Computing in Training Deep Learning Models" (SITITO, article 1043). Known of it
is the abstract: TensorFlow on Colab's CPU, GPU and TPU; BiLSTM and BiGRU on IMDB among the networks; time and
quality as functions of the model's parameters. Layers, units, batch size, optimizer and epochs are not known,
so what follows is our assumption: the networks of Keras' IMDB examples (keras.io, "Bidirectional LSTM on
IMDB"; in its older form with dropout of 0.5 behind the cells), of 20,000 words and Adam. Those have 128 units
in the embedding, two layers of 64 and reviews of 200 words; ours are smaller by default, for a CPU. The four
epochs of a full training are those of the older form too.

There is no dropout inside the cells. It would shut out the fused kernels, as the `recurrent_dropout` of
Künas' comparison by batch size (WSCAD-WIC) did: there a GPU lost to a CPU below batches of 128.
"""

import math
from dataclasses import dataclass
from typing import Literal

from workloads.data.need import DataNeed
from workloads.data.words import FIRST_WORD
from workloads.layers import Dense, Dropout, Embedding, Layer, Recurrent
from workloads.network import Network, sequential
from workloads.spec import Adam, Quality, WorkloadSpec, classifier

_EPOCHS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """Knobs of the network and its optimizer.

    Attributes:
        vocabulary: token ids, those of padding and of unknown words among them.
        sequence_length: words of a review that are read, its last ones.
        embedding_units: size of a word's embedding.
        units: units of each direction of each recurrent layer.
        layers: recurrent layers.
        dropout: share of the last recurrent layer's outputs that a training step leaves out.
        learning_rate: learning rate of Adam.
    """

    vocabulary: int = 20_000
    sequence_length: int = 80
    embedding_units: int = 32
    units: int = 32
    layers: int = 1
    dropout: float = 0.5
    learning_rate: float = 2e-3


def text_classifier(
    name: str, options: TextOptions, *, cell: Literal["lstm", "gru"], version: int
) -> WorkloadSpec:
    """Spell the task out; the target is what a training of some 200 steps reaches on the stand-in.

    Raises:
        ValueError: a knob is out of range.
    """
    _check(name, options)
    return classifier(
        name,
        _network(options, cell),
        version=version,
        optimizer=Adam(learning_rate=options.learning_rate),
        data=DataNeed(
            data_set="workloads.data.imdb:IMDB",
            vocabulary=options.vocabulary,
            sequence_length=options.sequence_length,
        ),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.75),
        epochs=_EPOCHS,
    )


def _network(options: TextOptions, cell: Literal["lstm", "gru"]) -> Network:
    """Token ids -> two logits."""
    layers: list[Layer] = [Embedding(vocabulary=options.vocabulary, units=options.embedding_units)]
    layers += [Recurrent(cell=cell, units=options.units, sequences=True)] * (options.layers - 1)
    layers += [Recurrent(cell=cell, units=options.units), Dropout(rate=options.dropout), Dense(units=2)]
    return sequential((options.sequence_length,), *layers)


def _check(name: str, options: TextOptions) -> None:
    sizes = ("sequence_length", "embedding_units", "units", "layers")
    for knob, least in (("vocabulary", FIRST_WORD + 1), *((size, 1) for size in sizes)):
        if getattr(options, knob) < least:
            raise ValueError(f"{name} {knob}={getattr(options, knob)} must be at least {least}")
    if not 0 <= options.dropout < 1:
        raise ValueError(f"{name} dropout={options.dropout} must lie in [0, 1)")
    if not 0 < options.learning_rate < math.inf:
        raise ValueError(f"{name} learning_rate={options.learning_rate} must be above 0 and finite")
