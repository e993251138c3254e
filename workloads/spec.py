"""Definition of a workload: networks, training, data and target, declared once for every framework."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workloads.data.need import DataNeed, Noise
from workloads.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Sgd:
    """Stochastic gradient descent with heavy-ball momentum: v <- momentum v + g; w <- w - learning_rate v."""

    learning_rate: float
    momentum: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adam:
    """Kingma and Ba 2015, "Adam: a method for stochastic optimization", with their epsilon of 1e-8."""

    learning_rate: float
    beta_1: float = 0.9
    beta_2: float = 0.999


Optimizer = Sgd | Adam


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """Softmax cross-entropy between the network's logits of `x` and the classes `y`."""

    network: str = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gan:
    """Goodfellow et al. 2014, "Generative Adversarial Nets", with the non-saturating loss of its section 3.

    Networks `generator`: noise `latent` -> images in [-1, 1]; `discriminator`: images -> one logit. Both are
    updated in one step, by gradients at the same weights.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveDivergence:
    """CD-k for one `Rbm` layer.

    Hinton 2002, "Training Products of Experts by Minimizing Contrastive Divergence".

    Attributes:
        node: index of the layer; what the layers below it make of `x` is its data.
        k: steps of the Gibbs chain. The noise `uniform_<node>` decides the states, [batch, k, hidden].
    """

    node: int
    k: int = 1
    network: str = "model"


Protocol = Supervised | Gan | ContrastiveDivergence


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of a training in which one thing is learned.

    Attributes:
        optimizers: optimizers of each network that is trained.
        share: share of all steps, rounded down; the last phase takes the rest and is the timed one.
    """

    name: str
    protocol: Protocol
    optimizers: Mapping[str, Optimizer]
    share: float = 1.0


def phase_steps(phases: Sequence[Phase], steps: int) -> tuple[int, ...]:
    """Steps of each phase: its share rounded down, at least 1; the last phase takes what is left."""
    early = tuple(max(1, math.floor(phase.share * steps)) for phase in phases[:-1])
    return (*early, steps - sum(early))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality measure of a trained network.

    Attributes:
        measure: `module:function` in framework-free Python, (outputs, held-out batch) -> metric -> value.
        metric: the one that counts, by the name that `measure` gives it.
        target: value that a finished training is expected to reach.
        network, reads: the network that is evaluated, and the array of a held-out batch that it is given.
    """

    measure: str
    metric: str
    target: float
    higher_is_better: bool = True
    network: str = "model"
    reads: str = "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One training task, complete: any framework built from it computes the same.

    Attributes:
        version: raised when the code changes what is computed; part of every trial_id.
        noise: random arrays that the protocols need, one value of each for every sample.
        epochs: passes over the full training set that a full training takes, all phases together; None where
            nobody says. It changes nothing that is computed: `steps` says how long a trial trains.
    """

    name: str
    version: int
    networks: Mapping[str, Network]
    phases: tuple[Phase, ...]
    data: DataNeed
    quality: Quality
    noise: tuple[Noise, ...] = ()
    epochs: float | None = None


def classifier(
    name: str,
    network: Network,
    *,
    version: int,
    optimizer: Optimizer,
    data: DataNeed,
    quality: Quality,
    epochs: float | None = None,
) -> WorkloadSpec:
    """The common case: one network that learns classes from labels."""
    phase = Phase(name="training", protocol=Supervised(), optimizers={"model": optimizer})
    return WorkloadSpec(
        name=name,
        version=version,
        networks={"model": network},
        phases=(phase,),
        data=data,
        quality=quality,
        epochs=epochs,
    )
