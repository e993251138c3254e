"""A deep belief network that reads MNIST's handwritten digits.

After "Performance of Parallel Computing in Training Deep Learning Models" (SITITO, article 1043), of which
the abstract is known: a DBN on MNIST among the networks. Layers and training are our assumption, after
Hinton, Osindero, Teh 2006, "A fast learning algorithm for deep belief nets": restricted Boltzmann machines
are learned one after the other by contrastive divergence, each on what the ones below make of the images;
then classes are learned by back-propagation through all of them. There each machine is trained for 30 epochs;
the two of ours for 60 together, which by default are half of a full training.
"""

from dataclasses import dataclass

from workloads.data.need import DataNeed, Noise
from workloads.layers import Dense, Flatten, Rbm
from workloads.network import Network, sequential
from workloads.spec import Adam, ContrastiveDivergence, Phase, Quality, Sgd, Supervised, WorkloadSpec

VERSION = 1

_EPOCHS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Knobs of the network and of both ways to train it.

    Attributes:
        hidden_units: units of each machine, from the images up.
        gibbs_steps: k of contrastive divergence.
        pretraining_share: share of all steps, in equal parts for the machines; the rest learns classes.
        pretraining_learning_rate: learning rate of the machines' gradient descent with momentum 0.5.
        learning_rate: learning rate of Adam, for the classes.
    """

    hidden_units: tuple[int, ...] = (256, 256)
    gibbs_steps: int = 1
    pretraining_share: float = 0.5
    pretraining_learning_rate: float = 0.1
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name, value in (
            ("hidden_units", min(self.hidden_units, default=0)),
            ("gibbs_steps", self.gibbs_steps),
        ):
            if value < 1:
                raise ValueError(f"mnist_dbn {name}={getattr(self, name)} must be at least 1")
        for name in ("pretraining_share", "pretraining_learning_rate", "learning_rate"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"mnist_dbn {name}={getattr(self, name)} must lie in (0, 1)")


def make(options: Options) -> WorkloadSpec:
    """Spell the task out."""
    return WorkloadSpec(
        name="mnist_dbn",
        version=VERSION,
        networks={"model": _network(options)},
        phases=(
            *(_pretraining(options, layer) for layer in range(len(options.hidden_units))),
            Phase(
                name="fine_tuning",
                protocol=Supervised(),
                optimizers={"model": Adam(learning_rate=options.learning_rate)},
            ),
        ),
        data=DataNeed(data_set="workloads.data.mnist:MNIST"),
        noise=tuple(
            Noise(name=f"uniform_{1 + layer}", shape=(options.gibbs_steps, units), kind="uniform")
            for layer, units in enumerate(options.hidden_units)
        ),
        quality=Quality(measure="workloads.quality:classification", metric="accuracy", target=0.9),
        epochs=_EPOCHS,
    )


def _network(options: Options) -> Network:
    """Images -> ten logits."""
    return sequential(
        (28, 28, 1), Flatten(), *(Rbm(units=units) for units in options.hidden_units), Dense(units=10)
    )


def _pretraining(options: Options, layer: int) -> Phase:
    """Build one restricted Boltzmann machine; a node below the first one flattens the images."""
    return Phase(
        name=f"pretraining_{layer}",
        protocol=ContrastiveDivergence(node=1 + layer, k=options.gibbs_steps),
        optimizers={"model": Sgd(learning_rate=options.pretraining_learning_rate, momentum=0.5)},
        share=options.pretraining_share / len(options.hidden_units),
    )
